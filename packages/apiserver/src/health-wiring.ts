/** Wiring of the checks that /livez and /readyz run. */
import { type HealthChecks, pingCheck } from "./health/index.ts";
import type { ServerLog } from "./server-log.ts";
import type { Storage } from "./storage/index.ts";
import type { SupervisedLoops } from "./supervised-loops.ts";

export interface HealthSources {
  readonly storage: Storage;
  readonly log: ServerLog;
  readonly loops: SupervisedLoops;
  readonly isStarted: () => boolean;
  readonly isDraining: () => boolean;
}

export function healthChecks(sources: HealthSources): HealthChecks {
  const { storage, log, loops, isStarted, isDraining } = sources;
  const storageCheck = namedCheck("etcd", () => {
    const fault = storage.health();
    if (fault !== undefined) log.warn({ fault: fault.message }, "the store is not healthy");
    return fault?.message;
  });
  const started = namedCheck("informer-sync", () => (isStarted() ? undefined : "not started yet"));
  const shutdown = namedCheck("shutdown", () =>
    isDraining() ? "the server is stopping" : undefined,
  );
  const logCheck = namedCheck("log", () => undefined);
  const alive = [pingCheck, logCheck];
  return {
    livez: alive,
    get readyz() {
      return [...alive, storageCheck, started, shutdown, ...loops.checks];
    },
  };
}

const namedCheck = (name: string, check: () => string | undefined) => ({ name, check });
