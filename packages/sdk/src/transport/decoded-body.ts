/**
 * The body of a response as its reader wants it: unpacked, if the server has packed it.
 *
 * Servers pack long lists and never watches. The bytes are unpacked as they come, and a stream that ends before its end is an error as any
 * body that was cut off.
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
  /** To be called when the stream has failed or is closed. */
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
      // All bytes are here: what is still being unpacked comes to its own end.
      if (cause === undefined && isComplete()) return;
      body.closed(cause);
      gunzip.destroy();
    },
  };
}
