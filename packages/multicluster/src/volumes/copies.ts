/**
 * Copies of volumes for other clusters: made by a hook or by a snapshot, while nothing of their workloads runs. Pure.
 *
 * What a copy must not do is stand for data that is newer than it. So a copy is asked for anew for every stop, under an id of its own, and only what was made for that
 * id counts; what a cluster has left of an earlier one goes before another is asked for; and the data stays where it is until the cluster says that the copy is bound.
 */
import { createHash } from "node:crypto";
import type { VolumeClaim, VolumeRefusal, VolumesInput } from "./decide-volumes.ts";

/** Who makes copies of a claim's volume. */
export type VolumeCopier =
  | { readonly by: "hook"; readonly name: string }
  | { readonly by: "snapshot" };

/** A copy that is to be made, of what the volume holds from then on until nobody asks any more. */
export interface VolumeCopyRequest {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly sinceMs: number;
  /** It was given up, and is not tried again before somebody says so. */
  readonly failure?: VolumeRefusal;
}

/** From where, and to where, the claims of a group are to go. */
export interface ClaimMigration {
  readonly home: string;
  readonly destination: string;
}

/** What was asked for this very journey. */
export function copyRequestFor(
  { copier, request }: VolumeClaim,
  { home, destination }: ClaimMigration,
): VolumeCopyRequest | undefined {
  if (copier === undefined || request === undefined) return undefined;
  return request.from === home && request.to === destination ? request : undefined;
}

/** What was made for this very journey. */
export function copyFor(claim: VolumeClaim, journey: ClaimMigration): string | undefined {
  const request = copyRequestFor(claim, journey);
  return request === undefined || request.failure !== undefined ? undefined : claim.copied;
}

/** The same for every try with the same storage. PersistentVolumes of a cluster have no namespaces to keep them apart. */
export function migratedVolumeName(
  { uid, volumes }: VolumeClaim,
  { home, destination }: ClaimMigration,
): string | undefined {
  const storage = volumes.get(home)?.storage;
  if (storage === undefined) return undefined;
  const digest = createHash("sha256").update(`${uid} ${destination} ${storage}`).digest("hex");
  return `kcp-${digest.slice(0, 20)}`;
}

/** Whether the cluster has, or may have, the claim with other data than is to come. */
export function isOutdated(claim: VolumeClaim, journey: ClaimMigration): boolean {
  const { heldIn, broughtTo, volumes, copier } = claim;
  const { home, destination } = journey;
  if (destination === home || !heldIn.has(destination)) return false;
  const expected =
    copier === undefined ? migratedVolumeName(claim, journey) : copyFor(claim, journey);
  if (expected !== undefined && broughtTo.get(destination) === expected) return false;
  if (copier !== undefined) return true;
  const there = volumes.get(destination)?.storage;
  return there === undefined || there !== volumes.get(home)?.storage;
}

export function isBoundAtDestination(claim: VolumeClaim, journey: ClaimMigration): boolean {
  const { destination } = journey;
  const copy = copyFor(claim, journey);
  const isBrought = copy !== undefined && claim.broughtTo.get(destination) === copy;
  return isBrought && claim.boundIn.has(destination);
}

/** Who takes snapshots says when he has done so; one that does not come is not waited for without end, because nothing runs meanwhile. */
export function overdue(
  claim: VolumeClaim,
  journey: ClaimMigration,
  { nowMs = 0, copyPatienceMs = Number.POSITIVE_INFINITY }: VolumesInput,
): VolumeRefusal | undefined {
  const request = copyRequestFor(claim, journey);
  if (request === undefined || claim.copier?.by !== "snapshot") return undefined;
  if (nowMs - request.sinceMs < copyPatienceMs) return undefined;
  const { destination } = journey;
  const what = claim.progress?.message ?? `it is not bound in ${destination}`;
  const message = `the copy of claim ${claim.name} for ${destination} was given up: ${what}; to try again, remove the annotation workloads.kcp.io/volume-copy from it`;
  return { reason: "SnapshotFailed", message };
}
