/**
 * A controller's transport with the faults of one schedule. It counts the opportunities, so that a
 * failure can be repeated with one of them alone.
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
import type { FaultSchedule } from "./fault-schedule.ts";
import { mergeEvents } from "./merge-events.ts";

export interface FaultyTransportOptions {
  readonly inner: Transport;
  readonly schedule: FaultSchedule | undefined;
  /** Shared by all incarnations of a controller. */
  readonly opportunities: Opportunities;
  readonly clock: Clock;
  readonly onCrash: () => void;
}

/** What a controller did that a fault could hit. */
export class Opportunities {
  writes = 0;
  events = 0;
  /** Writes that were refused or lost on purpose, by request: each is hit once. */
  readonly hit = new Set<string>();
  /** The writes in order, for reports. */
  readonly log: string[] = [];
}

/** The longest delay of events. */
const delayMsMax = 60;

export class FaultyTransport implements Transport {
  readonly #options: FaultyTransportOptions;
  readonly #random: SeededRandom;
  #isDead = false;

  constructor(options: FaultyTransportOptions) {
    this.#options = options;
    this.#random = new SeededRandom(options.schedule?.seed ?? 1);
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
    if (request.method === "GET") return this.#alive(await this.#options.inner.send(request));
    return this.#write(request);
  }

  async #write(request: TransportRequest): Promise<TransportResponse> {
    const { inner, opportunities, onCrash } = this.#options;
    const { pattern } = this.#options.schedule ?? {};
    const number = ++opportunities.writes;
    const name = `${request.method} ${request.path.split("?")[0]}`;
    opportunities.log.push(name);
    const isFirst = !opportunities.hit.has(name);
    const strikes = this.#strikes(number);
    if (strikes && isFirst && pattern === "conflict" && /PUT|PATCH/.test(request.method)) {
      opportunities.hit.add(name);
      return conflict();
    }
    if (strikes && isFirst && pattern === "lose-request") {
      opportunities.hit.add(name);
      throw new TransportError("connection-lost", "the request was lost on purpose");
    }
    const response = await inner.send(request);
    if (strikes && isFirst && pattern === "lose-answer" && response.status < 400) {
      opportunities.hit.add(name);
      throw new TransportError("connection-lost", "the answer was lost on purpose");
    }
    if (strikes && pattern === "crash") {
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
    const pattern = this.#options.schedule?.pattern;
    for await (const chunk of pattern === "skip-events" ? this.#merged(body) : body) {
      this.#assertAlive();
      if (isState) {
        isState = !Buffer.from(chunk).includes(initialEventsEndAnnotation);
        yield chunk;
        continue;
      }
      const strikes = this.#strikes(++opportunities.events);
      if (strikes && pattern === "delay-events")
        await sleep(clock, this.#random.next() * delayMsMax);
      yield chunk;
      if (strikes && pattern === "break-watch")
        throw new TransportError("connection-lost", "the watch was broken on purpose");
      if (!strikes || pattern !== "expire-watch") continue;
      yield new TextEncoder().encode(`${JSON.stringify({ type: "ERROR", object: expired })}\n`);
      return;
    }
  }

  /** Collects what arrives in a while, and lets through the last state of each object. */
  async *#merged(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const { clock } = this.#options;
    const chunks = body[Symbol.asyncIterator]();
    let next = chunks.next();
    try {
      for (;;) {
        const first = await next;
        if (first.done === true) return;
        const collected = [first.value];
        next = chunks.next();
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

  #strikes(opportunity: number): boolean {
    const { schedule } = this.#options;
    if (schedule === undefined) return false;
    return schedule.strikes === "all" || schedule.strikes.includes(opportunity);
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
