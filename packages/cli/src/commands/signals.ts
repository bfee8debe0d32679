/** How a command learns that it is to end. */
import { once } from "node:events";

const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Aborts at the first signal, so that the command ends in good order. To be asked for before the command says anything:
 * whoever reads its word that it is ready may signal on the heels of it.
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
