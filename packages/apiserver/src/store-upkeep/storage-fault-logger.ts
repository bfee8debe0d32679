/** Logs faults of the store with a rate limit, for any number of failed requests. */
import type { Clock } from "@kcp-ts/machinery/base";
import type { ServerLog } from "../server-log.ts";
import type { Storage } from "../storage/index.ts";

const everyMs = 10_000;

export function storageFaultLogger({
  clock,
  storage,
  log,
}: {
  readonly clock: Clock;
  readonly storage: Storage;
  readonly log: ServerLog;
}): () => void {
  let toldAt = Number.NEGATIVE_INFINITY;
  return () => {
    const now = clock.monotonic();
    if (now - toldAt < everyMs) return;
    toldAt = now;
    const fault = storage.health()?.message ?? "it did not answer in time, or only for a moment";
    log.warn({ fault }, "requests fail because of the store");
  };
}
