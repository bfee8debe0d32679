/** Reads the state of claims and their workloads from the objects of a namespace. Pure. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { stringMember } from "@kcp-ts/sdk";
import {
  assignedCluster,
  assignedTargets,
  attachedInClusterAnnotation,
  dependenciesOn,
  diffHash,
  jsonObjectOf,
  ownedByLabel,
  specDiffAnnotation,
  specDiffAnnotationPrefix,
  stateLabel,
  stateUpsync,
  statusAnnotation,
  stoppedForVolumes,
  syncerFinalizer,
  syncerFinalizerPrefix,
  volumeClusterAnnotation,
  volumeCopierAnnotation,
  volumeCopyRequestAnnotation,
  volumeCopyResultAnnotation,
  volumeGateAnnotation,
  volumeMigrationAnnotation,
  volumesAnnotation,
  type WorkloadPlacementStatus,
} from "../api/index.ts";
import { appliedDiffAnnotation, claimNamesOf } from "../syncer/index.ts";
import { type ClaimState, claimStates } from "./claim-machine.ts";
import type { Volume, VolumeClaim, VolumeUser } from "./decide-volumes.ts";
import {
  annotationCharactersMax,
  type ClaimUserKind,
  objectAt,
  type StoredObject,
  textAt,
  textsAt,
} from "./objects.ts";
import { type FoundSnapshots, snapshotSource, snapshotStep } from "./snapshot-steps.ts";
import type { VolumeCopier, VolumeCopyRequest } from "./volume-copies.ts";

/** An upsynced volume: its cluster, and its storage. */
export interface KnownVolume extends Volume {
  readonly cluster: string;
  readonly spec: JsonObject;
  /** The claim that is bound to the volume in the cluster, by its downstream names. */
  readonly claim: { readonly namespace: string; readonly name: string };
}

export interface ClaimCluster {
  readonly name: string;
  /** The name of the namespace in a cluster; undefined for an unregistered cluster. */
  readonly namespaceIn: (cluster: string) => string | undefined;
}

/** The spec diff of the claim for one cluster: a volume, or a snapshot as its data source. */
export function migratedVolumeDiff({
  name,
  copier,
}: {
  readonly name: string;
  readonly copier: VolumeCopier | undefined;
}): string {
  const isSnapshot = copier?.by === "snapshot";
  const [path, value] = isSnapshot ? ["/dataSource", snapshotSource(name)] : ["/volumeName", name];
  return JSON.stringify([{ op: "add", path, value }]);
}

/** Undefined for a spec diff of a user. */
function migratedVolumeIn(diff: string): string | undefined {
  const volume = /"\/volumeName","value":"([^"]+)"/.exec(diff)?.[1];
  return volume ?? /"\/dataSource","value":\{[^}]*"name":"([^"]+)"\}/.exec(diff)?.[1];
}

/** Volume sources that are local to a node or a cluster. */
const localSources = ["hostPath", "local", "emptyDir"];
const sharedModes: ReadonlySet<string> = new Set(["ReadWriteMany", "ReadOnlyMany"]);

/** `typePathOf` returns the name of the SyncTarget in the claim's logical cluster. */
export function volumeOf(
  { metadata, spec = {} }: StoredObject,
  nameOf: (target: string) => string,
): KnownVolume | undefined {
  const { labels, annotations } = metadata;
  const born = [...Object.keys(labels ?? {})]
    .filter((label) => stringMember(labels, label) === stateUpsync)
    .map((label) => label.slice(stateLabel("").length))[0];
  const cluster = born ?? assignedCluster(labels);
  if (cluster === undefined) return undefined;
  const suffix = `--${cluster}`;
  const name =
    born !== undefined && metadata.name.endsWith(suffix)
      ? metadata.name.slice(0, -suffix.length)
      : metadata.name;
  const held = stringMember(annotations, attachedInClusterAnnotation) ?? "";
  const reference = objectAt(spec, "claimRef");
  return {
    cluster: nameOf(cluster),
    name,
    spec,
    isRetained: textAt(spec, "persistentVolumeReclaimPolicy") === "Retain",
    isPortable: !localSources.some((source) => spec[source] !== undefined),
    isAttached: held.split(",").some((holder) => holder.startsWith("external-attacher/")),
    storage: storageIn(spec, name),
    driver: textAt(objectAt(spec, "csi"), "driver") || undefined,
    claim: { namespace: textAt(reference, "namespace"), name: textAt(reference, "name") },
  };
}

