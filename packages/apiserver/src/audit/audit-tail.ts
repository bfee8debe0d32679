/**
 * AuditTail: the audit events of this server as they happen, for readers of GET /audit.
 *
 * Nothing is kept: without readers an event costs one comparison, and a reader gets the events from
 * its request on. A reader that is slower than the events loses some, and gets their number; no
 * request waits for a reader.
 */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import type { ApiRequest, ApiResponse } from "../request/api-request.ts";
import type { AuditBackend } from "./audit.ts";
import { encodeEvent, type LossObserver } from "./encode-event.ts";

const retryAfterSeconds = 10;
/** One page in a browser is one reader. */
export const tailReadersMax = 16;
/** The events that wait for one reader. */
export const tailBytesMax = 1 << 20;

export class AuditTail implements AuditBackend {
  readonly name = "tail";
  readonly #readers = new Set<TailReader>();
  readonly #observer: LossObserver;

  constructor(observer: LossObserver) {
    this.#observer = observer;
  }

  write(event: JsonObject, encoded?: string): void {
    if (this.#readers.size === 0) return;
    const asking = [...this.#readers].filter((reader) => reader.selects(event));
    if (asking.length === 0) return;
    const text = encoded ?? encodeEvent(event, this.#observer);
    if (text === undefined) return;
    const line = Buffer.from(`${text}\n`);
    for (const reader of asking) reader.push(line);
  }

  async close(): Promise<void> {
    for (const reader of this.#readers) reader.end();
  }

  /**
   * The events of all logical clusters, or of the one that the query names by its name or by the
   * path of its workspace. The caller has authorized the request.
   */
  serve(request: Pick<ApiRequest, "onClose">, query: URLSearchParams): ApiResponse {
    if (this.#readers.size >= tailReadersMax) throw statusError.tooManyRequests(retryAfterSeconds);
    const reader = new TailReader(query.get("cluster") ?? "");
    this.#readers.add(reader);
    request.onClose(() => {
      this.#readers.delete(reader);
      reader.end();
    });
    const headers = { "content-type": "application/x-ndjson", "cache-control": "no-store" };
    return { status: 200, headers, body: reader.lines(), isWatch: true };
  }
}

class TailReader {
  readonly #cluster: string;
  #lines: Uint8Array[] = [];
  #bytes = 0;
  #dropped = 0;
  #isOver = false;
  #wake = () => {};

  constructor(cluster: string) {
    this.#cluster = cluster;
  }

  selects({ annotations }: JsonObject): boolean {
    if (this.#cluster === "") return true;
    const of = (annotations ?? {}) as Readonly<Record<string, JsonValue>>;
    return (
      of["kcp.io/cluster"] === this.#cluster || of["tenancy.kcp.io/workspace"] === this.#cluster
    );
  }

  push(line: Uint8Array): void {
    if (this.#bytes + line.length > tailBytesMax) this.#dropped++;
    else {
      this.#lines.push(line);
      this.#bytes += line.length;
    }
    this.#wake();
  }

  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  async *lines(): AsyncGenerator<Uint8Array> {
    while (!this.#isOver) {
      const lines = this.#lines;
      const dropped = this.#dropped;
      [this.#lines, this.#bytes, this.#dropped] = [[], 0, 0];
      yield* lines;
      if (dropped > 0) yield Buffer.from(`{"kind":"EventsDropped","count":${dropped}}\n`);
      if (lines.length + dropped + this.#lines.length + this.#dropped > 0) continue;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
