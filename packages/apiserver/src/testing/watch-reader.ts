/** Reads a watch event by event. */
import type { AnyObject } from "./test-server.ts";

export interface WatchEvent {
  readonly type: string;
  readonly object: AnyObject;
}

export class WatchReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #leaving: AbortController;
  #text = "";
  #lines: string[] = [];

  constructor(body: AsyncIterable<Uint8Array>, leaving: AbortController) {
    this.#chunks = body[Symbol.asyncIterator]();
    this.#leaving = leaving;
  }

  /** The next event, or undefined at the end of the stream. */
  async next(): Promise<WatchEvent | undefined> {
    while (this.#lines.length === 0) {
      const chunk = await this.#chunks.next();
      if (chunk.done === true) {
        if (this.#text !== "") throw new Error(`the watch ended inside an event: ${this.#text}`);
        return undefined;
      }
      const lines = (this.#text + Buffer.from(chunk.value).toString("utf8")).split("\n");
      this.#text = lines.pop() as string;
      this.#lines = lines;
    }
    return JSON.parse(this.#lines.shift() as string) as WatchEvent;
  }

  async take(count: number): Promise<WatchEvent[]> {
    const events: WatchEvent[] = [];
    while (events.length < count) {
      const event = await this.next();
      if (event === undefined) throw new Error(`the watch ended after ${events.length} events`);
      events.push(event);
    }
    return events;
  }

  /** All events until the server ends the stream. */
  async rest(): Promise<WatchEvent[]> {
    const events: WatchEvent[] = [];
    for (let event = await this.next(); event !== undefined; event = await this.next()) {
      events.push(event);
    }
    return events;
  }

  /** Closes the connection as a client does. */
  async leave(): Promise<void> {
    this.#leaving.abort();
    await this.#chunks.return?.();
  }
}

/** `ADDED a`, for short comparisons. */
export function summarizeEvent(event: WatchEvent | undefined): string {
  return event === undefined ? "end" : `${event.type} ${event.object.metadata.name ?? ""}`.trim();
}
