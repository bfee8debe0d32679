/** Structured logs: JSON lines for machines, readable lines on a terminal. */
import { pino } from "pino";
import type { ServerLog } from "./server-log.ts";

export type LogFormat = "json" | "pretty";

export interface LogOptions {
  readonly format: LogFormat;
  /** Kubernetes' -v: 0 only warnings and errors, 2 important events, 4 and more every request. */
  readonly verbosity: number;
  readonly write?: (line: string) => void;
}

export function createLog({
  format,
  verbosity,
  write = (line) => process.stderr.write(line),
}: LogOptions): ServerLog {
  const level = verbosity >= 4 ? "debug" : verbosity >= 1 ? "info" : "warn";
  const sink = format === "json" ? write : (line: string) => write(pretty(line));
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: sink },
  );
}

const levelMarks = new Map([
  ["debug", "·"],
  ["info", "•"],
  ["warn", "!"],
  ["error", "✗"],
]);

function pretty(line: string): string {
  const { level, time, msg, err, ...fields } = JSON.parse(line) as Record<string, unknown> & {
    level: string;
    time: string;
    msg: string;
    err?: { message?: string; stack?: string };
  };
  const shown = Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  const cause = err === undefined ? [] : [`error=${JSON.stringify(err.message ?? "")}`];
  const text = [levelMarks.get(level) ?? level, time.slice(11, 19), msg, ...shown, ...cause].join(
    " ",
  );
  return err?.stack !== undefined && level === "error" ? `${text}\n${err.stack}\n` : `${text}\n`;
}
