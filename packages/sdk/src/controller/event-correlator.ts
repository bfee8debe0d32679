/**
 * What has been told already, so that telling it again is a count and not another object.
 *
 * Memory is bounded: the entries used longest ago are forgotten, which at worst makes an Event begin anew.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { KubernetesObject } from "../client/index.ts";
import { BucketRateLimiter } from "../work-queue/index.ts";

export interface CorrelatedEvent {
  /** Of the Event object. */
  readonly name: string;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  /** The sending of this Event before, if it is not over yet. */
  readonly previous: Promise<unknown> | undefined;
  /** Registers the sending of this one. */
  settle(sending: Promise<unknown>): void;
}

interface RecordedEvent {
  readonly name: string;
  count: number;
  sending: Promise<unknown> | undefined;
}

interface Similar {
  readonly messages: Set<string>;
  lastAtMs: number;
}

/** What client-go has: beyond ten different messages in ten minutes they are told as one. */
export const similarMessagesMax = 10;
const similarWindowMs = 600_000;
/** Per object: 25 at once, then one in five minutes. */
export const eventsPerObjectBurst = 25;
const eventsPerObjectPerSecond = 1 / 300;
const entriesMax = 4096;

export class EventCorrelator {
  readonly #clock: Clock;
  readonly #known = new Map<string, RecordedEvent>();
  readonly #similar = new Map<string, Similar>();
  readonly #limiters = new Map<string, BucketRateLimiter>();
  #sequence = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined when the object is spoken of too much. */
  tell(
    cluster: ClusterName,
    object: KubernetesObject,
    { type, reason, message }: Pick<CorrelatedEvent, "type" | "reason" | "message">,
  ): CorrelatedEvent | undefined {
    const { namespace = "", name, uid = "" } = object.metadata;
    const about = [cluster, object.apiVersion, object.kind, namespace, name, uid].join("|");
    if (this.#isTooMuch(about)) return undefined;
    const kind = [about, type, reason].join("|");
    const isCombined = this.#isCombined(kind, message);
    const text = isCombined ? `(combined from similar events): ${message}` : message;
    const key = isCombined ? kind : `${kind}|${message}`;
    const known = this.#entry(this.#known, key, () => ({
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
      settle(sending) {
        known.sending = sending.catch(() => {
          // The sender reports it; here it only has to be over.
        });
      },
    };
  }

  #isTooMuch(about: string): boolean {
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

  #isCombined(kind: string, message: string): boolean {
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

  /** Unique among the Events of this object: the clock in hex as client-go has it, and a counter for the same millisecond. */
  #nameFor(object: string): string {
    const suffix = `${this.#clock.now().toString(16)}${(this.#sequence++ % 0x1000).toString(16).padStart(3, "0")}`;
    return `${object.slice(0, 230)}.${suffix}`;
  }

  #entry<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
    const found = map.get(key);
    const value = found ?? make();
    // A map remembers the order of insertion: the first key is the one used longest ago.
    map.delete(key);
    map.set(key, value);
    if (map.size > entriesMax) map.delete(map.keys().next().value as string);
    return value;
  }
}
