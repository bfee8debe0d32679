/** Structured logs: JSON lines for machines, readable lines on a terminal. */
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
  const least = levels.indexOf(verbosity >= 4 ? "debug" : verbosity >= 1 ? "info" : "warn");
  const sink = format === "json" ? write : (line: string) => write(pretty(line));
  const logAt = (level: string) => (fields: object, msg: string) => {
    if (levels.indexOf(level) < least) return;
    const time = new Date().toISOString();
    sink(`${JSON.stringify({ level, time, ...fields, msg }, shown)}\n`);
  };
  return {
    debug: logAt("debug"),
    info: logAt("info"),
    warn: logAt("warn"),
    error: logAt("error"),
    isDebugEnabled: least === 0,
  };
}

const levels = ["debug", "info", "warn", "error"];

/** Errors have no enumerable members of their own, and JSON has no bigints. */
function shown(_name: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  return value instanceof Error ? shownError(value) : value;
}

/** Messages and stacks of an error and its causes. */
function shownError(error: Error): object {
  const chain: Error[] = [];
  for (let next: unknown = error; next instanceof Error; next = next.cause) {
    // A circle of causes ends somewhere.
    if (chain.push(next) === causesMax) break;
  }
  const code = (error as { code?: unknown }).code;
  return {
    type: error.name,
    ...(typeof code === "string" || typeof code === "number" ? { code } : {}),
    message: chain.map(({ message }) => message).join(": "),
    stack: chain.map(({ stack, message }) => stack ?? message).join("\ncaused by: "),
  };
}

const causesMax = 10;

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
