/**
 * The per-cluster object (`web--us-east1`): the child of a workload that one cluster runs.
 *
 * Its spec is the parent's with the desired replicas of the cluster (see `strategy.ts`), so
 * rollouts, restarts and edits of the parent reach it as edits. Its labels and annotations are the
 * parent's, too, except the internal keys (kcp's and kubectl's), which each object has for itself.
 * The coordinator reverts every other change of them, unless the object is unmanaged.
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
  ownedByLabel,
  ownedByLabels,
  statesOf,
  stopBeforeStartLabel,
  syncerFinalizer,
} from "../api/index.ts";
import type { CopyShare, Strategy } from "./strategy.ts";
import type { Workload } from "./workload.ts";

/**
 * On a per-cluster object, "false": the object is unmanaged, and another controller owns its spec.
 * Its replicas count, and are subtracted from the replicas that the other clusters share.
 */
export const managedAnnotation = "workload.kcp.io/managed";

/** An object that is assigned to no cluster is a workload to schedule. */
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

/**
 * Whether the object is a copy of this very parent, or a copy without an owner that the parent may
 * adopt.
 */
export function isCopyOf(copy: KubernetesObject, parent: KubernetesObject): boolean {
  const controller = copy.metadata.ownerReferences?.find((one) => one.controller === true);
  if (controller !== undefined) return controller.uid === parent.metadata.uid;
  return ownerLabelOf(copy.metadata.labels) === ownerLabelValue(parent.metadata.name);
}

/** The name itself if it fits into a label value. */
export function ownerLabelValue(name: string): string {
  return shortenName(name, 63);
}

/** The name contains no dot, unlike the names of shared clusters: Pods are named after it. */
export function clusterCopyName(parent: string, cluster: string): string {
  return shortenName(`${parent}--${cluster.replaceAll(".", "-")}`, 253);
}

/** The parent and the cluster of a per-cluster object. */
export interface CopyIdentity {
  readonly strategy: Strategy;
  readonly parent: Workload;
  readonly cluster: string;
}

export interface DesiredCopy extends CopyIdentity {
  readonly share: CopyShare;
  /** The spec during a rollout, when the copy does not have the parent's complete spec yet. */
  readonly spec?: JsonObject | undefined;
  /** The agent stops the copy when its lease expires (StopBeforeStart). */
  readonly isStopBeforeStart?: boolean;
}

export function newClusterCopy(desired: DesiredCopy): ObjectInput<Workload> {
  const { strategy, parent, cluster } = desired;
  return {
    metadata: {
      name: clusterCopyName(parent.metadata.name, cluster),
      ...(parent.metadata.namespace === undefined ? {} : { namespace: parent.metadata.namespace }),
      labels: labelsFor(desired, undefined),
      annotations: annotationsFor(desired, undefined),
      ownerReferences: [ownerReference(strategy.workloads, parent)],
      // As the syncer would add it before it creates the copy in the cluster: a write less.
      finalizers: [syncerFinalizer(cluster)],
    },
    spec: specFor(desired),
  };
}

/**
 * The per-cluster object with the desired spec and metadata; the identical object when nothing
 * changes.
 */
export function updatedClusterCopy(copy: Workload, desired: DesiredCopy): Workload {
  const { metadata } = copy;
  const labels = labelsFor(desired, metadata.labels);
  const annotations = annotationsFor(desired, metadata.annotations);
  const spec = specFor(desired);
  const ownerReferences = withOwner(
    metadata.ownerReferences,
    ownerReference(desired.strategy.workloads, desired.parent),
  );
  const isSame =
    same(spec, copy.spec) &&
    same(labels, metadata.labels ?? {}) &&
    same(annotations, metadata.annotations ?? {}) &&
    same(ownerReferences, metadata.ownerReferences ?? []);
  if (isSame) return copy;
  return { ...copy, metadata: { ...metadata, labels, annotations, ownerReferences }, spec };
}

/** Whether the copy has the parent's current spec. */
export function hasSpecOf(copy: Workload, of: CopyIdentity): boolean {
  return same(copy.spec, specFor({ ...of, share: of.strategy.shareOf(copy) }));
}

function specFor(desired: DesiredCopy): JsonObject {
  const { strategy, parent, cluster, share, spec } = desired;
  return spec ?? strategy.specFor(parent, share, cluster);
}

function labelsFor(desired: DesiredCopy, current: StringMap | undefined): StringMap {
  const { cluster, isStopBeforeStart = false } = desired;
  const { labels, owner } = commonOf(desired);
  return {
    ...labels,
    ...(current === undefined ? undefined : ownLabels(current)),
    ...(isStopBeforeStart ? { [stopBeforeStartLabel]: "true" } : undefined),
    [clusterLabel]: cluster,
    [ownedByLabel]: owner,
  };
}

/** The metadata that all copies of a workload have in common. */
interface CommonMetadata {
  readonly labels: StringMap;
  readonly annotations: StringMap;
  readonly owner: string;
}

/** Cached for each workload, because a workload has many copies. */
const commons = new WeakMap<Workload, CommonMetadata>();

function commonOf({ strategy, parent }: DesiredCopy): CommonMetadata {
  const known = commons.get(parent);
  if (known !== undefined) return known;
  const { name, labels } = parent.metadata;
  const access = stringMember(labels, apiAccessLabel);
  const address = stringMember(labels, apiAddressLabel);
  const references = strategy.dependencies?.(parent) ?? [];
  const common = {
    labels: {
      ...withoutInternalKeys(labels),
      ...(access === undefined ? {} : { [apiAccessLabel]: access }),
      ...(address === undefined ? {} : { [apiAddressLabel]: address }),
    },
    annotations: {
      ...withoutInternalKeys(parent.metadata.annotations),
      // The syncer and the dependency controller read the dependencies of the copy from this
      // annotation.
      ...(references.length === 0 ? {} : { [dependenciesAnnotation]: references.join(",") }),
    },
    owner: ownerLabelValue(name),
  };
  commons.set(parent, common);
  return common;
}

/** The object's own labels, without the labels that every decision sets again. */
function ownLabels(current: StringMap): StringMap {
  const {
    [stopBeforeStartLabel]: _once,
    [apiAccessLabel]: _access,
    [apiAddressLabel]: _address,
    ...kept
  } = internalKeys(current);
  return kept;
}

function annotationsFor(desired: DesiredCopy, current: StringMap = {}): StringMap {
  const { [dependenciesAnnotation]: _, ...own } = internalKeys(current);
  return { ...own, ...commonOf(desired).annotations };
}

/** The keys that users wrote, without the internal keys. */
export function withoutInternalKeys(map: StringMap | undefined): StringMap {
  return Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => !isInternalKey(key)));
}

function internalKeys(map: StringMap): StringMap {
  return Object.fromEntries(Object.entries(map).filter(([key]) => isInternalKey(key)));
}

/**
 * Whether a key is internal, so that each object has it for itself. The simulator's keys are not:
 * they are for the cluster.
 */
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

/** Shortens a name to the permitted length; a hash replaces the rest. */
export function shortenName(text: string, most: number): string {
  if (text.length <= most) return text;
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 10);
  return `${text.slice(0, most - hash.length - 1).replace(/[^a-z0-9]+$/, "")}-${hash}`;
}
