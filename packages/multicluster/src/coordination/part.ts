/**
 * A part: the child that stands for one cluster's share of a whole.
 *
 * Its spec is the parent's with a share of its own (see `strategy.ts`); so rollouts, restarts and edits of the parent reach it as edits. Its
 * labels and annotations are the parent's too, but for those of the machinery (kcp's and kubectl's), which are its own. Whatever somebody else changes
 * in these is put back, unless the part says that it is to be left alone.
 */
import { createHash } from "node:crypto";
import { type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import {
  apiVersionOf,
  type KubernetesObject,
  type ObjectInput,
  type OwnerReference,
  type Resource,
  type StringMap,
  stringMember,
} from "@kcp-ts/sdk";
import {
  apiAccessLabel,
  apiAddressLabel,
  assignedCluster,
  clusterLabel,
  dependenciesAnnotation,
  migrationSourceAnnotation,
  ownedByLabel,
  ownedByLabels,
  reservedAnnotation,
  statesOf,
  stopBeforeStartLabel,
  unreachableSinceAnnotation,
} from "../api/index.ts";
import {
  formatReservation,
  type ResourceAmounts,
  reservationOf,
  schedulableWorkloadOf,
} from "../scheduling/index.ts";
import { formatMoveRecord, type MoveRecord, moveAnnotation } from "./move-record.ts";
import { podTemplateOf } from "./pod-template.ts";
import {
  formatRolloutRecord,
  type RolloutRecord,
  rolloutRecordAnnotation,
} from "./rolling/roll-record.ts";
import type { CopyShare, Strategy } from "./strategy.ts";
import type { Workload } from "./workload.ts";

/** On a part, "true": its spec is somebody else's business. It is counted, and its replicas are taken off what the others share. */
export const managedAnnotation = "workloads.kcp.io/hands-off";
/** On a part: how many the parent asked for when this part's replicas were set. */
export const desiredReplicasAnnotation = "workloads.kcp.io/asked-replicas";

/** An object that is assigned to no cluster is one to be split. */
export function isUnassigned({ metadata }: Pick<KubernetesObject, "metadata">): boolean {
  const { labels } = metadata;
  return (
    assignedCluster(labels) === undefined &&
    statesOf(labels).size === 0 &&
    ownerLabelOf(labels) === undefined
  );
}

export function ownerLabelOf(labels: StringMap | undefined): string | undefined {
  for (const label of ownedByLabels) {
    const value = stringMember(labels, label);
    if (value !== undefined && value !== "") return value;
  }
  return undefined;
}

/** Whether it is a part of this very parent, or one that nobody owns and that the parent may take over. */
export function isCopyOf(part: KubernetesObject, parent: KubernetesObject): boolean {
  const controller = part.metadata.ownerReferences?.find((one) => one.controller === true);
  if (controller !== undefined) return controller.uid === parent.metadata.uid;
  return ownerLabelOf(part.metadata.labels) === ownerLabelValue(parent.metadata.name);
}

/** The name itself if a label can hold it. */
export function ownerLabelValue(name: string): string {
  return shortenName(name, 63);
}

/** Without the dot that names of other workspaces' clusters have: Pods are named after it. */
export function clusterCopyName(parent: string, cluster: string): string {
  return shortenName(`${parent}--${cluster.replaceAll(".", "-")}`, 253);
}

/** Whose part it is, and where. */
export interface CopyIdentity {
  readonly strategy: Strategy;
  readonly parent: Workload;
  readonly cluster: string;
}

export interface DesiredCopy extends CopyIdentity {
  readonly share: CopyShare;
  readonly askedReplicas: number;
  readonly lostSince?: string | undefined;
  /** The cluster that has the volumes, as long as this one is to get them. */
  readonly takesOverFrom?: string | undefined;
  readonly move?: MoveRecord | undefined;
  /** What it is to be, where it has not all of what the parent says now. */
  readonly spec?: JsonObject | undefined;
  readonly roll?: RolloutRecord | undefined;
  /** Agents stop it when their lease is gone. */
  readonly isAtMostOne?: boolean;
}

export function newClusterCopy(wish: DesiredCopy): ObjectInput<Workload> {
  const { strategy, parent, cluster } = wish;
  return {
    metadata: {
      name: clusterCopyName(parent.metadata.name, cluster),
      ...(parent.metadata.namespace === undefined ? {} : { namespace: parent.metadata.namespace }),
      labels: labelsFor(wish, undefined),
      annotations: annotationsFor(wish, undefined),
      ownerReferences: [ownerReference(strategy.wholes, parent)],
    },
    spec: specFor(wish),
  };
}

/** The part as it should be; the very part when it is. */
export function updatedClusterCopy(part: Workload, wish: DesiredCopy): Workload {
  const { metadata } = part;
  const labels = labelsFor(wish, metadata.labels);
  const annotations = annotationsFor(wish, metadata.annotations);
  const spec = specFor(wish);
  const ownerReferences = withOwner(
    metadata.ownerReferences,
    ownerReference(wish.strategy.wholes, wish.parent),
  );
  const isSame =
    same(spec, part.spec) &&
    same(labels, metadata.labels ?? {}) &&
    same(annotations, metadata.annotations ?? {}) &&
    same(ownerReferences, metadata.ownerReferences ?? []);
  if (isSame) return part;
  return { ...part, metadata: { ...metadata, labels, annotations, ownerReferences }, spec };
}

/** Whether the part runs what the parent says now. */
export function hasSpecOf(part: Workload, of: CopyIdentity): boolean {
  return same(part.spec, specFor({ ...of, share: of.strategy.shareOf(part) }));
}

function specFor(wish: Omit<DesiredCopy, "askedReplicas">): JsonObject {
  const { strategy, parent, cluster, share, spec } = wish;
  return spec ?? strategy.specFor(parent, share, cluster);
}

function labelsFor(wish: DesiredCopy, current: StringMap | undefined): StringMap {
  const { cluster, isAtMostOne = false } = wish;
  const { labels, owner } = commonOf(wish);
  return {
    ...labels,
    ...(current === undefined ? undefined : ownLabels(current)),
    ...(isAtMostOne ? { [stopBeforeStartLabel]: "true" } : undefined),
    [clusterLabel]: cluster,
    [ownedByLabel]: owner,
  };
}

/** What all parts of a whole have. */
interface CommonMetadata {
  readonly labels: StringMap;
  readonly annotations: StringMap;
  readonly owner: string;
  readonly requests: ResourceAmounts;
}

/** A whole has many parts. */
const commons = new WeakMap<Workload, CommonMetadata>();

function commonOf({ strategy, parent }: DesiredCopy): CommonMetadata {
  const known = commons.get(parent);
  if (known !== undefined) return known;
  const { name, labels } = parent.metadata;
  const access = stringMember(labels, apiAccessLabel);
  const address = stringMember(labels, apiAddressLabel);
  const references = strategy.references?.(parent) ?? [];
  const template = podTemplateOf(strategy.wholes, parent);
  const common = {
    labels: {
      ...withoutInternalKeys(labels),
      ...(access === undefined ? {} : { [apiAccessLabel]: access }),
      ...(address === undefined ? {} : { [apiAddressLabel]: address }),
    },
    annotations: {
      ...withoutInternalKeys(parent.metadata.annotations),
      // Who cares for what it needs in its cluster reads it here.
      ...(references.length === 0 ? {} : { [dependenciesAnnotation]: references.join(",") }),
    },
    owner: ownerLabelValue(name),
    requests: schedulableWorkloadOf(parent, { resource: strategy.name, template }).requests,
  };
  commons.set(parent, common);
  return common;
}

/** But for those that are decided anew. */
function ownLabels(current: StringMap): StringMap {
  const {
    [stopBeforeStartLabel]: _once,
    [apiAccessLabel]: _access,
    [apiAddressLabel]: _address,
    ...kept
  } = internalKeys(current);
  return kept;
}

function ownAnnotations(current: StringMap): StringMap {
  const {
    [unreachableSinceAnnotation]: _lost,
    [reservedAnnotation]: _reserved,
    [moveAnnotation]: _move,
    [rolloutRecordAnnotation]: _roll,
    [migrationSourceAnnotation]: _takesOverFrom,
    [dependenciesAnnotation]: _refersTo,
    ...kept
  } = internalKeys(current);
  return kept;
}

function annotationsFor(wish: DesiredCopy, current: StringMap | undefined): StringMap {
  const { lostSince, takesOverFrom, move, roll } = wish;
  return {
    ...commonOf(wish).annotations,
    ...(current === undefined ? undefined : ownAnnotations(current)),
    [desiredReplicasAnnotation]: String(wish.askedReplicas),
    ...reservedBy(wish),
    ...(lostSince === undefined ? undefined : { [unreachableSinceAnnotation]: lostSince }),
    ...(takesOverFrom === undefined ? undefined : { [migrationSourceAnnotation]: takesOverFrom }),
    ...(move === undefined ? undefined : { [moveAnnotation]: formatMoveRecord(move) }),
    ...(roll === undefined ? undefined : { [rolloutRecordAnnotation]: formatRolloutRecord(roll) }),
  };
}

/** What it takes of its cluster; who decides about others reads it here. */
function reservedBy(wish: DesiredCopy): StringMap | undefined {
  const { requests } = commonOf(wish);
  const reserved = formatReservation(reservationOf(requests, wish.share.replicas));
  return reserved === "" ? undefined : { [reservedAnnotation]: reserved };
}

/** What people wrote, without what the machinery did. */
export function withoutInternalKeys(map: StringMap | undefined): StringMap {
  return Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => !isInternalKey(key)));
}

