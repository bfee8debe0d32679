/**
 * SpanExporter: sends spans to a collector, as OTLP in JSON over HTTP. Spans wait in a bounded
 * queue; what does not fit, or is not accepted, is dropped and counted: no request waits for a
 * collector.
 */
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Clock, Timer } from "@kcp-ts/machinery/base";

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: "server" | "internal";
  /** Milliseconds since the epoch, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  readonly isError: boolean;
}

export interface SpanExporterOptions {
  readonly endpoint: URL;
  /** `service.name` and `service.version`. */
  readonly service: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly onDropped: (count: number, error: unknown) => void;
}

const queuedMax = 4096;
const batchMax = 512;
const flushMs = 5000;
const timeoutMs = 10_000;
const kinds = { internal: 1, server: 2 } as const;

export class SpanExporter {
  readonly #options: SpanExporterOptions;
  #queue: Span[] = [];
  #overflow = 0;
  #timer: Timer | undefined;
  #sending: Promise<void> | undefined;

  constructor(options: SpanExporterOptions) {
    this.#options = options;
  }

  add(span: Span): void {
    if (this.#queue.length >= queuedMax) {
      this.#overflow++;
      return;
    }
    this.#queue.push(span);
    if (this.#queue.length >= batchMax) void this.#flush();
    else this.#timer ??= this.#options.clock.schedule(flushMs, () => void this.#flush());
  }

  /** Sends what is left. */
  async close(): Promise<void> {
    await this.#sending;
    while (this.#queue.length > 0) await this.#flush();
  }

  #flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#sending ??= this.#sendBatch().finally(() => {
      this.#sending = undefined;
      if (this.#queue.length > 0)
        this.#timer ??= this.#options.clock.schedule(flushMs, () => void this.#flush());
    });
    return this.#sending;
  }

  async #sendBatch(): Promise<void> {
    const { onDropped } = this.#options;
    const batch = this.#queue.splice(0, batchMax);
    const overflow = this.#overflow;
    this.#overflow = 0;
    if (overflow > 0) onDropped(overflow, new Error("the queue of spans is full"));
    if (batch.length === 0) return;
    try {
      await this.#post(JSON.stringify(exportRequest(batch, this.#options.service)));
    } catch (error) {
      onDropped(batch.length, error);
    }
  }

  #post(body: string): Promise<void> {
    const { endpoint } = this.#options;
    const send = endpoint.protocol === "https:" ? httpsRequest : httpRequest;
    return new Promise((resolve, reject) => {
      const headers = {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
      };
      const request = send(
        endpoint,
        { method: "POST", headers, timeout: timeoutMs },
        (response) => {
          const { statusCode = 0 } = response;
          // The answer has nothing that is needed.
          response.resume();
          if (statusCode >= 200 && statusCode < 300) resolve();
          else reject(new Error(`the collector answered ${statusCode}`));
        },
      );
      request.on("timeout", () => request.destroy(new Error(`no answer within ${timeoutMs} ms`)));
      request.on("error", reject);
      request.end(body);
    });
  }
}

/** An ExportTraceServiceRequest. */
function exportRequest(spans: readonly Span[], service: Readonly<Record<string, string>>): object {
  return {
    resourceSpans: [
      {
        resource: { attributes: attributesOf(service) },
        scopeSpans: [{ scope: { name: "kcp" }, spans: spans.map(otlpSpan) }],
      },
    ],
  };
}

function otlpSpan(span: Span): object {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId === undefined ? {} : { parentSpanId: span.parentSpanId }),
    name: span.name,
    kind: kinds[span.kind],
    startTimeUnixNano: nanos(span.startMs),
    endTimeUnixNano: nanos(span.endMs),
    attributes: attributesOf(span.attributes),
    status: span.isError ? { code: 2 } : {},
  };
}

/** 64-bit integers are strings in JSON. */
function nanos(ms: number): string {
  return String(BigInt(Math.round(ms * 1000)) * 1000n);
}

function attributesOf(attributes: Readonly<Record<string, string | number>>): object[] {
  return Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === "number" ? { intValue: String(value) } : { stringValue: value },
  }));
}
