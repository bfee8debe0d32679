/**
 * A controller's transport with the faults of one schedule. It counts the opportunities, so that a
 * failure can be repeated with some of them alone.
 *
 * Every fault is one that a correct server and network can cause: events are delayed, and states in
 * between are skipped, as a relist skips them; a lost answer belongs to a write that happened.
 */
import { type Clock, sleep } from "@kcp-ts/machinery/base";
import {
  initialEventsEndAnnotation,
  responseBody,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "@kcp-ts/sdk";
import { SeededRandom } from "@kcp-ts/testkit";
import type { FaultPattern } from "./fault-schedule.ts";
import { mergeEvents } from "./merge-events.ts";
import type { Opportunities } from "./opportunities.ts";
import { StaleReplica } from "./stale-replica.ts";

export interface FaultyTransportOptions {
  readonly inner: Transport;
  /** Of delays. */
  readonly seed: number;
  /** Shared by all incarnations of a controller. */
  readonly opportunities: Opportunities;
  readonly clock: Clock;
  readonly onCrash: () => void;
}

/** The longest delay of events. */
const delayMsMax = 60;

export class FaultyTransport implements Transport {
  readonly #options: FaultyTransportOptions;
  readonly #random: SeededRandom;
  readonly #replica: StaleReplica | undefined;
  #isDead = false;

  constructor(options: FaultyTransportOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.seed);
    const { opportunities, inner } = options;
    const isStale = opportunities.has("stale-reads") || opportunities.has("stale-live-reads");
    this.#replica = isStale ? new StaleReplica(inner) : undefined;
  }

  /** Ends the controller's access, as the end of its process does. */
  kill(): void {
    this.#isDead = true;
  }

  async close(): Promise<void> {
    this.kill();
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    this.#assertAlive();
    const isWatch = /[?&]watch=/.test(request.path);
    if (isWatch) return this.#watch(request);
    if (request.method === "GET") return this.#alive(await this.#read(request));
    return this.#write(request);
  }

  async #read(request: TransportRequest): Promise<TransportResponse> {
    const { inner, opportunities } = this.#options;
    const isCached = /[?&]resourceVersion=0(?:&|$)/.test(request.path);
    const isLive = !isCached && !/[?&]resourceVersion=/.test(request.path);
    const pattern = isCached ? "stale-reads" : "stale-live-reads";
    const replica = this.#replica;
    if (replica === undefined || !(isCached || isLive) || !opportunities.has(pattern))
      return inner.send(request);
    if (!replica.mayAnswer(request)) return inner.send(request);
    if (!opportunities.strikes(pattern, ++opportunities.reads)) return inner.send(request);
    return (await replica.answer(request)) ?? inner.send(request);
  }

  async #write(request: TransportRequest): Promise<TransportResponse> {
    const { inner, opportunities, onCrash } = this.#options;
    const write = opportunities.write(request);
    const isHit = (pattern: FaultPattern) => opportunities.strikesWrite(pattern, write, request);
    if (/PUT|PATCH/.test(request.method) && isHit("conflict")) return conflict();
    if (isHit("lose-request"))
      throw new TransportError("connection-lost", "the request was lost on purpose");
    await this.#replica?.beforeWrite(request);
    const response = await inner.send(request);
    if (response.status < 400 && isHit("lose-answer"))
      throw new TransportError("connection-lost", "the answer was lost on purpose");
    if (opportunities.strikes("crash", write.number)) {
      this.kill();
      onCrash();
    }
    return this.#alive(response);
  }

  async #watch(request: TransportRequest): Promise<TransportResponse> {
    const response = this.#alive(await this.#options.inner.send(request));
    if (response.status >= 400) return response;
    const isState = /[?&]sendInitialEvents=true/.test(request.path);
    return { ...response, body: responseBody(this.#events(response.body, isState)) };
  }

  /** A state that never arrives would be no fault but an outage: opportunities come after it. */
  async *#events(body: AsyncIterable<Uint8Array>, isState: boolean): AsyncGenerator<Uint8Array> {
    const { opportunities, clock } = this.#options;
    for await (const chunk of opportunities.has("skip-events") ? this.#merged(body) : body) {
      this.#assertAlive();
      if (isState) {
        isState = !Buffer.from(chunk).includes(initialEventsEndAnnotation);
        yield chunk;
        continue;
      }
      const number = ++opportunities.events;
      if (opportunities.strikes("delay-events", number))
        await sleep(clock, this.#random.next() * delayMsMax);
      yield chunk;
      if (opportunities.strikes("break-watch", number))
        throw new TransportError("connection-lost", "the watch was broken on purpose");
      if (!opportunities.strikes("expire-watch", number)) continue;
      yield new TextEncoder().encode(`${JSON.stringify({ type: "ERROR", object: expired })}\n`);
      return;
    }
  }

  /** Collects what arrives in a while, and lets through the last state of each object. */
  async *#merged(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const { clock, opportunities } = this.#options;
    const chunks = body[Symbol.asyncIterator]();
    let next = chunks.next();
    try {
      for (;;) {
        const first = await next;
        if (first.done === true) return;
        const collected = [first.value];
        next = chunks.next();
        if (!opportunities.strikes("skip-events", ++opportunities.batches)) {
          yield first.value;
          continue;
        }
        const isOver = sleep(clock, this.#random.next() * delayMsMax).then(() => undefined);
        for (;;) {
          const more = await Promise.race([next, isOver]);
          if (more === undefined || more.done === true) break;
          collected.push(more.value);
          next = chunks.next();
        }
        yield mergeEvents(collected);
      }
    } finally {
      // The read that is under way ends with the stream.
      next.catch(() => {});
      await chunks.return?.();
    }
  }

  #alive(response: TransportResponse): TransportResponse {
    this.#assertAlive();
    return response;
  }

  #assertAlive(): void {
    if (this.#isDead) throw new TransportError("closed", "the controller has crashed on purpose");
  }
}

const expired = {
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  message: "expired on purpose",
  reason: "Expired",
  code: 410,
};

function conflict(): TransportResponse {
  const message =
    "refused on purpose: the object has been modified; please apply your changes to the latest version and try again";
  const status = { ...expired, message, reason: "Conflict", code: 409 };
  const headers = { "content-type": "application/json" };
  return { status: 409, headers, body: responseBody(JSON.stringify(status)) };
}
