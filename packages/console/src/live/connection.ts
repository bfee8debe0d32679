/** The health of all watches of the page, in one word; and the time, for ages. */

import { systemClock } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import type { InformerHealth } from "@kcp-ts/sdk/informer";
import { type Signal, signal } from "@preact/signals";

export type Connection = "live" | "connecting" | "lost";

export interface LiveSource {
  readonly health: InformerHealth;
  run(signal: AbortSignal): Promise<void>;
}

export const connection: Signal<Connection> = signal("connecting");
/** Changes every second. */
export const now: Signal<number> = signal(systemClock.now());

const sources = new Set<LiveSource>();

export function addSource(source: LiveSource): () => void {
  sources.add(source);
  return () => {
    sources.delete(source);
  };
}

/** The server is there, and says no: the page says so at its place. */
function isRefused({ isWatching, lastError }: InformerHealth): boolean {
  return !isWatching && isStatusError(lastError, "Forbidden");
}

function connectionOf(): Connection {
  const healths = [...sources].map(({ health }) => health).filter((one) => !isRefused(one));
  if (healths.some((one) => !one.isWatching && one.consecutiveFailures > 0)) return "lost";
  return healths.every((one) => one.isWatching) ? "live" : "connecting";
}

function tick(): void {
  now.value = systemClock.now();
  connection.value = connectionOf();
  systemClock.schedule(1000, tick);
}
tick();
