/**
 * EventCorrelator: recently recorded Events, so that a repeated Event increments a count instead of
 * creating another object.
 *
 * Memory is bounded: the least recently used entries are evicted, which at worst makes an Event
 * begin a new count.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { KubernetesObject } from "../client/index.ts";
import { BucketRateLimiter } from "../work-queue/index.ts";

export interface CorrelatedEvent {
  /** The name of the Event object. */
  readonly name: string;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  /** The previous request for this Event: the uid of the Event, undefined if the request failed. */
  readonly previous: Promise<string | undefined> | undefined;
  /** Registers the request for this Event. */
  trackSending(sending: Promise<string | undefined>): void;
}

interface RecordedEvent {
  readonly name: string;
  count: number;
  sending: Promise<string | undefined> | undefined;
}

interface Similar {
  readonly messages: Set<string>;
  lastAtMs: number;
}

/**
 * client-go's value: more than ten different messages in ten minutes are aggregated into one Event.
 */
export const similarMessagesMax = 10;
const similarWindowMs = 600_000;
/** The spam filter per object: a burst of 25 Events, then one in five minutes. */
export const eventsPerObjectBurst = 25;
const eventsPerObjectPerSecond = 1 / 300;
const entriesMax = 4096;

export class EventCorrelator {
  readonly #clock: Clock;
  readonly #recorded = new Map<string, RecordedEvent>();
  readonly #similar = new Map<string, Similar>();
  readonly #limiters = new Map<string, BucketRateLimiter>();
  #sequence = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Returns undefined when the object exceeds the spam filter. */
  correlate(
    cluster: ClusterName,
    object: KubernetesObject,
    { type, reason, message }: Pick<CorrelatedEvent, "type" | "reason" | "message">,
  ): CorrelatedEvent | undefined {
    const { namespace = "", name, uid = "" } = object.metadata;
    const about = [cluster, object.apiVersion, object.kind, namespace, name, uid].join("|");
    if (this.#isRateLimited(about)) return undefined;
    const kind = [about, type, reason].join("|");
    const isCombined = this.#isAggregated(kind, message);
    const text = isCombined ? `(combined from similar events): ${message}` : message;
    const key = isCombined ? kind : `${kind}|${message}`;
    const known = this.#entry(this.#recorded, key, () => ({
      name: this.#nameFor(name),
      count: 0,
      sending: undefined,
    }));
    known.count++;
    return {
      name: known.name,
      type,
      reason,
      message: text,
      count: known.count,
      previous: known.sending,
      trackSending(sending) {
        // The sender reports the error; here the request only has to end.
        known.sending = sending.catch(() => undefined);
      },
    };
  }

  #isRateLimited(about: string): boolean {
    const limiter = this.#entry(
      this.#limiters,
      about,
      () =>
        new BucketRateLimiter({
          perSecond: eventsPerObjectPerSecond,
          burst: eventsPerObjectBurst,
          clock: this.#clock,
        }),
    );
    return !limiter.tryTake();
  }

  #isAggregated(kind: string, message: string): boolean {
    const nowMs = this.#clock.monotonic();
    const similar = this.#entry(this.#similar, kind, () => ({
      messages: new Set<string>(),
      lastAtMs: nowMs,
    }));
    if (nowMs - similar.lastAtMs > similarWindowMs) similar.messages.clear();
    similar.lastAtMs = nowMs;
    if (similar.messages.has(message)) return false;
    if (similar.messages.size >= similarMessagesMax) return true;
    similar.messages.add(message);
    return false;
  }

  /**
   * Unique among the Events of this object: the clock in hex as in client-go, and a counter for the
   * same millisecond.
   */
  #nameFor(object: string): string {
    const suffix = `${this.#clock.now().toString(16)}${(this.#sequence++ % 0x1000).toString(16).padStart(3, "0")}`;
    return `${object.slice(0, 230)}.${suffix}`;
  }

  #entry<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
    const found = map.get(key);
    const value = found ?? make();
    // A Map keeps the order of insertion: the first key is the least recently used one.
    map.delete(key);
    map.set(key, value);
    if (map.size > entriesMax) map.delete(map.keys().next().value as string);
    return value;
  }
}
