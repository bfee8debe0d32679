/**
 * Copies of volumes for other clusters: made by a hook or by a snapshot, while no Pod of their
 * workloads runs. Pure.
 *
 * A copy must not stand for data that is newer than the copy. So every stop gets a new request,
 * with an id of its own, and only a copy with that id counts; a volume that remains of an earlier
 * copy is deleted before another copy is requested; and the data stays in the source cluster until
 * the destination reports the copy as bound.
 */
import { createHash } from "node:crypto";
import type { VolumeClaim, VolumeRefusal, VolumesInput } from "./decide-volumes.ts";

/** The copier of a claim's volume. */
export type VolumeCopier =
  | { readonly by: "hook"; readonly name: string }
  | { readonly by: "snapshot" };

/** A requested copy of the volume's content, valid until the request ends. */
export interface VolumeCopyRequest {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly sinceMs: number;
  /** The copy failed, and is not retried before a user changes the request. */
  readonly failure?: VolumeRefusal;
}

/** The source and the destination of a group's claims. */
export interface ClaimMigration {
  readonly source: string;
  readonly destination: string;
}

/** The request for this very move. */
export function copyRequestFor(
  { copier, request }: VolumeClaim,
  { source, destination }: ClaimMigration,
): VolumeCopyRequest | undefined {
  if (copier === undefined || request === undefined) return undefined;
  return request.from === source && request.to === destination ? request : undefined;
}

/** The copy for this very move. */
export function copyFor(claim: VolumeClaim, claimMigration: ClaimMigration): string | undefined {
  const request = copyRequestFor(claim, claimMigration);
  return request === undefined || request.failure !== undefined ? undefined : claim.copied;
}

/**
 * Equal for every retry with the same storage. PersistentVolumes of a cluster have no namespaces to
 * separate them.
 */
export function migratedVolumeName(
  { uid, volumes }: VolumeClaim,
  { source, destination }: ClaimMigration,
): string | undefined {
  const storage = volumes.get(source)?.storage;
  if (storage === undefined) return undefined;
  const digest = createHash("sha256").update(`${uid} ${destination} ${storage}`).digest("hex");
  return `kcp-${digest.slice(0, 20)}`;
}

/** Whether the cluster has, or may have, the claim with other data than the expected one. */
export function isOutdated(claim: VolumeClaim, claimMigration: ClaimMigration): boolean {
  const { heldIn, migratedTo, volumes, copier } = claim;
  const { source, destination } = claimMigration;
  if (destination === source || !heldIn.has(destination)) return false;
  const expected =
    copier === undefined
      ? migratedVolumeName(claim, claimMigration)
      : copyFor(claim, claimMigration);
  if (expected !== undefined && migratedTo.get(destination) === expected) return false;
  if (copier !== undefined) return true;
  const there = volumes.get(destination)?.storage;
  return there === undefined || there !== volumes.get(source)?.storage;
}

export function isBoundAtDestination(claim: VolumeClaim, claimMigration: ClaimMigration): boolean {
  const { destination } = claimMigration;
  const copy = copyFor(claim, claimMigration);
  const isBrought = copy !== undefined && claim.migratedTo.get(destination) === copy;
  return isBrought && claim.boundIn.has(destination);
}

/** A snapshot that does not finish is given up after a timeout, because no Pod runs meanwhile. */
export function overdue(
  claim: VolumeClaim,
  claimMigration: ClaimMigration,
  { nowMs = 0, copyTimeoutMs = Number.POSITIVE_INFINITY }: VolumesInput,
): VolumeRefusal | undefined {
  const request = copyRequestFor(claim, claimMigration);
  if (request === undefined || claim.copier?.by !== "snapshot") return undefined;
  if (nowMs - request.sinceMs < copyTimeoutMs) return undefined;
  const { destination } = claimMigration;
  const what = claim.progress?.message ?? `it is not bound in ${destination}`;
  const message = `the copy of claim ${claim.name} for ${destination} was given up: ${what}; to try again, remove the annotation workload.kcp.io/volume-copy-request from it`;
  return { reason: "SnapshotFailed", message };
}
