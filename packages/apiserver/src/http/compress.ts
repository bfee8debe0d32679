/**
 * Compresses large responses for clients that accept gzip; never watches, because an event must not
 * wait for a block to fill.
 */
import { pipeline, Readable } from "node:stream";
import { constants, createGzip } from "node:zlib";
import { type ApiResponse, type HeaderRecord, header } from "../request/api-request.ts";

/** Smaller responses cost more to compress than to send. */
export const compressBytesMin = 128 << 10;

export function compressResponse(response: ApiResponse, requestHeaders: HeaderRecord): ApiResponse {
  const { body, headers } = response;
  if (body === undefined || response.isWatch === true) return response;
  if (body instanceof Uint8Array && body.length <= compressBytesMin) return response;
  if (!acceptsGzip(requestHeaders)) return response;
  const source = Readable.from(body instanceof Uint8Array ? [body] : body, { objectMode: true });
  const gzip = createGzip({ level: constants.Z_BEST_SPEED });
  // When either stream ends, the pipeline destroys the other, so that an abandoned source is
  // released. The reader gets the error.
  pipeline(source, gzip, () => {});
  headers["content-encoding"] = "gzip";
  headers["vary"] =
    headers["vary"] === undefined
      ? "Accept-Encoding"
      : `${String(headers["vary"])}, Accept-Encoding`;
  return { ...response, body: gzip };
}

function acceptsGzip(headers: HeaderRecord): boolean {
  const accepted = header(headers, "accept-encoding");
  if (accepted === undefined) return false;
  const clause = accepted.split(",").find((each) => /^\s*gzip\s*(?:;|$)/.test(each));
  return clause !== undefined && !/;\s*q=0(?:\.0*)?\s*$/.test(clause);
}