/** The fields of a volume's spec that do not identify its storage. */
const aboutVolumes: ReadonlySet<string> = new Set([
  ...["accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "volumeMode"],
  ...["persistentVolumeReclaimPolicy", "storageClassName", "volumeAttributesClassName"],
]);

function storageIn(spec: JsonObject, name: string): string {
  const { driver, volumeHandle } = objectAt(spec, "csi");
  if (driver !== undefined) return JSON.stringify([driver, volumeHandle ?? null]);
  const sources = Object.entries(spec).filter(([member]) => !aboutVolumes.has(member));
  return sources.length === 0 ? name : JSON.stringify(sources);
}

export function volumeClaimOf(
  object: StoredObject,
  volumes: readonly KnownVolume[],
  { name, namespaceIn }: ClaimCluster,
  found?: FoundSnapshots,
): VolumeClaim {
  const { metadata, spec } = object;
  const { annotations, labels } = metadata;
  const modes = textsAt(spec, "accessModes");
  const assigned = assignedTargets(labels);
  const boundIn = new Set([...assigned].filter((cluster) => isBoundIn(object, cluster, assigned)));
  const migratedTo = new Map<string, string>();
  for (const [key, text] of Object.entries(annotations ?? {})) {
    if (!key.startsWith(specDiffAnnotationPrefix)) continue;
    const volume = migratedVolumeIn(text);
    if (volume !== undefined) migratedTo.set(key.slice(specDiffAnnotationPrefix.length), volume);
  }
  const own = new Map<string, KnownVolume>();
  for (const volume of volumes) {
    const { cluster, claim } = volume;
    const isBorn =
      claim.name === name && claim.namespace !== "" && claim.namespace === namespaceIn(cluster);
    if (isBorn || migratedTo.get(cluster) === volume.name) own.set(cluster, volume);
  }
  const home = stringMember(annotations, volumeClusterAnnotation);
  const held = heldTargets(object, new Set([...assigned, ...migratedTo.keys()]));
  return {
    name,
    uid: metadata.uid ?? "",
    version: metadata.resourceVersion ?? "",
    isShared: modes.length > 0 && modes.every((mode) => sharedModes.has(mode)),
    dataCluster: home === "" ? undefined : home,
    mayDetach: stringMember(annotations, volumeMigrationAnnotation) === "detach",
    storageClass: storageClassOf(object),
    ...copyOf(object, found),
    states: statesIn(stringMember(annotations, volumesAnnotation)),
    assigned,
    boundIn,
    heldIn: held,
    migratedTo,
    volumes: own,
  };
}

function isBoundIn(
  { metadata, status }: StoredObject,
  cluster: string,
  assigned: ReadonlySet<string>,
): boolean {
  const said =
    assigned.size > 1
      ? jsonObjectOf(
          stringMember(metadata.annotations, statusAnnotation(cluster)),
          annotationCharactersMax,
        )
      : status;
  return textAt(said, "phase") === "Bound";
}

/** The clusters in which the claim is, may be, or may be at any moment. */
function heldTargets(
  { metadata: { annotations, finalizers = [] } }: StoredObject,
  targets: ReadonlySet<string>,
): ReadonlySet<string> {
  const isOpened = (target: string) =>
    stringMember(annotations, volumeGateAnnotation(target)) !== undefined;
  return new Set(
    [...targets, ...finalizers.flatMap((one) => targetIn(one) ?? [])].filter(
      (target) => isOpened(target) || finalizers.includes(syncerFinalizer(target)),
    ),
  );
}

function targetIn(finalizer: string): string | undefined {
  return finalizer.startsWith(syncerFinalizerPrefix)
    ? finalizer.slice(syncerFinalizerPrefix.length)
    : undefined;
}

/** Undefined: the default class of the cluster. */
function storageClassOf({ metadata, spec }: StoredObject): string | undefined {
  const { storageClassName } = spec ?? {};
  if (typeof storageClassName === "string") return storageClassName;
  return stringMember(metadata.annotations, "volume.beta.kubernetes.io/storage-class");
}

type CopyFacts = Pick<VolumeClaim, "copier" | "request" | "copied" | "progress">;

function copyOf(object: StoredObject, found: FoundSnapshots | undefined): CopyFacts {
  const { annotations } = object.metadata;
  const hook = stringMember(annotations, volumeCopierAnnotation) ?? "";
  const wantsSnapshot = stringMember(annotations, volumeMigrationAnnotation) === "snapshot";
  const copier: VolumeCopier | undefined =
    hook !== "" ? { by: "hook", name: hook } : wantsSnapshot ? { by: "snapshot" } : undefined;
  const request = requestIn(stringMember(annotations, volumeCopyRequestAnnotation), copier);
  const none = { copier, request, copied: undefined };
  if (request === undefined) return none;
  if (copier?.by === "hook") return { ...none, ...answerTo(request, annotations) };
  if (found === undefined) return none;
  const step = snapshotStep(request, object, found);
  return step.to === "bind"
    ? { ...none, copied: step.snapshot }
    : { ...none, progress: step.progress };
}

/** Undefined also for a request to another copier. */
function requestIn(
  text: string | undefined,
  copier: VolumeCopier | undefined,
): VolumeCopyRequest | undefined {
  const value = jsonObjectOf(text, annotationCharactersMax);
  const [id, from, to] = ["id", "from", "to"].map((name) => textAt(value, name));
  if (copier === undefined || textAt(value, "hook") !== hookOf(copier)) return undefined;
  if (!id || !from || !to) return undefined;
  const [reason, message] = [textAt(value, "reason"), textAt(value, "message")];
  const failure = reason === "" ? {} : { failure: { reason, message } };
  return { id, from, to, sinceMs: Date.parse(textAt(value, "since")) || 0, ...failure };
}

/** The request as it is stored on the claim. */
export function requestText(
  { id, from, to, sinceMs, failure }: VolumeCopyRequest,
  copier: VolumeCopier,
): string {
  const since = new Date(sinceMs).toISOString();
  const hook = hookOf(copier);
  return JSON.stringify({ ...(hook === "" ? {} : { hook }), id, from, to, since, ...failure });
}

/** Empty for a snapshot, which needs no hook. */
function hookOf(copier: VolumeCopier): string {
  return copier.by === "hook" ? copier.name : "";
}

/** A copy for another request may have old data. */
function answerTo(
  { id, to }: VolumeCopyRequest,
  annotations: StoredObject["metadata"]["annotations"],
): Pick<VolumeClaim, "copied" | "progress"> {
  const text = stringMember(annotations, volumeCopyResultAnnotation);
  const value = jsonObjectOf(text, annotationCharactersMax);
  const volume = textAt(value, "volume");
  const isAnswer = textAt(value, "id") === id && textAt(value, "to") === to && volume !== "";
  if (isAnswer) return { copied: volume };
  if (text === undefined) return { copied: undefined };
  const message = `${volumeCopyResultAnnotation} does not answer the request ${id} for ${to}`;
  return { copied: undefined, progress: { reason: "CopyInProgress", message } };
}

function statesIn(text: string | undefined): ReadonlyMap<string, ClaimState> {
  const states = new Map<string, ClaimState>();
  for (const [cluster, place] of Object.entries(
    jsonObjectOf(text, annotationCharactersMax) ?? {},
  )) {
    const state = textAt(place as JsonObject, "state");
    const known = claimStates.find((one) => one === state);
    if (known !== undefined) states.set(cluster, known);
  }
  return states;
}

/** The claims that a workload uses by name. */
export function claimsUsedBy(
  { metadata, spec = {} }: StoredObject,
  kind: ClaimUserKind,
): ReadonlySet<string> {
  const found = dependenciesOn(metadata.annotations, "persistentvolumeclaims");
  return new Set([...claimNamesOf({ spec }, kind.resource), ...found]);
}

/** Undefined for an object that is not a per-cluster object, and for a completed one. */
export function volumeUserOf(
  object: StoredObject,
  kind: ClaimUserKind,
  whole: string,
  record: WorkloadPlacementStatus | undefined,
): VolumeUser | undefined {
  const { metadata } = object;
  const { labels } = metadata;
  const cluster = assignedCluster(labels);
  if (cluster === undefined || stringMember(labels, ownedByLabel) === undefined) return undefined;
  if (kind.hasEnded(object)) return undefined;
  return {
    workload: `${kind.resource.kind} ${whole}`,
    cluster,
    replicas: kind.replicasOf(object),
    isDeleting: metadata.deletionTimestamp !== undefined,
    migrationSource: record?.clusters?.find((one) => one.name === cluster)?.migrationSource,
    hasStarted: kind.hasStarted(object),
    ...stoppingOf(object, kind, cluster),
  };
}

type Stopping = Pick<VolumeUser, "isStopped" | "isVolumeGateOpen" | "isFenced" | "endsByItself">;

function stoppingOf(object: StoredObject, kind: ClaimUserKind, cluster: string): Stopping {
  const { annotations, finalizers = [] } = object.metadata;
  const mark = stringMember(annotations, volumeGateAnnotation(cluster));
  const stop = kind.stopOf(object);
  if (stop.by === "diff") {
    const isFenced = stringMember(annotations, specDiffAnnotation(cluster)) === stop.diff;
    const isTold =
      isFenced && stringMember(annotations, appliedDiffAnnotation(cluster)) === diffHash(stop.diff);
    const isStopped = isTold && kind.runningOf(object) === 0;
    return { isStopped, isVolumeGateOpen: mark !== undefined, isFenced };
  }
  const isVolumeGateOpen = mark !== undefined;
  if (stop.by === "end")
    return { isStopped: !isVolumeGateOpen, isVolumeGateOpen, isFenced: false, endsByItself: true };
  // An object without the syncer's finalizer is not in the cluster; the syncer does not add the
  // finalizer while the object is stopped.
  const isFenced = mark === stoppedForVolumes;
  const isStopped = isFenced && !finalizers.includes(syncerFinalizer(cluster));
  return { isStopped, isVolumeGateOpen: isVolumeGateOpen && !isStopped, isFenced };
}
