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
  atMostOneLabel,
  clusterLabel,
  lostSinceAnnotation,
  ownedByLabel,
  ownedByLabels,
  refersToAnnotation,
  reservedAnnotation,
  statesOf,
  takesOverFromAnnotation,
} from "../api/index.ts";
import { type Amounts, formatReservation, reservationOf, workloadOf } from "../scheduling/index.ts";
import { type MoveRecord, moveAnnotation, moveRecordText } from "./move-record.ts";
import { podTemplateOf } from "./pod-template.ts";
import { type RollRecord, rollOutAnnotation, rollRecordText } from "./rolling/roll-record.ts";
import type { PartShare, Strategy } from "./strategy.ts";
import type { Workload } from "./workload.ts";

/** On a part, "true": its spec is somebody else's business. It is counted, and its replicas are taken off what the others share. */
export const handsOffAnnotation = "workloads.kcp.io/hands-off";
/** On a part: how many the parent asked for when this part's replicas were set. */
export const askedReplicasAnnotation = "workloads.kcp.io/asked-replicas";

/** An object that is assigned to no cluster is one to be split. */
export function isWhole({ metadata }: Pick<KubernetesObject, "metadata">): boolean {
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
export function belongsTo(part: KubernetesObject, parent: KubernetesObject): boolean {
  const controller = part.metadata.ownerReferences?.find((one) => one.controller === true);
  if (controller !== undefined) return controller.uid === parent.metadata.uid;
  return ownerLabelOf(part.metadata.labels) === ownerLabelValue(parent.metadata.name);
}

/** The name itself if a label can hold it. */
export function ownerLabelValue(name: string): string {
  return shortened(name, 63);
}

/** Without the dot that names of other workspaces' clusters have: Pods are named after it. */
export function partName(parent: string, cluster: string): string {
  return shortened(`${parent}--${cluster.replaceAll(".", "-")}`, 253);
}

/** Whose part it is, and where. */
export interface PartOf {
  readonly strategy: Strategy;
  readonly parent: Workload;
  readonly cluster: string;
}

export interface PartWish extends PartOf {
  readonly share: PartShare;
  readonly askedReplicas: number;
  readonly lostSince?: string | undefined;
  /** The cluster that has the volumes, as long as this one is to get them. */
  readonly takesOverFrom?: string | undefined;
  readonly move?: MoveRecord | undefined;
  /** What it is to be, where it has not all of what the parent says now. */
  readonly spec?: JsonObject | undefined;
  readonly roll?: RollRecord | undefined;
  /** Agents stop it when their lease is gone. */
  readonly isAtMostOne?: boolean;
}

export function newPart(wish: PartWish): ObjectInput<Workload> {
  const { strategy, parent, cluster } = wish;
  return {
    metadata: {
      name: partName(parent.metadata.name, cluster),
      ...(parent.metadata.namespace === undefined ? {} : { namespace: parent.metadata.namespace }),
      labels: labelsFor(wish, undefined),
      annotations: annotationsFor(wish, undefined),
      ownerReferences: [ownerReference(strategy.wholes, parent)],
    },
    spec: specFor(wish),
  };
}

/** The part as it should be; the very part when it is. */
export function adjustedPart(part: Workload, wish: PartWish): Workload {
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
export function hasSpecOf(part: Workload, of: PartOf): boolean {
  return same(part.spec, specFor({ ...of, share: of.strategy.shareOf(part) }));
}

function specFor(wish: Omit<PartWish, "askedReplicas">): JsonObject {
  const { strategy, parent, cluster, share, spec } = wish;
  return spec ?? strategy.specFor(parent, share, cluster);
}

function labelsFor(wish: PartWish, current: StringMap | undefined): StringMap {
  const { cluster, isAtMostOne = false } = wish;
  const { labels, owner } = commonOf(wish);
  return {
    ...labels,
    ...(current === undefined ? undefined : ownLabels(current)),
    ...(isAtMostOne ? { [atMostOneLabel]: "true" } : undefined),
    [clusterLabel]: cluster,
    [ownedByLabel]: owner,
  };
}

/** What all parts of a whole have. */
interface Common {
  readonly labels: StringMap;
  readonly annotations: StringMap;
  readonly owner: string;
  readonly requests: Amounts;
}

/** A whole has many parts. */
const commons = new WeakMap<Workload, Common>();

function commonOf({ strategy, parent }: PartWish): Common {
  const known = commons.get(parent);
  if (known !== undefined) return known;
  const { name, labels } = parent.metadata;
  const access = stringMember(labels, apiAccessLabel);
  const address = stringMember(labels, apiAddressLabel);
  const references = strategy.references?.(parent) ?? [];
  const template = podTemplateOf(strategy.wholes, parent);
  const common = {
    labels: {
      ...plain(labels),
      ...(access === undefined ? {} : { [apiAccessLabel]: access }),
      ...(address === undefined ? {} : { [apiAddressLabel]: address }),
    },
    annotations: {
      ...plain(parent.metadata.annotations),
      // Who cares for what it needs in its cluster reads it here.
      ...(references.length === 0 ? {} : { [refersToAnnotation]: references.join(",") }),
    },
    owner: ownerLabelValue(name),
    requests: workloadOf(parent, { resource: strategy.name, template }).requests,
  };
  commons.set(parent, common);
  return common;
}

/** But for those that are decided anew. */
function ownLabels(current: StringMap): StringMap {
  const {
    [atMostOneLabel]: _once,
    [apiAccessLabel]: _access,
    [apiAddressLabel]: _address,
    ...kept
  } = ofMachinery(current);
  return kept;
}

function ownAnnotations(current: StringMap): StringMap {
  const {
    [lostSinceAnnotation]: _lost,
    [reservedAnnotation]: _reserved,
    [moveAnnotation]: _move,
    [rollOutAnnotation]: _roll,
    [takesOverFromAnnotation]: _takesOverFrom,
    [refersToAnnotation]: _refersTo,
    ...kept
  } = ofMachinery(current);
  return kept;
}

function annotationsFor(wish: PartWish, current: StringMap | undefined): StringMap {
  const { lostSince, takesOverFrom, move, roll } = wish;
  return {
    ...commonOf(wish).annotations,
    ...(current === undefined ? undefined : ownAnnotations(current)),
    [askedReplicasAnnotation]: String(wish.askedReplicas),
    ...reservedBy(wish),
    ...(lostSince === undefined ? undefined : { [lostSinceAnnotation]: lostSince }),
    ...(takesOverFrom === undefined ? undefined : { [takesOverFromAnnotation]: takesOverFrom }),
    ...(move === undefined ? undefined : { [moveAnnotation]: moveRecordText(move) }),
    ...(roll === undefined ? undefined : { [rollOutAnnotation]: rollRecordText(roll) }),
  };
}

/** What it takes of its cluster; who decides about others reads it here. */
function reservedBy(wish: PartWish): StringMap | undefined {
  const { requests } = commonOf(wish);
  const reserved = formatReservation(reservationOf(requests, wish.share.replicas));
  return reserved === "" ? undefined : { [reservedAnnotation]: reserved };
}

/** What people wrote, without what the machinery did. */
export function plain(map: StringMap | undefined): StringMap {
  return Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => !isMachinery(key)));
}

function ofMachinery(map: StringMap): StringMap {
  return Object.fromEntries(Object.entries(map).filter(([key]) => isMachinery(key)));
}

/** Keys that each object has for itself. Those of the simulator are for the cluster. */
export function isMachinery(key: string): boolean {
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
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 10);
  return `${text.slice(0, most - hash.length - 1).replace(/[^a-z0-9]+$/, "")}-${hash}`;
}
