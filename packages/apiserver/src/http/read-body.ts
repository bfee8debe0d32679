/** Reads a request body up to a limit; beyond it reading stops and the client gets a 413. */
import type { Readable } from "node:stream";
import { StatusError, statusError } from "@kcp-ts/machinery/status";
import { resumeTogether } from "../event-loop/index.ts";
import type { HeaderRecord } from "../request/api-request.ts";

export function readStream(
  stream: Readable,
  headers: HeaderRecord,
  bytesMax: number,
  onPart?: (bytes: number) => void,
): Promise<Uint8Array> {
  const announced = Number(headers["content-length"] ?? 0);
  if (announced > bytesMax) return Promise.reject(bodyTooLarge(bytesMax));
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let bytes = 0;
    let isComplete = false;
    stream.on("data", (part: Buffer) => {
      bytes += part.length;
      try {
        if (bytes > bytesMax) throw bodyTooLarge(bytesMax);
        onPart?.(part.length);
        parts.push(part);
      } catch (error) {
        parts.length = 0;
        stream.pause();
        reject(error);
      }
    });
    stream.on("end", () => {
      isComplete = true;
      const body = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
      resumeTogether(() => resolve(body));
    });
    // The close event comes last in every case.
    stream.on("close", () => isComplete || reject(incompleteBody));
    if (stream.destroyed) reject(incompleteBody);
  });
}

export const incompleteBody = new StatusError({
  code: 400,
  reason: "BadRequest",
  message: "the body ended before it was complete",
});

export function bodyTooLarge(bytesMax: number): StatusError {
  return statusError.tooLarge(`limit is ${bytesMax}`);
}
