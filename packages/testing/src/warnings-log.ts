import type { ServerLog } from "@kcp-ts/apiserver";
import { createLog } from "@kcp-ts/controlplane";

let shared: ServerLog | undefined;

/** One for all test servers of a process: what needs attention is read even when nobody asked for a log. */
export function warningsToStderr(): ServerLog {
  shared ??= createLog({ format: "pretty", verbosity: 0 });
  return shared;
}
