/**
 * The stages of requests that bring a body: it is received when its sender is known to be allowed
 * to send it, its memory counts for the tenant, and the request takes a seat only with its last byte.
 * A sender that takes its time holds no seat, and decoding, which is what costs, comes after.
 *
 * YAML becomes JSON before the seat is taken: waiting for the thread that reads it keeps no other
 * request from beginning.
 */
import { isUtf8 } from "node:buffer";
import { statusError } from "@kcp-ts/machinery/status";
import {
  isJsonLike,
  isShortYaml,
  isYamlType,
  mediaTypeOf,
  sharedYamlWorker,
  type TranslatedYaml,
  translateYaml,
} from "../content/index.ts";
import { estimateWrite, type FlowControl } from "../fairness/index.ts";
import { bodyBytesMax } from "../handlers/index.ts";
import { type ApiRequest, header, requestedUpgrade } from "../request/api-request.ts";
import { applyPatchType } from "../request/media-types.ts";
import type { Exchange } from "./exchange.ts";

interface BodyRooms {
  /** Undefined when every request may begin at once. */
  readonly fairness: FlowControl | undefined;
}

/** The stage `receiveBody` of the pipeline. */
export function receiveBody(exchange: Exchange, rooms: BodyRooms): Promise<undefined> | undefined {
  return bringsBody(exchange) ? receive(exchange, rooms) : undefined;
}

/** No path takes a body, and a connection that is to be upgraded has none to its end. */
function bringsBody(exchange: Exchange): boolean {
  const { scope, detour, request } = exchange;
  return (
    (scope?.kind === "resource" || detour !== undefined) &&
    requestedUpgrade(request.headers) === undefined
  );
}

async function receive(exchange: Exchange, { fairness }: BodyRooms): Promise<undefined> {
  const { request, audit } = exchange;
  const reserve =
    fairness === undefined
      ? undefined
      : (bytes: number) => {
          fairness.reserveBody(exchange, bytes);
        };
  const body = await request.readBody(bodyBytesMax, reserve);
  exchange.body = body;
  if (audit !== undefined && audit.rule.level !== "Metadata") audit.requestBody = body;
  // Another server reads what is sent on to it.
  if (exchange.detour !== undefined) exchange.request = received(request, body);
  else if (isYaml(exchange, body)) {
    const translated = await translate(exchange, body);
    if ("json" in translated) reserve?.(translated.json.length);
    exchange.noteYaml(translated);
  }
  return undefined;
}

function isYaml({ request }: Exchange, body: Uint8Array): boolean {
  const mediaType = mediaTypeOf(header(request.headers, "content-type"));
  return isYamlType(mediaType) && !(mediaType === applyPatchType && isJsonLike(body));
}

async function translate(exchange: Exchange, bytes: Uint8Array): Promise<TranslatedYaml> {
  if (!isUtf8(bytes)) throw statusError.badRequest("the body of the request is not valid UTF-8");
  if (isShortYaml(bytes)) return translateYaml(Buffer.from(bytes).toString("utf8"));
  const { tenantKey, scope, signal } = exchange;
  return sharedYamlWorker.translate(
    tenantKey === "" ? String(scope?.cluster) : tenantKey,
    bytes,
    signal,
  );
}

/** The same request with a body that is here. */
function received(request: ApiRequest, body: Uint8Array): ApiRequest {
  const { method, target, headers, rawHeaders, remoteAddress } = request;
  return {
    ...{ method, target, headers, rawHeaders, remoteAddress },
    clientCertificate: () => request.clientCertificate(),
    onClose: (callback) => request.onClose(callback),
    readBody: async () => body,
  };
}

/** The stage `flowControlOfBody` of the pipeline: how much work it is depends on the body. */
export function flowControlOfBody(
  exchange: Exchange,
  { fairness }: BodyRooms,
): Promise<undefined> | undefined {
  const { body, yaml } = exchange;
  if (fairness === undefined || body === undefined) return undefined;
  const { length } = yaml !== undefined && "json" in yaml ? yaml.json : body;
  return fairness.admit(exchange, estimateWrite(length)) as Promise<undefined> | undefined;
}
