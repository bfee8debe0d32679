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
  countAt,
  objectAt,
  type StoredObject,
  textAt,
  textsAt,
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

/** Nothing runs: what is laid over the spec of a part that is fenced. */
export const fence = '[{"op":"replace","path":"/replicas","value":0}]';

export function broughtDiff(volume: string): string {
  return JSON.stringify([{ op: "add", path: "/volumeName", value: volume }]);
}

/** Sources that a node or a cluster has for itself. */
const localSources = ["hostPath", "local", "emptyDir"];
const sharedModes: ReadonlySet<string> = new Set(["ReadWriteMany", "ReadOnlyMany"]);

export function volumeOf({ metadata, spec = {} }: StoredObject): KnownVolume | undefined {
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
    cluster,
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
export function claimsUsedBy({ spec = {} }: StoredObject): ReadonlySet<string> {
  return claimNamesOf({ spec });
}

/** Undefined for what is no part. */
export function partOf(object: StoredObject, whole: string): WorkloadPart | undefined {
  const { metadata, spec, status } = object;
  const { labels, annotations } = metadata;
  const cluster = assignedCluster(labels);
  if (cluster === undefined || stringMember(labels, ownedByLabel) === undefined) return undefined;
  const diff = stringMember(annotations, specDiffAnnotation(cluster));
  const isFenced = diff === fence;
  const isTold =
    isFenced && stringMember(annotations, appliedDiffAnnotation(cluster)) === diffHash(fence);
  const isObserved = countAt(status, "observedGeneration", -1) >= (metadata.generation ?? 0);
  // Pods that are ending still have their volumes. Clusters before 1.33 do not count them: there, only detaching tells.
  const running = countAt(status, "replicas", 0) + countAt(status, "terminatingReplicas", 0);
  return {
    whole,
    cluster,
    replicas: countAt(spec, "replicas", 1),
    isGoing: metadata.deletionTimestamp !== undefined,
    isStopped: isTold && isObserved && running === 0,
    takesOverFrom: stringMember(annotations, takesOverFromAnnotation),
    isOpened: stringMember(annotations, openedAnnotation(cluster)) !== undefined,
    isFenced,
  };
}
