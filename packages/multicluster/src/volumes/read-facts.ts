/** What the objects of a namespace say about claims and the workloads that use them. Pure. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { stringMember } from "@kcp-ts/sdk";
import {
  assignedCluster,
  assignedTargets,
  heldInClusterAnnotation,
  jsonObjectOf,
  openedAnnotation,
  ownedByLabel,
  specDiffAnnotation,
  specDiffAnnotationPrefix,
  stateLabel,
  stateUpsync,
  statusAnnotation,
  stoppedForVolumes,
  syncerFinalizer,
  takesOverFromAnnotation,
  volumeCopiedAnnotation,
  volumeHookAnnotation,
  volumeMoveAnnotation,
  volumesAnnotation,
  volumesInAnnotation,
} from "../api/index.ts";
import { appliedDiffAnnotation, claimNamesOf, diffHash } from "../syncer/index.ts";
import { type ClaimState, claimStates } from "./claim-machine.ts";
import type { Claim, Volume, WorkloadPart } from "./decide-volumes.ts";
import {
  annotationCharactersMax,
  objectAt,
  type StoredObject,
  textAt,
  textsAt,
  type UserKind,
} from "./objects.ts";

/** A volume as it is upstream: which cluster it is in, and what it is. */
export interface KnownVolume extends Volume {
  readonly cluster: string;
  readonly spec: JsonObject;
  /** The claim that has it in the cluster, by the names there. */
  readonly claim: { readonly namespace: string; readonly name: string };
}

export interface Where {
  readonly name: string;
  /** What its namespace is called in a cluster; undefined for a cluster that is not registered. */
  readonly namespaceIn: (cluster: string) => string | undefined;
}

export function broughtDiff(volume: string): string {
  return JSON.stringify([{ op: "add", path: "/volumeName", value: volume }]);
}

/** Sources that a node or a cluster has for itself. */
const localSources = ["hostPath", "local", "emptyDir"];
const sharedModes: ReadonlySet<string> = new Set(["ReadWriteMany", "ReadOnlyMany"]);

/** `nameOf` is how the SyncTarget is called where the claim is. */
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
  const held = stringMember(annotations, heldInClusterAnnotation) ?? "";
  const reference = objectAt(spec, "claimRef");
  return {
    cluster: nameOf(cluster),
    name,
    spec,
    isRetained: textAt(spec, "persistentVolumeReclaimPolicy") === "Retain",
    isPortable: !localSources.some((source) => spec[source] !== undefined),
    isAttached: held.split(",").some((holder) => holder.startsWith("external-attacher/")),
    claim: { namespace: textAt(reference, "namespace"), name: textAt(reference, "name") },
  };
}

export function claimOf(
  object: StoredObject,
  volumes: readonly KnownVolume[],
  { name, namespaceIn }: Where,
): Claim {
  const { metadata, spec } = object;
  const { annotations, labels } = metadata;
  const modes = textsAt(spec, "accessModes");
  const assigned = assignedTargets(labels);
  const boundIn = new Set([...assigned].filter((cluster) => isBoundIn(object, cluster, assigned)));
  const broughtTo = new Map<string, string>();
  for (const [key, text] of Object.entries(annotations ?? {})) {
    if (!key.startsWith(specDiffAnnotationPrefix)) continue;
    const volume = /"\/volumeName","value":"([^"]+)"/.exec(text)?.[1];
    if (volume !== undefined) broughtTo.set(key.slice(specDiffAnnotationPrefix.length), volume);
  }
  const own = new Map<string, KnownVolume>();
  for (const volume of volumes) {
    const { cluster, claim } = volume;
    const isBorn =
      claim.name === name && claim.namespace !== "" && claim.namespace === namespaceIn(cluster);
    if (isBorn || broughtTo.get(cluster) === volume.name) own.set(cluster, volume);
  }
  const home = stringMember(annotations, volumesInAnnotation);
  const hook = stringMember(annotations, volumeHookAnnotation);
  return {
    name,
    isShared: modes.length > 0 && modes.every((mode) => sharedModes.has(mode)),
    home: home === "" ? undefined : home,
    mayDetach: stringMember(annotations, volumeMoveAnnotation) === "detach",
    hook: hook === "" ? undefined : hook,
    copies: copiesOf(stringMember(annotations, volumeCopiedAnnotation)),
    states: statesIn(stringMember(annotations, volumesAnnotation)),
    assigned,
    boundIn,
    broughtTo: new Set(broughtTo.keys()),
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

function copiesOf(text: string | undefined): ReadonlyMap<string, string> {
  const value = jsonObjectOf(text, annotationCharactersMax);
  const [to, volume] = [textAt(value, "to"), textAt(value, "volume")];
  return new Map(to === "" || volume === "" ? [] : [[to, volume]]);
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
export function claimsUsedBy({ spec = {} }: StoredObject, kind: UserKind): ReadonlySet<string> {
  return claimNamesOf({ spec }, kind.resource);
}

/** Undefined for what is no part, and for one that has ended. */
export function partOf(
  object: StoredObject,
  kind: UserKind,
  whole: string,
): WorkloadPart | undefined {
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
    takesOverFrom: stringMember(metadata.annotations, takesOverFromAnnotation),
    ...stoppingOf(object, kind, cluster),
  };
}

type Stopping = Pick<WorkloadPart, "isStopped" | "isOpened" | "isFenced" | "endsByItself">;

function stoppingOf(object: StoredObject, kind: UserKind, cluster: string): Stopping {
  const { annotations, finalizers = [] } = object.metadata;
  const mark = stringMember(annotations, openedAnnotation(cluster));
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
