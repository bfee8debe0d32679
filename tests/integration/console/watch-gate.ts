/**
 * Holds the events of watches back, and lets so many of them through in each second: the page sees
 * that rate, however fast the server is beside other work.
 */
import type { Middleware } from "@kcp-ts/controlplane";
import { sleep, systemClock } from "@kcp-ts/machinery/base";

const newline = 10;

export class WatchGate {
  /** A part of the addresses of the watches that are held. */
  readonly #target: string;
  readonly #waiting = new Set<() => void>();
  #isOpen = true;
  /** How many events of each watch have been let through since the gate was closed. */
  #allowed = 0;

  constructor(target: string) {
    this.#target = target;
  }

  readonly middleware: Middleware = async (request, next) => {
    const response = await next(request);
    const { status, headers, body } = response;
    const isHeld = request.target.includes(this.#target) && request.target.includes("watch=true");
    if (!isHeld || body === undefined) return response;
    return { status, headers, body: this.#gated(body as AsyncIterable<Uint8Array>), isWatch: true };
  };

  close(): void {
    this.#isOpen = false;
    this.#allowed = 0;
  }

  /** Lets `count` events through at this rate, then all. Returns the rate that they had. */
  async release(count: number, perSecond: number): Promise<number> {
    const startedAt = systemClock.monotonic();
    const elapsedMs = () => systemClock.monotonic() - startedAt;
    while (this.#allowed < count) {
      await sleep(systemClock, 10);
      this.#allowed = Math.min(count, Math.floor((elapsedMs() / 1000) * perSecond));
      this.#wake();
    }
    const rate = count / (elapsedMs() / 1000);
    this.#isOpen = true;
    this.#wake();
    return rate;
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  async *#gated(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const chunks = body[Symbol.asyncIterator]();
    const held: Uint8Array[] = [];
    let isOver = false;
    const end = () => {
      isOver = true;
      this.#wake();
    };
    const pump = async () => {
      for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
        held.push(...linesOf(next.value));
        this.#wake();
      }
    };
    pump().then(end, end);
    try {
      for (let passed = 0; !isOver || held.length > 0; ) {
        if (this.#isOpen) passed = 0;
        const line = this.#isOpen || passed < this.#allowed ? held.shift() : undefined;
        if (line === undefined) await new Promise<void>((wake) => this.#waiting.add(wake));
        else {
          passed++;
          yield line;
        }
      }
    } finally {
      await chunks.return?.();
    }
  }
}

/** Copies: the server writes into its buffer again. */
function linesOf(chunk: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = [];
  for (let from = 0; from < chunk.length; ) {
    const end = chunk.indexOf(newline, from);
    const to = end === -1 ? chunk.length : end + 1;
    lines.push(chunk.slice(from, to));
    from = to;
  }
  return lines;
}
