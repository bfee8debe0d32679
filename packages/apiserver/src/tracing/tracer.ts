/**
 * Tracer: a span for a part of the requests, chosen by their trace ID, so that all servers choose
 * the same ones. The wish of a client (the flag of its traceparent) counts when it is a member of
 * system:masters or system:monitoring: others could make every request of theirs cost a span.
 */
import { randomFillSync } from "node:crypto";
import type { Clock } from "@kcp-ts/machinery/base";
import { isSystemMaster, type UserInfo } from "../request/index.ts";
import { parseTraceparent, type TraceContext } from "../request/trace-context.ts";
import type { SpanExporter } from "./span-exporter.ts";

export interface RequestTrace extends TraceContext {
  readonly parentSpanId: string | undefined;
  /** The client's flag. */
  readonly isWanted: boolean;
}

export interface TracedRequest {
  readonly name: string;
  readonly user: UserInfo;
  /** How long the request took. */
  readonly ms: number;
  readonly isError: boolean;
  readonly attributes: Readonly<Record<string, string | number>>;
}

export class Tracer {
  readonly #exporter: SpanExporter;
  readonly #clock: Clock;
  readonly #threshold: number;
  readonly #randomBytes = Buffer.alloc(4096);
  #randomAt = 4096;

  constructor(exporter: SpanExporter, samplingRatePerMillion: number, clock: Clock) {
    this.#exporter = exporter;
    this.#clock = clock;
    this.#threshold = (samplingRatePerMillion / 1_000_000) * 2 ** 32;
  }

  /** The span of a request that arrives, in the trace that its header names. */
  begin(traceparent: string | undefined): RequestTrace {
    const parent = parseTraceparent(traceparent);
    const traceId = parent?.traceId ?? this.#randomHex(16);
    return {
      traceId,
      spanId: this.#randomHex(8),
      parentSpanId: parent?.spanId,
      isWanted: parent?.isSampled === true,
      // Of the random end of the ID, as W3C asks for.
      isSampled: Number.parseInt(traceId.slice(-8), 16) < this.#threshold,
    };
  }

  end(trace: RequestTrace, request: TracedRequest): void {
    const { name, user, ms, isError, attributes } = request;
    if (!trace.isSampled && !(trace.isWanted && mayWant(user))) return;
    const { traceId, spanId, parentSpanId } = trace;
    const endMs = this.#clock.now();
    const times = { startMs: endMs - ms, endMs };
    this.#exporter.add({
      ...{ traceId, spanId, parentSpanId, name, kind: "server", attributes, isError },
      ...times,
    });
  }

  close(): Promise<void> {
    return this.#exporter.close();
  }

  #randomHex(bytes: number): string {
    if (this.#randomAt + bytes > this.#randomBytes.length) {
      randomFillSync(this.#randomBytes);
      this.#randomAt = 0;
    }
    const at = this.#randomAt;
    this.#randomAt += bytes;
    return this.#randomBytes.toString("hex", at, at + bytes);
  }
}

function mayWant(user: UserInfo): boolean {
  return isSystemMaster(user) || user.groups.includes("system:monitoring");
}
