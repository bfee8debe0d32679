/** The fields that an apply may not change because other managers own them. */
import { isStatusError } from "@kcp-ts/machinery/status";

export interface FieldConflict {
  /** As in `.spec.replicas`. */
  readonly field: string;
  /** The server's sentence, which names the other manager. */
  readonly message: string;
}

/** Undefined for every other error. */
export function fieldConflicts(error: unknown): readonly FieldConflict[] | undefined {
  if (!isStatusError(error, "Conflict")) return undefined;
  const causes = error.status.details?.causes ?? [];
  const conflicts = causes
    .filter(({ reason }) => reason === "FieldManagerConflict")
    .map(({ field = "", message = "" }) => ({ field, message }));
  return conflicts.length === 0 ? undefined : conflicts;
}
