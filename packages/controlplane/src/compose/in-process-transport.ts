/** From a client in this process to the server in this process, without a socket between them. */
import { StatusError } from "@kcp-ts/machinery/status";
import { InProcessTransport, type Transport, type TransportRequest } from "@kcp-ts/sdk";
import type { ApiRequest, ApiServer } from "@kcp-ts/server";

export interface InProcessOptions {
  readonly server: Pick<ApiServer, "handle">;
  /** Sent with every request. */
  readonly authorization: string;
}

export function inProcessTransport({ server, authorization }: InProcessOptions): Transport {
  return new InProcessTransport(async (request) => {
    const { status, headers, body } = await server.handle(apiRequest(request, authorization));
    return { status, headers, ...(body === undefined ? {} : { body }) };
  });
}

function apiRequest(request: TransportRequest, authorization: string): ApiRequest {
  const { method, path, headers, body, signal } = request;
  return {
    method,
    target: path,
    headers: { ...headers, authorization },
    remoteAddress: "127.0.0.1",
    clientCertificate: () => undefined,
    onClose: (callback) => {
      if (signal?.aborted) callback();
      else signal?.addEventListener("abort", callback, { once: true });
    },
    readBody: async (bytesMax) => {
      const bytes = body === undefined ? noBytes : typeof body === "string" ? encode(body) : body;
      if (bytes.length > bytesMax) throw tooLarge(bytesMax);
      return bytes;
    },
  };
}

const noBytes = new Uint8Array(0);
const encoder = new TextEncoder();
const encode = (text: string) => encoder.encode(text);

function tooLarge(bytesMax: number): StatusError {
  return new StatusError({
    code: 413,
    reason: "RequestEntityTooLarge",
    message: `Request entity too large: limit is ${bytesMax}`,
  });
}
