/**
 * Parses the response of a webhook to a value or to an error in the words of Kubernetes' own
 * client.
 */
import type { IncomingMessage } from "node:http";
import type { Resumable } from "@kcp-ts/machinery/base";
import { type Bound, parseBoundedResumable, readBoundedText } from "@kcp-ts/machinery/bounds";
import {
  isJsonObject,
  type JsonObject,
  JsonSyntaxError,
  type JsonValue,
} from "@kcp-ts/machinery/json";
import { quote } from "@kcp-ts/machinery/status";

export interface WebhookResponse {
  readonly code: number;
  readonly contentType: string;
  /** Undefined when the body is not UTF-8. */
  readonly text: string | undefined;
}

/**
 * `onPart` is called for received chunks, and ends the reading by throwing. Compressed responses
 * are not decompressed, because the request does not accept any.
 */
export async function receiveResponse(
  response: IncomingMessage,
  bound: Bound,
  onPart: (bytes: number) => void = () => {},
): Promise<WebhookResponse> {
  return {
    code: response.statusCode ?? 0,
    contentType: response.headers["content-type"] ?? "",
    text: await readBoundedText(bound, receivedChunks(response, onPart)).catch(ifUtf8),
  };
}

function ifUtf8(error: unknown): undefined {
  if (!(error instanceof JsonSyntaxError)) throw error;
}

async function* receivedChunks(
  parts: AsyncIterable<Buffer>,
  onPart: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  for await (const part of parts) {
    onPart(part.length);
    yield part;
  }
}

/**
 * The object of the response, parsed while yielding to the event loop; throws an Error with the
 * reason why there is none.
 */
export function* parseResponseObject(answer: WebhookResponse, bound: Bound): Resumable<JsonObject> {
  const { code, contentType, text } = answer;
  if (code < 200 || code > 206) throw new Error(refusalOf(answer));
  if (text === undefined) throw unreadable("invalid UTF-8");
  if (text.length === 0)
    throw new Error(`0-length response with status code: ${code} and content type: ${contentType}`);
  const value = yield* parsed(text, bound);
  if (isJsonObject(value)) return value;
  throw unreadable("the answer is no object");
}

function* parsed(text: string, bound: Bound): Resumable<JsonValue> {
  try {
    return (yield* parseBoundedResumable(bound, text)).value;
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw unreadable(error.message);
  }
}

function unreadable(why: string): Error {
  return new Error(`couldn't get version/kind; json parse error: ${why}`);
}

/** The maximal number of characters of a webhook's text in an error message. */
const toldMax = 200;

function refusalOf({ code, contentType, text }: WebhookResponse): string {
  const isText = contentType === "" || contentType.startsWith("text/");
  const said = isText
    ? (text ?? "")
        .slice(0, 4 * toldMax)
        .trim()
        .slice(0, toldMax)
    : "unknown";
  switch (code) {
    case 403:
    case 415:
      return said;
    case 406:
      return said === "" || said === "unknown" ? `${words.get(code)}` : said;
    default:
      if (code >= 500 && !words.has(code))
        return `an error on the server (${quote(said)}) has prevented the request from succeeding`;
      // A redirect is not followed: it could lead to a host that was not checked.
      return (
        words.get(code) ??
        `the server responded with the status code ${code} but did not return more information`
      );
  }
}

const words: ReadonlyMap<number, string> = new Map([
  [400, "the server rejected our request for an unknown reason"],
  [401, "the server has asked for the client to provide credentials"],
  [404, "the server could not find the requested resource"],
  [405, "the server does not allow this method on the requested resource"],
  [406, "the server was unable to respond with a content type that the client supports"],
  [409, "the server reported a conflict"],
  [422, "the server rejected our request due to an error in our request"],
  [429, "the server has received too many requests and has asked us to try again later"],
  [503, "the server is currently unable to handle the request"],
  [
    504,
    "the server was unable to return a response in the time allotted, but may still be processing the request",
  ],
]);

/** The reason of a failed connection, in Go's words where Node reports the same in other words. */
export function connectionErrorMessage(error: Error): string {
  const { code, address, port } = error as NodeJS.ErrnoException & {
    readonly address?: string;
    readonly port?: number;
  };
  switch (code) {
    case "ECONNRESET":
      return error.message === "socket hang up" ? "EOF" : error.message;
    case "ECONNREFUSED": {
      const host = address?.includes(":") === true ? `[${address}]` : address;
      return address === undefined
        ? error.message
        : `dial tcp ${host}:${port}: connect: connection refused`;
    }
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
      return "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    default:
      return error.message;
  }
}
