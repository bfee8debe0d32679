/**
 * The network between two processes of a system: requests are delayed, and with them overtake each
 * other; requests and responses are lost; events of watches come late; a link is cut for a while;
 * and a process that has ended sends and receives nothing.
 */
import { onAbort } from "@kcp-ts/machinery/base";
import { type Transport, TransportError, type TransportRequest } from "@kcp-ts/sdk";
import { AbortableBody } from "@kcp-ts/sdk/client";
import type { SeededRandom } from "@kcp-ts/testkit";
import type { SimulatedEventLoop } from "./event-loop.ts";

export interface LinkQuality {
  /** Upper bounds; each request, and each event, draws its own. */
  readonly latencyMs: number;
  readonly eventLatencyMs: number;
  /** Probabilities for each request. */
  readonly lossBefore: number;
  readonly lossAfter: number;
  /** A request that arrives twice, as when a proxy repeats it. */
  readonly twice: number;
  /** Events of watches that arrive twice. */
  readonly eventTwice: number;
}

export const perfectQuality: LinkQuality = {
  latencyMs: 0,
  eventLatencyMs: 0,
  lossBefore: 0,
  lossAfter: 0,
  twice: 0,
  eventTwice: 0,
};

export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly status: number | string;
}

export interface LinkOptions {
  readonly name: string;
  readonly loop: SimulatedEventLoop;
  readonly random: SeededRandom;
  readonly onSent: (request: SentRequest) => void;
  readonly onEnd: () => void;
}

export class SimulatedLink {
  quality: LinkQuality = perfectQuality;
  readonly #options: LinkOptions;
  readonly #streams = new Set<AbortableBody>();
  #isCut = false;
  #hasEnded = false;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  /** Requests fail and open watches break until the link is mended. */
  cut(): void {
    this.#isCut = true;
    this.#breakStreams();
  }

  mend(): void {
    this.#isCut = false;
  }

  /** Open watches break; their clients may reconnect. */
  breakStreams(): void {
    this.#breakStreams();
  }

  /** The process at one end does not exist any more. */
  end(): void {
    this.#hasEnded = true;
    this.#options.onEnd();
    this.#breakStreams();
  }

  /** The inner transport is shared, and stays open when this one is closed. */
  wrap(inner: Transport): Transport {
    let isClosed = false;
    return {
      send: async (request) => {
        if (isClosed) throw new TransportError("closed", "the transport is closed");
        return this.#send(inner, request);
      },
      close: async () => {
        isClosed = true;
        this.#breakStreams();
      },
    };
  }

  async #send(inner: Transport, request: TransportRequest): ReturnType<Transport["send"]> {
    const { random, onSent } = this.#options;
    const { method, path } = request;
    const note = (status: number | string) => onSent({ method, path, status });
    // Drawn together, so that what a request draws does not depend on what happens to it.
    const [before, after, fate] = [random.next(), random.next(), random.next()] as const;
    const { latencyMs, lossBefore, lossAfter, twice } = this.quality;
    if (latencyMs > 0) await this.#sleep(Math.floor(before * latencyMs));
    if (this.#hasEnded) return never();
    request.signal?.throwIfAborted();
    if (this.#isCut) {
      note("cut");
      throw new TransportError("connect", "connection refused");
    }
    if (fate < lossBefore) {
      note("lost before");
      throw new TransportError("connection-lost", "the connection broke");
    }
    if (fate > 1 - twice && !isStream(path)) {
      const first = await inner.send(request);
      await first.body.text();
      note(`${first.status}, and again`);
    }
    const response = await inner.send(request);
    note(response.status);
    if (latencyMs > 0) await this.#sleep(Math.floor(after * latencyMs));
    if (this.#hasEnded) return never();
    const isLost = this.#isCut || (fate >= lossBefore && fate < lossBefore + lossAfter);
    if (!isLost && !isStream(path)) return response;
    const stream: AbortableBody = new AbortableBody(this.#delayed(response.body), () =>
      this.#streams.delete(stream),
    );
    if (isLost) {
      stream.fail(new TransportError("connection-lost", "the connection broke"));
      throw new TransportError("connection-lost", "the connection broke");
    }
    this.#streams.add(stream);
    onAbort(request.signal, () => stream.fail(request.signal?.reason));
    const text = async (): Promise<string> => {
      throw new Error("a watch is read in chunks");
    };
    return {
      ...response,
      body: { text, [Symbol.asyncIterator]: () => stream[Symbol.asyncIterator]() },
    };
  }

  async *#delayed(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      const { eventLatencyMs, eventTwice } = this.quality;
      if (eventLatencyMs > 0) await this.#sleep(this.#options.random.integer(eventLatencyMs));
      yield chunk;
      if (eventTwice > 0 && this.#options.random.chance(eventTwice)) yield chunk;
    }
  }

  #breakStreams(): void {
    const error = new TransportError("connection-lost", "the connection broke");
    for (const stream of [...this.#streams]) stream.fail(error);
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#options.loop.schedule(ms, resolve);
    });
  }
}

function isStream(path: string): boolean {
  return /[?&](watch|follow)=(true|1)/.test(path);
}

function never<Value>(): Promise<Value> {
  return new Promise(() => {});
}
