/**
 * Waits that end: what is waited for is said aloud when it takes long, and named when it does not
 * come.
 */
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { cpuMicrosOf } from "./process-figures.ts";

/**
 * Ten thousand watches are opened at a pace while others are at work. Those that are not open by
 * then are told, and not waited for.
 */
export const openingMaxMs = 60_000;

/** Beyond it the wait is given up, and the benchmark with it. */
export async function within<Result>(
  waitMaxMs: number,
  what: string,
  coming: Promise<Result>,
): Promise<Result> {
  const given = new AbortController();
  const late = sleep(systemClock, waitMaxMs, given.signal).then(() => {
    throw new Error(`waited ${waitMaxMs / 1000} s in vain for ${what}`);
  });
  try {
    return await Promise.race([coming, late]);
  } finally {
    given.abort();
    late.catch(() => undefined);
  }
}

export interface IdleWaitOptions {
  readonly pid: number;
  /** After what. */
  readonly after: string;
  readonly waitMaxMs: number;
  readonly say?: (text: string) => void;
}

/** A server counts as quiet when it takes less of a processor than this. */
const quietShareMax = 0.1;
const windowMs = 250;

/**
 * Resolves when the process is quiet, or when it has had time enough to become so; says which. It
 * never waits for longer than it was told.
 */
export async function waitForIdle(options: IdleWaitOptions): Promise<boolean> {
  const { pid, after, waitMaxMs, say = toStderr } = options;
  const startedAt = systemClock.monotonic();
  let hasSaid = false;
  for (;;) {
    const before = { at: systemClock.monotonic(), cpu: cpuMicrosOf(pid) };
    await sleep(systemClock, Math.min(windowMs, waitMaxMs));
    const tookMs = systemClock.monotonic() - before.at;
    const share = (cpuMicrosOf(pid) - before.cpu) / 1000 / tookMs;
    if (share <= quietShareMax) return true;
    const percent = Math.round(share * 100);
    const waitedMs = systemClock.monotonic() - startedAt;
    if (waitedMs >= waitMaxMs) {
      say(`the server still takes ${percent} % of a processor ${seconds(waitedMs)} after ${after}`);
      return false;
    }
    if (!hasSaid) say(`waiting for a quiet server after ${after} (it takes ${percent} %)`);
    hasSaid = true;
  }
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

function toStderr(text: string): void {
  process.stderr.write(`bench: ${text}\n`);
}
