/**
 * The decompressed body of a response.
 *
 * Servers compress long lists and never watches. The bytes are decompressed as they arrive, and a
 * truncated stream is an error, like any body that was cut off.
 */
import type { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import type { ResponseBody } from "../client/index.ts";
import { StreamBody } from "./stream-body.ts";

export interface DecodedBodyOptions {
  readonly stream: Readable;
  readonly contentEncoding: string | readonly string[] | undefined;
  readonly isComplete: () => boolean;
  readonly cancel: () => void;
  readonly failure: (cause: unknown) => unknown;
}

export interface DecodedBody extends ResponseBody {
  /** Called when the stream has failed or is closed. */
  closed(cause?: unknown): void;
}

export const acceptedEncoding = "gzip";

export function decodedBody(options: DecodedBodyOptions): DecodedBody {
  const { stream, contentEncoding, isComplete, cancel, failure } = options;
  if (contentEncoding !== "gzip" && contentEncoding !== "x-gzip") {
    return new StreamBody({ stream, isComplete, cancel, failure });
  }
  const gunzip = createGunzip();
  const leave = () => {
    gunzip.destroy();
    cancel();
  };
  const body = new StreamBody({ stream: gunzip, isComplete, cancel: leave, failure });
  gunzip.on("error", (error) => {
    body.closed(error);
    cancel();
  });
  stream.pipe(gunzip);
  return {
    text: (bytesMax) => body.text(bytesMax),
    [Symbol.asyncIterator]: () => body[Symbol.asyncIterator](),
    closed(cause) {
      // All bytes have arrived: the remaining decompression ends by itself.
      if (cause === undefined && isComplete()) return;
      body.closed(cause);
      gunzip.destroy();
    },
  };
}
