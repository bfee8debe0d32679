/** What the objects of a namespace say about claims and the workloads that use them. Pure. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { stringMember } from "@kcp-ts/sdk";
import {
  assignedCluster,
  assignedTargets,
  attachedInClusterAnnotation,
  dependenciesOn,
  jsonObjectOf,
  migrationSourceAnnotation,
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
  volumeCopiedAnnotation,
  volumeCopyAnnotation,
  volumeGateAnnotation,
  volumeHookAnnotation,
  volumeMoveAnnotation,
  volumesAnnotation,
} from "../api/index.ts";
import { appliedDiffAnnotation, claimNamesOf, diffHash } from "../syncer/index.ts";
import { type ClaimState, claimStates } from "./claim-machine.ts";
import type { VolumeCopier, VolumeCopyRequest } from "./copies.ts";
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

/** A volume as it is upstream: which cluster it is in, and what it is. */
export interface KnownVolume extends Volume {
  readonly cluster: string;
  readonly spec: JsonObject;
  /** The claim that has it in the cluster, by the names there. */
  readonly claim: { readonly namespace: string; readonly name: string };
}

export interface ClaimCluster {
  readonly name: string;
  /** What its namespace is called in a cluster; undefined for a cluster that is not registered. */
  readonly namespaceIn: (cluster: string) => string | undefined;
}

/** What the claim has in one cluster only: a volume, or a snapshot that one is made from. */
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

/** Undefined for what people lay over the spec. */
function migratedVolumeIn(diff: string): string | undefined {
  const volume = /"\/volumeName","value":"([^"]+)"/.exec(diff)?.[1];
  return volume ?? /"\/dataSource","value":\{[^}]*"name":"([^"]+)"\}/.exec(diff)?.[1];
}

/** Sources that a node or a cluster has for itself. */
const localSources = ["hostPath", "local", "emptyDir"];
const sharedModes: ReadonlySet<string> = new Set(["ReadWriteMany", "ReadOnlyMany"]);

/** `typePathOf` is how the SyncTarget is called where the claim is. */
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

