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
    const stop = () => {
      stream.off("data", onData);
      stream.off("end", onEnd);
      stream.off("close", onClose);
      stream.off("error", onClose);
    };
    const onData = (part: Buffer) => {
      bytes += part.length;
      if (bytes > bytesMax) {
        stop();
        stream.pause();
        reject(tooLarge(bytesMax));
        return;
      }
      parts.push(part);
    };
    const onEnd = () => {
      stop();
      resolve(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts));
    };
    const onClose = () => {
      stop();
      reject(
        new StatusError({
          code: 400,
          reason: "BadRequest",
          message: "the body ended before it was complete",
        }),
      );
    };
    stream.on("data", onData);
    stream.on("end", onEnd);
    stream.on("close", onClose);
    stream.on("error", onClose);
    if (stream.readableEnded) onEnd();
    else if (stream.destroyed) onClose();
  });
}

function tooLarge(bytesMax: number): StatusError {
  return statusError.tooLarge(`limit is ${bytesMax}`);
}
