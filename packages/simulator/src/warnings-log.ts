/** The default log: warnings and errors go to stderr. */
import type { ServerLog } from "@kcp-ts/apiserver";

export function warningsToStderr(): ServerLog {
  const print = (level: string) => (fields: object, message: string) => {
    const { err } = fields as { err?: unknown };
    const why = err instanceof Error ? `: ${err.message}` : "";
    process.stderr.write(`simulator ${level}: ${message}${why}\n`);
  };
  return {
    debug: () => {},
    info: () => {},
    warn: print("warning"),
    error: print("error"),
    isDebugEnabled: false,
  };
}