/** What a spec says beside where its storage is. */
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
  const broughtTo = new Map<string, string>();
  for (const [key, text] of Object.entries(annotations ?? {})) {
    if (!key.startsWith(specDiffAnnotationPrefix)) continue;
    const volume = migratedVolumeIn(text);
    if (volume !== undefined) broughtTo.set(key.slice(specDiffAnnotationPrefix.length), volume);
  }
  const own = new Map<string, KnownVolume>();
  for (const volume of volumes) {
    const { cluster, claim } = volume;
    const isBorn =
      claim.name === name && claim.namespace !== "" && claim.namespace === namespaceIn(cluster);
    if (isBorn || broughtTo.get(cluster) === volume.name) own.set(cluster, volume);
  }
  const home = stringMember(annotations, volumeClusterAnnotation);
  const held = heldTargets(object, new Set([...assigned, ...broughtTo.keys()]));
  return {
    name,
    uid: metadata.uid ?? "",
    version: metadata.resourceVersion ?? "",
    isShared: modes.length > 0 && modes.every((mode) => sharedModes.has(mode)),
    home: home === "" ? undefined : home,
    mayDetach: stringMember(annotations, volumeMoveAnnotation) === "detach",
    storageClass: storageClassOf(object),
    ...copyOf(object, found),
    states: statesIn(stringMember(annotations, volumesAnnotation)),
    assigned,
    boundIn,
    heldIn: held,
    broughtTo,
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

/** Where it is, may be, or may come to be at any moment. */
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

/** Undefined: the default one of the cluster. */
function storageClassOf({ metadata, spec }: StoredObject): string | undefined {
  const { storageClassName } = spec ?? {};
  if (typeof storageClassName === "string") return storageClassName;
  return stringMember(metadata.annotations, "volume.beta.kubernetes.io/storage-class");
}

type CopyFacts = Pick<VolumeClaim, "copier" | "request" | "copied" | "progress">;

function copyOf(object: StoredObject, found: FoundSnapshots | undefined): CopyFacts {
  const { annotations } = object.metadata;
  const hook = stringMember(annotations, volumeHookAnnotation) ?? "";
  const wantsSnapshot = stringMember(annotations, volumeMoveAnnotation) === "snapshot";
  const copier: VolumeCopier | undefined =
    hook !== "" ? { by: "hook", name: hook } : wantsSnapshot ? { by: "snapshot" } : undefined;
  const request = requestIn(stringMember(annotations, volumeCopyAnnotation), copier);
  const none = { copier, request, copied: undefined };
  if (request === undefined) return none;
  if (copier?.by === "hook") return { ...none, ...answerTo(request, annotations) };
  if (found === undefined) return none;
  const step = snapshotStep(request, object, found);
  return step.to === "bind"
    ? { ...none, copied: step.snapshot }
    : { ...none, progress: step.progress };
}

/** Undefined also for one that another copier was asked for. */
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

/** As it is kept on the claim. */
export function requestText(
  { id, from, to, sinceMs, failure }: VolumeCopyRequest,
  copier: VolumeCopier,
): string {
  const since = new Date(sinceMs).toISOString();
  const hook = hookOf(copier);
  return JSON.stringify({ ...(hook === "" ? {} : { hook }), id, from, to, since, ...failure });
}

/** Empty for a snapshot, which nobody else is asked for. */
function hookOf(copier: VolumeCopier): string {
  return copier.by === "hook" ? copier.name : "";
}

/** A copy that was made for another request is of data that may be old. */
function answerTo(
  { id, to }: VolumeCopyRequest,
  annotations: StoredObject["metadata"]["annotations"],
): Pick<VolumeClaim, "copied" | "progress"> {
  const text = stringMember(annotations, volumeCopiedAnnotation);
  const value = jsonObjectOf(text, annotationCharactersMax);
  const volume = textAt(value, "volume");
  const isAnswer = textAt(value, "id") === id && textAt(value, "to") === to && volume !== "";
  if (isAnswer) return { copied: volume };
  if (text === undefined) return { copied: undefined };
  const message = `${volumeCopiedAnnotation} does not answer the request ${id} for ${to}`;
  return { copied: undefined, progress: { reason: "OtherCopy", message } };
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

/** Undefined for what is no part, and for one that has ended. */
export function volumeUserOf(
  object: StoredObject,
  kind: ClaimUserKind,
  whole: string,
): VolumeUser | undefined {
  const { metadata } = object;
  const { labels } = metadata;
  const cluster = assignedCluster(labels);
  if (cluster === undefined || stringMember(labels, ownedByLabel) === undefined) return undefined;
  if (kind.hasEnded(object)) return undefined;
  return {
    whole: `${kind.resource.kind} ${whole}`,
    cluster,
    replicas: kind.replicasOf(object),
    isGoing: metadata.deletionTimestamp !== undefined,
    takesOverFrom: stringMember(metadata.annotations, migrationSourceAnnotation),
    hasStarted: kind.hasStarted(object),
    ...stoppingOf(object, kind, cluster),
  };
}

type Stopping = Pick<VolumeUser, "isStopped" | "isOpened" | "isFenced" | "endsByItself">;

function stoppingOf(object: StoredObject, kind: ClaimUserKind, cluster: string): Stopping {
  const { annotations, finalizers = [] } = object.metadata;
  const mark = stringMember(annotations, volumeGateAnnotation(cluster));
  const stop = kind.stopOf(object);
  if (stop.by === "diff") {
    const isFenced = stringMember(annotations, specDiffAnnotation(cluster)) === stop.diff;
    const isTold =
      isFenced && stringMember(annotations, appliedDiffAnnotation(cluster)) === diffHash(stop.diff);
    const isStopped = isTold && kind.runningOf(object) === 0;
    return { isStopped, isOpened: mark !== undefined, isFenced };
  }
  const isOpened = mark !== undefined;
  if (stop.by === "end")
    return { isStopped: !isOpened, isOpened, isFenced: false, endsByItself: true };
  // Nothing of it is in the cluster without the syncer's finalizer, which is not put on while it is stopped.
  const isFenced = mark === stoppedForVolumes;
  const isStopped = isFenced && !finalizers.includes(syncerFinalizer(cluster));
  return { isStopped, isOpened: isOpened && !isStopped, isFenced };
}
