/**
 * Expires Events some time after their last write: an hour by default.
 *
 * One sweep over the Events of all logical clusters, in pages of metadata, at the time when the
 * oldest Event of the last sweep expires. It needs no timer and no memory per Event; a server
 * without Events is swept once per lifetime of an Event. Events of both API groups are the same
 * objects.
 */
import { type Clock, sleep, systemClock } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, clusterOf, type PartialObjectMetadata } from "@kcp-ts/sdk";
import { events } from "@kcp-ts/sdk/kinds";
import type { ControlLoop } from "../control-loop.ts";
import { forEachConcurrently, YieldTimer } from "../pace/index.ts";

export interface EventExpiryOptions {
  /** The server's client, not that of one cluster. */
  readonly client: Client;
  readonly ttlMs: number;
  readonly clock?: Clock;
  readonly onError: (error: unknown) => void;
}

const pageObjects = 250;
const deletionsMax = 8;
/**
 * Sweeps are at least this part of the lifetime apart: Events stay a little longer than they must,
 * and are read some twenty times in their life.
 */
const sweepsPerLifetime = 20;
const pauseMsMin = 1000;

export function eventExpiry(options: EventExpiryOptions): ControlLoop {
  const { ttlMs, clock = systemClock, onError } = options;
  const pauseMs = Math.max(pauseMsMin, ttlMs / sweepsPerLifetime);
  return {
    async run(signal) {
      let waitMs = pauseMs;
      while (!signal.aborted) {
        await sleep(clock, waitMs, signal).catch(() => {
          // Only the signal ends the wait early, and the loop checks the signal.
        });
        if (signal.aborted) return;
        try {
          const oldestMs = await sweep({ ...options, clock }, signal);
          waitMs = Math.max(pauseMs, oldestMs + ttlMs - clock.now());
        } catch (error) {
          if (signal.aborted) return;
          onError(error);
          waitMs = pauseMs;
        }
      }
    },
  };
}

/**
 * Deletes expired Events and returns when the oldest of the others was written; the present when
 * there is none.
 */
async function sweep(
  { client, ttlMs, clock }: EventExpiryOptions & { readonly clock: Clock },
  signal: AbortSignal,
): Promise<number> {
  const everywhere = client.inCluster("*").resource(events);
  const pace = new YieldTimer(clock);
  const dueMs = clock.now() - ttlMs;
  let oldestMs = clock.now();
  let next: string | undefined;
  do {
    const page = await everywhere.listMetadata({ limit: pageObjects, continue: next, signal });
    const due: PartialObjectMetadata[] = [];
    for (const event of page.items) {
      const writtenMs = lastWrittenMs(event);
      if (writtenMs <= dueMs) due.push(event);
      else oldestMs = Math.min(oldestMs, writtenMs);
    }
    await forEachConcurrently(due, { concurrency: deletionsMax, pace, signal }, (event) =>
      remove(client, event, signal),
    );
    next = page.metadata.continue;
    await pace.rest(signal);
  } while (next);
  return oldestMs;
}

/** An Event whose count is incremented is written again, and its lifetime starts again. */
export function lastWrittenMs({ metadata }: PartialObjectMetadata): number {
  let newestMs = timeOf(metadata.creationTimestamp);
  for (const { time } of metadata.managedFields ?? []) newestMs = Math.max(newestMs, timeOf(time));
  return newestMs;
}

/** An Event without a timestamp counts as expired. */
function timeOf(text: string | undefined): number {
  const ms = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(ms) ? 0 : ms;
}

/** A precondition on the version: an Event that was written since is not expired. */
async function remove(
  client: Client,
  { metadata }: PartialObjectMetadata,
  signal: AbortSignal,
): Promise<void> {
  const cluster = clusterOf({ apiVersion: "v1", kind: "Event", metadata });
  if (cluster === undefined) return;
  const { name, namespace, uid = "", resourceVersion = "" } = metadata;
  const preconditions = { uid, resourceVersion };
  try {
    const objects = client.inCluster(cluster).resource(events);
    await objects.delete({ namespace, name }, { preconditions, signal });
  } catch (error) {
    if (!isStatusError(error, "NotFound") && !isStatusError(error, "Conflict")) throw error;
  }
}
