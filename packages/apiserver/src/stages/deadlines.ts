/**
 * The deadlines of all requests with one timer: requests are in buckets of a second, and all
 * requests of a due bucket time out.
 *
 * Coarse on purpose: a deadline bounds the wait of a client, and every write passes this code.
 */
import { type Clock, SlotSet, type Timer } from "@kcp-ts/machinery/base";
import { statusError } from "@kcp-ts/machinery/status";
import type { RequestScope } from "../request/request-scope.ts";
import type { RequestContext } from "./request-context.ts";

export class Deadlines<Item> {
  readonly #clock: Clock;
  readonly #onExpired: (item: Item) => void;
  readonly #buckets = new Map<number, SlotSet<Item>>();
  #timer: Timer | undefined;

  constructor(clock: Clock, onDue: (item: Item) => void) {
    this.#clock = clock;
    this.#onExpired = onDue;
  }

  /**
   * Calls back at the end of the second in which `timeoutMs` have passed. The returned function
   * removes the item.
   */
  add(item: Item, timeoutMs: number): () => void {
    const bucketKey = Math.ceil((this.#clock.monotonic() + timeoutMs) / bucketMs);
    let bucket = this.#buckets.get(bucketKey);
    if (bucket === undefined) {
      bucket = new SlotSet();
      this.#buckets.set(bucketKey, bucket);
    }
    this.#timer ??= this.#clock.schedule(bucketMs, () => this.#tick());
    return bucket.add(item);
  }

  close(): void {
    this.#timer?.cancel();
    this.#buckets.clear();
  }

  #tick(): void {
    const now = Math.floor(this.#clock.monotonic() / bucketMs);
    for (const [key, bucket] of this.#buckets) {
      if (key > now) continue;
      this.#buckets.delete(key);
      for (let item = bucket.shift(); item !== undefined; item = bucket.shift())
        this.#onExpired(item);
    }
    this.#timer =
      this.#buckets.size === 0 ? undefined : this.#clock.schedule(bucketMs, () => this.#tick());
  }
}

const bucketMs = 1000;

// The duration of a request: as its client asks, within limits.

const timeoutDefaultMs = 60_000;
const writeTimeoutMaxMs = 34_000;

/**
 * Watches have no deadline; other requests have a minute, and writes a little more than half of it.
 */
export function setDeadline(context: RequestContext): undefined {
  const scope = context.scope as RequestScope;
  if (scope.verb === "watch") return undefined;
  const asked = scope.query.get("timeout");
  let timeoutMs = asked === null ? timeoutDefaultMs : parseTimeout(asked);
  const isRead = scope.verb === "get" || scope.verb === "list" || scope.verb === "head";
  if (!isRead) timeoutMs = Math.min(timeoutMs, writeTimeoutMaxMs);
  context.timeoutMs = timeoutMs;
  return undefined;
}

const durationUnitMs = new Map([
  ["ns", 1e-6],
  ["us", 1e-3],
  ["µs", 1e-3],
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
]);

/** A Go duration; zero and more than a minute mean the default. */
function parseTimeout(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g)];
  const isWhole = parts.map((part) => part[0]).join("") === text && parts.length > 0;
  if (!isWhole && text !== "0") {
    throw statusError.badRequest(
      `invalid timeout specified in the request URL - time: invalid duration ${JSON.stringify(text)}`,
    );
  }
  const ms = parts.reduce(
    (sum, [, value, unit]) => sum + Number(value) * (durationUnitMs.get(unit as string) ?? 0),
    0,
  );
  return ms <= 0 || ms > timeoutDefaultMs ? timeoutDefaultMs : ms;
}
