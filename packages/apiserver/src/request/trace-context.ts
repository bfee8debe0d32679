/**
 * W3C Trace Context: the trace that a request belongs to, for calls that are made on its behalf.
 * Without a tracer nothing enters a context, and `currentTrace` is undefined.
 */
import { AsyncLocalStorage } from "node:async_hooks";

export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

const pattern = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Undefined for anything but a valid header of version 00, or of a later one in that form. */
export function parseTraceparent(header: string | undefined): TraceContext | undefined {
  const [, traceId, spanId, flags] = pattern.exec(header ?? "") ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags ?? "", 16) & 1) === 1 };
}

export function formatTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? "01" : "00"}`;
}

const current = new AsyncLocalStorage<TraceContext>();

export function runInTrace<Result>(trace: TraceContext, body: () => Result): Result {
  return current.run(trace, body);
}

export function currentTrace(): TraceContext | undefined {
  return current.getStore();
}