function internalKeys(map: StringMap): StringMap {
  return Object.fromEntries(Object.entries(map).filter(([key]) => isInternalKey(key)));
}

/** Keys that each object has for itself. Those of the simulator are for the cluster. */
export function isInternalKey(key: string): boolean {
  if (key.startsWith("sim.kcp.io/")) return false;
  return /^([a-z0-9.-]*\.)?kcp\.(io|dev)\/|^(deployment|kubectl)\.kubernetes\.io\//.test(key);
}

export function ownerReference(
  resource: Resource<Workload>,
  { metadata: { name, uid = "" } }: Workload,
): OwnerReference {
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

function withOwner(
  references: readonly OwnerReference[] | undefined,
  owner: OwnerReference,
): readonly OwnerReference[] {
  const others = (references ?? []).filter(({ uid }) => uid !== owner.uid);
  const present = (references ?? []).find(({ uid }) => uid === owner.uid);
  return present?.controller === true ? (references ?? []) : [...others, owner];
}

function same(a: unknown, b: unknown): boolean {
  return jsonEqual(a as JsonValue, b as JsonValue);
}

/** As long as a name may be; what is cut off is a hash. */
export function shortenName(text: string, most: number): string {
  if (text.length <= most) return text;
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 10);
  return `${text.slice(0, most - hash.length - 1).replace(/[^a-z0-9]+$/, "")}-${hash}`;
}
