/**
 * The progress of a copy by snapshot, from the existing objects, and its next step. Pure; every
 * step finds its objects again by their names, whatever happened in between.
 *
 *     east: VolumeSnapshot of the claim ── taken ──► handle
 *     west: VolumeSnapshotContent with the handle, and its VolumeSnapshot
 *           ── ready ──► the claim gets it as its data source
 */
import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { stringMember } from "@kcp-ts/sdk";
import { snapshotOfLabel, snapshotRequestAnnotation, stateLabel, stateSync } from "../api/index.ts";
import type { VolumeRefusal } from "./decide-volumes.ts";
import { objectAt, type StoredObject, textAt } from "./objects.ts";
import type { SnapshotTransfer } from "./snapshot-transfer.ts";
import type { VolumeCopyRequest } from "./volume-copies.ts";

/** The existing objects of a claim's copy. */
export interface FoundSnapshots {
  /** VolumeSnapshots of the claim's copies, in its namespace. */
  readonly snapshots: readonly StoredObject[];
  /** VolumeSnapshotContents of the claim's copies. */
  readonly contents: readonly StoredObject[];
  /** Upsynced contents, by cluster and the name there. */
  readonly contentIn: (cluster: string, name: string) => StoredObject | undefined;
}

export type SnapshotStep =
  | { readonly to: "take"; readonly progress: VolumeRefusal }
  | { readonly to: "wait"; readonly progress: VolumeRefusal }
  | { readonly to: "offer"; readonly handle: string; readonly progress: VolumeRefusal }
  | { readonly to: "bind"; readonly snapshot: string };

export function snapshotStep(
  request: VolumeCopyRequest,
  { metadata: { uid = "" } }: StoredObject,
  found: FoundSnapshots,
): SnapshotStep {
  const { from, to } = request;
  const named = (name: string) => found.snapshots.find(({ metadata }) => metadata.name === name);
  const taken = named(snapshotName(uid, request, from));
  if (taken === undefined) return { to: "take", progress: told(`it is to be taken in ${from}`) };
  if (!isReady(taken)) return { to: "wait", progress: progressOf(taken, from) };
  const content = found.contentIn(from, textAt(taken.status, "boundVolumeSnapshotContentName"));
  const handle = textAt(content?.status, "snapshotHandle");
  if (handle === "")
    return {
      to: "wait",
      progress: told(`it is taken in ${from}, and its handle is not known yet`),
    };
  const name = snapshotName(uid, request, to);
  const offered = named(name);
  const isOffered = found.contents.some(({ metadata }) => metadata.name === name);
  if (offered === undefined || !isOffered)
    return { to: "offer", handle, progress: told(`it is taken in ${from}`) };
  if (!isReady(offered)) return { to: "wait", progress: progressOf(offered, to) };
  return { to: "bind", snapshot: name };
}

function isReady({ status }: StoredObject): boolean {
  return status?.["readyToUse"] === true;
}

function told(message: string): VolumeRefusal {
  return { reason: "Snapshot", message: `the snapshot: ${message}` };
}

function progressOf({ metadata: { name }, status }: StoredObject, cluster: string): VolumeRefusal {
  const error = textAt(objectAt(status, "error"), "message");
  if (error === "") return told(`${name} is not ready in ${cluster} yet`);
  return { reason: "SnapshotError", message: `snapshot ${name} in ${cluster}: ${error}` };
}

/** Equal for every retry of the same request. */
export function snapshotName(
  uid: string,
  { id }: Pick<VolumeCopyRequest, "id">,
  cluster: string,
): string {
  const digest = createHash("sha256").update(`${uid} ${id} ${cluster}`).digest("hex");
  return `kcp-${digest.slice(0, 20)}`;
}

type Made = Pick<StoredObject, "metadata" | "spec">;

/** The metadata of a snapshot, which is deleted with the claim. */
function aboutSnapshot(claim: StoredObject, request: VolumeCopyRequest, cluster: string): Made {
  const { namespace, name, uid = "" } = claim.metadata;
  const owner = { apiVersion: "v1", kind: "PersistentVolumeClaim", name, uid };
  return {
    metadata: {
      name: snapshotName(uid, request, cluster),
      ...(namespace === undefined ? {} : { namespace }),
      labels: { [stateLabel(cluster)]: stateSync, [snapshotOfLabel]: uid },
      annotations: { [snapshotRequestAnnotation]: request.id },
      ownerReferences: [owner],
    },
  };
}

export function newSourceSnapshot(
  claim: StoredObject,
  request: VolumeCopyRequest,
  way: SnapshotTransfer,
): Made {
  const { name } = claim.metadata;
  const source = { persistentVolumeClaimName: name };
  const spec = { volumeSnapshotClassName: way.from.name, source };
  return { ...aboutSnapshot(claim, request, request.from), spec };
}

export function newDestinationSnapshot(
  claim: StoredObject,
  request: VolumeCopyRequest,
  way: SnapshotTransfer,
): Made {
  const about = aboutSnapshot(claim, request, request.to);
  const source = { volumeSnapshotContentName: about.metadata.name };
  return { ...about, spec: { volumeSnapshotClassName: way.to.name, source } };
}

/**
 * The content in the logical cluster of the SyncTarget. The object may be deleted, and the snapshot
 * in the storage stays.
 */
export function newDestinationContent(
  claim: StoredObject,
  request: VolumeCopyRequest,
  way: SnapshotTransfer,
  there: { readonly handle: string; readonly namespace: string; readonly labels: JsonObject },
): Made {
  const { uid = "" } = claim.metadata;
  const name = snapshotName(uid, request, request.to);
  const labels = { ...there.labels, [snapshotOfLabel]: uid } as Record<string, string>;
  const volumeMode = claim.spec?.["volumeMode"];
  return {
    metadata: { name, labels, annotations: { [snapshotRequestAnnotation]: request.id } },
    spec: {
      driver: way.driver,
      deletionPolicy: "Retain",
      volumeSnapshotClassName: way.to.name,
      source: { snapshotHandle: there.handle },
      volumeSnapshotRef: { namespace: there.namespace, name },
      ...(typeof volumeMode === "string" ? { sourceVolumeMode: volumeMode } : {}),
    },
  };
}

/** The snapshots of other requests, or all if no request is valid. */
export function obsoleteSnapshots(
  objects: readonly StoredObject[],
  request: VolumeCopyRequest | undefined,
): readonly StoredObject[] {
  const current = request?.failure === undefined ? request?.id : undefined;
  return objects.filter(
    ({ metadata }) =>
      metadata.deletionTimestamp === undefined &&
      stringMember(metadata.annotations, snapshotRequestAnnotation) !== current,
  );
}

/** The data source of a claim in the destination cluster. */
export function snapshotSource(snapshot: string): JsonValue {
  return { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: snapshot };
}
