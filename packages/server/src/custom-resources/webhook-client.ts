/**
 * Calls webhooks over HTTPS: JSON out, JSON in, within a time and a size. Connections are kept and shared by all who trust the same
 * authorities for the same host.
 */
import type { ClientRequest, IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import type { Clock } from "@kcp-ts/machinery/base";
import {
  isJsonObject,
  type JsonObject,
  JsonSyntaxError,
  type JsonValue,
  parseJson,
  stringifyJson,
} from "@kcp-ts/machinery/json";
import type { WebhookClientConfig } from "@kcp-ts/machinery/schema";

export interface WebhookClientOptions {
  readonly clock: Clock;
  readonly timeoutMs?: number;
  readonly answerBytesMax?: number;
}

/** As in Kubernetes, where it cannot be chosen. */
const timeoutDefaultMs = 30_000;
const answerBytesDefaultMax = 32 << 20;
const socketsPerHostMax = 16;
const idleSocketMs = 20_000;

export class WebhookClient {
  readonly #options: WebhookClientOptions;
  readonly #agent = new Agent({
    keepAlive: true,
    maxSockets: socketsPerHostMax,
    maxFreeSockets: 2,
    timeout: idleSocketMs,
  });

  constructor(options: WebhookClientOptions) {
    this.#options = options;
  }

  /** Throws an Error that says what went wrong, in words for whoever looks after the webhook. */
  async post(config: WebhookClientConfig, body: JsonValue): Promise<JsonObject> {
    const url = urlOf(config);
    const text = await this.#send(url, caOf(config), stringifyJson(body));
    try {
      const { value } = parseJson(text);
      if (isJsonObject(value)) return value;
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
      throw new Error(`Post ${JSON.stringify(url.href)}: the answer is no JSON: ${error.message}`);
    }
    throw new Error(`Post ${JSON.stringify(url.href)}: the answer is no object`);
  }

  close(): void {
    this.#agent.destroy();
  }

  #send(url: URL, ca: string | undefined, body: string): Promise<string> {
    const { clock, timeoutMs = timeoutDefaultMs } = this.#options;
    const { answerBytesMax = answerBytesDefaultMax } = this.#options;
    url.searchParams.set("timeout", `${timeoutMs / 1000}s`);
    return new Promise((resolve, reject) => {
      const fail = (why: string) => {
        timer.cancel();
        call.destroy();
        reject(new Error(`Post ${JSON.stringify(url.href)}: ${why}`));
      };
      const call: ClientRequest = request(url, {
        method: "POST",
        agent: this.#agent,
        ...(ca === undefined ? {} : { ca }),
        headers: {
          "content-type": "application/json",
          accept: "application/json",
          "content-length": Buffer.byteLength(body),
        },
      });
      const timer = clock.schedule(timeoutMs, () => fail("context deadline exceeded"));
      call.on("error", (error) => fail(error.message));
      call.on("response", (response) => {
        readAnswer(response, answerBytesMax).then(
          (text) => {
            timer.cancel();
            resolve(text);
          },
          (error: Error) => fail(error.message),
        );
      });
      call.end(body);
    });
  }
}

async function readAnswer(response: IncomingMessage, bytesMax: number): Promise<string> {
  const { statusCode = 0 } = response;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > bytesMax) throw new Error(`the answer has more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString("utf8");
  if (statusCode === 200) return text;
  // A redirect is not followed: it would lead where nobody has agreed to go.
  const shown = text.slice(0, 200).trim();
  throw new Error(
    shown === ""
      ? `the webhook answered with the status ${statusCode}`
      : `the webhook answered with the status ${statusCode}: ${shown}`,
  );
}

/** A service is called by the name that it has in a cluster; whether that leads anywhere is up to the resolver. */
function urlOf({ url, service }: WebhookClientConfig): URL {
  if (url !== undefined) return new URL(url);
  if (service === undefined) throw new Error("neither url nor service is given");
  const { namespace, name, port, path = "/" } = service;
  return new URL(path, `https://${name}.${namespace}.svc:${port}`);
}

function caOf({ caBundle }: WebhookClientConfig): string | undefined {
  return caBundle === "" ? undefined : Buffer.from(caBundle, "base64").toString("utf8");
}
