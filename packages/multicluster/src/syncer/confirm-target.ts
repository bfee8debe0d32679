/** Confirms that the control plane still has the SyncTarget, before anything is deleted. */
import type { Client } from "@kcp-ts/sdk";
import { syncTargets } from "../api/index.ts";
import type { SyncContext } from "./context.ts";
import { SyncError } from "./sync-error.ts";

/** How long a confirmation is valid. */
const confirmedForMs = 5000;

/**
 * A control plane that has lost its data has lost the SyncTarget, too: that objects are missing
 * there does not mean that they were deleted. Without `syncTargetClient`, no confirmation is
 * possible, and the live read of each object decides.
 */
export function targetConfirmation(options: {
  readonly home: Client | undefined;
  readonly target: SyncContext["target"];
  readonly clock: SyncContext["clock"];
  readonly signal: AbortSignal;
}): () => Promise<void> {
  const { home, target, clock, signal } = options;
  let confirmedAtMs = Number.NEGATIVE_INFINITY;
  return async () => {
    if (home === undefined || clock.monotonic() - confirmedAtMs < confirmedForMs) return;
    const { name, uid } = target;
    const found = await home.resource(syncTargets).find({ name }, { signal });
    if (found?.metadata.uid !== uid) {
      const message = `SyncTarget ${name} with uid ${uid} is not there: nothing is deleted in its cluster`;
      throw new SyncError("Failed", message, { scope: "connection" });
    }
    confirmedAtMs = clock.monotonic();
  };
}
