import type { ServerLog } from "@kcp-ts/apiserver";
import { createLog } from "@kcp-ts/controlplane";

let shared: ServerLog | undefined;

/**
 * One log for all test servers of a process: warnings are printed even when the test requested no
 * log.
 */
export function warningsToStderr(): ServerLog {
  shared ??= createLog({ format: "pretty", verbosity: 0 });
  return shared;
}
