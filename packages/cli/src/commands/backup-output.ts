/**
 * The common output of backup and restore: progress on a terminal, a summary, and the end by
 * Ctrl-C.
 */
import { createLog, type Progress } from "@kcp-ts/controlplane";
import { systemClock } from "@kcp-ts/machinery/base";

export interface OutputFlags {
  readonly output?: "json";
}

/** Messages go to stderr, data to stdout. */
export function report({ output }: OutputFlags, result: object, text: string): void {
  if (output === "json") process.stdout.write(`${JSON.stringify(result)}\n`);
  else process.stderr.write(`${text}\n`);
}

export function progressLine(verb: string) {
  const isTerminal = process.stderr.isTTY === true;
  let shownAt = Number.NEGATIVE_INFINITY;
  return {
    show: ({ entries, bytes }: Progress) => {
      const now = systemClock.monotonic();
      if (!isTerminal || now - shownAt < showEveryMs) return;
      shownAt = now;
      const size = bytes === 0 ? "" : `, ${(bytes / 1e6).toFixed(1)} MB`;
      process.stderr.write(`\r${verb} ${entries} objects${size}\u001b[K`);
    },
    end: () => {
      if (shownAt > 0) process.stderr.write("\r\u001b[K");
    },
  };
}

const showEveryMs = 100;

export function silentLog() {
  const format = process.stderr.isTTY === true ? "pretty" : "json";
  return createLog({ format, verbosity: 0 });
}
