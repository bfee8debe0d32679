/**
 * What a page costs: processor time of its main thread, and bytes of its heap. Neither depends on
 * what else the machine does.
 */
import type { CDPSession, Page } from "playwright-core";

export interface MainThread {
  /** The longest turn: its script, style, layout and paint. */
  readonly longestTaskMs: number;
  /** Of all turns. */
  readonly totalMs: number;
}

interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  /** When it began, by the clock and in processor time of its thread; microseconds, as all. */
  readonly ts: number;
  readonly tts?: number;
  readonly dur?: number;
  /** Its processor time. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/**
 * Of all pages of the browser while `work` runs, or of the page that makes a mark of this name, up
 * to its mark.
 */
export async function mainThreadDuring(
  page: Page,
  work: () => Promise<void>,
  markName?: string,
): Promise<MainThread> {
  const browser = page.context().browser();
  if (browser === null) throw new Error("the page has no browser of its own");
  const categories = ["disabled-by-default-devtools.timeline", "blink.user_timing", "__metadata"];
  await browser.startTracing(undefined, { categories });
  let trace: Buffer;
  try {
    await work();
  } finally {
    trace = await browser.stopTracing();
  }
  const { traceEvents } = JSON.parse(trace.toString("utf8")) as { traceEvents: TraceEvent[] };
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`;
  const isMain = ({ name, args }: TraceEvent) =>
    name === "thread_name" && args?.name === "CrRendererMain";
  const mark = traceEvents.find(({ name }) => name === markName);
  if (markName !== undefined && mark === undefined) throw new Error(`no page marked ${markName}`);
  const threads = new Set((mark ? [mark] : traceEvents.filter(isMain)).map(threadOf));
  const endsAt = mark?.ts ?? Number.POSITIVE_INFINITY;
  const tasks = traceEvents
    .filter(({ name, ph, ts }) => name === "RunTask" && ph === "X" && ts < endsAt)
    .filter((event) => threads.has(threadOf(event)))
    .map(({ ts, tts = 0, dur = 0, tdur = 0 }) =>
      ts + dur <= endsAt ? tdur : (mark?.tts ?? 0) - tts,
    );
  if (tasks.length === 0) throw new Error("the trace has no task of a page");
  const totalMs = tasks.reduce((sum, micros) => sum + micros, 0) / 1000;
  return { longestTaskMs: Math.max(...tasks) / 1000, totalMs };
}

/** Of the document, and of those that scripts keep. */
export async function nodesOf(session: CDPSession): Promise<number> {
  const { metrics } = await session.send("Performance.getMetrics");
  const found = metrics.find(({ name }) => name === "Nodes");
  if (found === undefined) throw new Error("the browser does not count nodes");
  return found.value;
}

/** Bytes of the page's objects that are in use. */
export async function heapBytes(session: CDPSession): Promise<number> {
  await session.send("HeapProfiler.collectGarbage");
  return (await session.send("Runtime.getHeapUsage")).usedSize;
}
