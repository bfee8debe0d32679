/** Reads a request body up to a limit; beyond it reading stops and the client gets a 413. */
import type { Readable } from "node:stream";
import { StatusError, statusError } from "@kcp-ts/machinery/status";
import type { HeaderRecord } from "../request/api-request.ts";

export function readStream(
  stream: Readable,
  headers: HeaderRecord,
  bytesMax: number,
): Promise<Uint8Array> {
  const announced = Number(headers["content-length"] ?? 0);
  if (announced > bytesMax) return Promise.reject(tooLarge(bytesMax));
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    stream.on("data", (part: Buffer) => {
      bytes += part.length;
      if (bytes <= bytesMax) {
        parts.push(part);
        return;
      }
      parts.length = 0;
      stream.pause();
      reject(tooLarge(bytesMax));
    });
    stream.on("end", () =>
      resolve(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)),
    );
    // Comes last, whatever happened; after the end it changes nothing.
    stream.on("close", () => reject(incomplete));
    if (stream.destroyed) reject(incomplete);
  });
}

const incomplete = new StatusError({
  code: 400,
  reason: "BadRequest",
  message: "the body ended before it was complete",
});

function tooLarge(bytesMax: number): StatusError {
  return statusError.tooLarge(`limit is ${bytesMax}`);
}
