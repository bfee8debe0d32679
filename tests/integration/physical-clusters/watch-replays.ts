/**
 * A transport that adds events to the watches of one resource: those that a client sees whose next
 * list comes from a server that is behind.
 */
import { PassThrough } from "node:stream";
import {
  responseBody,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from "@kcp-ts/sdk";

export class WatchReplays implements Transport {
  readonly #inner: Transport;
  readonly #isWatch: RegExp;
  readonly #watches = new Set<PassThrough>();
  /** The last event of an object that was not deleted. */
  last = "";
  /** The type of the last event. */
  lastType = "";

  constructor(inner: Transport, resource: string) {
    this.#inner = inner;
    this.#isWatch = new RegExp(`/${resource}\\?(?:.*&)?watch=true`);
  }

  replay(type: "ADDED" | "DELETED", event: string): void {
    const { object } = JSON.parse(event) as { readonly object: object };
    for (const watch of this.#watches) watch.write(`${JSON.stringify({ type, object })}\n`);
  }

  async send(request: TransportRequest): Promise<TransportResponse> {
    const response = await this.#inner.send(request);
    if (!this.#isWatch.test(request.path)) return response;
    const events = new PassThrough();
    this.#watches.add(events);
    void this.#forward(response, events);
    return { ...response, body: responseBody(events) };
  }

  async #forward({ body }: TransportResponse, events: PassThrough): Promise<void> {
    try {
      for await (const chunk of body) {
        for (const line of Buffer.from(chunk).toString("utf8").split("\n")) {
          const [, type] = /^\{"type":"([A-Z]+)"/.exec(line) ?? [];
          if (type === undefined || type === "BOOKMARK") continue;
          this.lastType = type;
          if (type !== "DELETED") this.last = line;
        }
        events.write(chunk);
      }
      events.end();
    } catch (error) {
      events.destroy(error as Error);
    } finally {
      this.#watches.delete(events);
    }
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }
}
