/** The signals that stop a command. */
import { once } from "node:events";

const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Aborts at the first signal, so that the command shuts down gracefully. Call it before the command
 * prints anything: a script that reads "ready" may send a signal immediately after it.
 */
export function abortOnSignal(): AbortSignal {
  const controller = new AbortController();
  const stop = () => controller.abort(new Error("interrupted"));
  for (const name of names) process.once(name, stop);
  return controller.signal;
}

export async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
