/**
 * The mapping between upstream and downstream: the downstream namespace of an upstream namespace,
 * and the back-reference on every downstream object.
 *
 * A downstream namespace belongs to one namespace of one logical cluster and one SyncTarget; its
 * name is a hash of all three, so tenants never share a namespace. The hash is a name, not a proof:
 * the syncer reads the locator or the origin of an object before it writes the object.
 */
import { isJsonObject, member } from "@kcp-ts/machinery/json";
import { type ClusterName, parseClusterName } from "@kcp-ts/machinery/names";
import type { ObjectKey } from "@kcp-ts/sdk";
import { hashDigits, jsonObjectOf } from "../api/index.ts";

/**
 * The identity of a SyncTarget for its syncer. The uid distinguishes it from an earlier SyncTarget
 * of the same name, and from one of another control plane.
 */
export interface TargetIdentity {
  readonly name: string;
  /** The logical cluster of the SyncTarget. */
  readonly cluster: string;
  readonly uid: string;
}

/** The content of `kcp.io/namespace-locator`, as kcp writes it. */
export interface NamespaceLocator {
  readonly syncTarget: TargetIdentity;
  readonly cluster: ClusterName;
  readonly namespace: string;
}

/** The content of `workload.kcp.io/origin`. */
export interface Origin {
  readonly cluster: ClusterName;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The SyncTarget's uid. */
  readonly target: string;
}

/** 20 digits of base 36 are 103 bits: a collision cannot be found. */
const namespaceHashDigits = 20;
const keyDigits = 40;

const targetKeys = new WeakMap<TargetIdentity, string>();

/** The value of the label on all downstream objects of a SyncTarget. */
export function targetKey(target: TargetIdentity): string {
  const known = targetKeys.get(target);
  if (known !== undefined) return known;
  const key = hashDigits(`target:${target.uid}`, keyDigits);
  targetKeys.set(target, key);
  return key;
}

/** The id that all namespaces of one tenant share, for network policies. */
export function tenantId(target: TargetIdentity, cluster: ClusterName): string {
  return hashDigits(JSON.stringify([target.uid, cluster]), keyDigits);
}

export function downstreamNamespace(
  target: TargetIdentity,
  { cluster, namespace }: Pick<ObjectKey, "cluster" | "namespace">,
): string {
  const text = JSON.stringify([target.uid, cluster, namespace]);
  return `kcp-${hashDigits(text, namespaceHashDigits)}`;
}

export function formatLocator(
  { name, cluster, uid }: TargetIdentity,
  at: Pick<ObjectKey, "cluster" | "namespace">,
): string {
  const syncTarget = { cluster, name, uid };
  return JSON.stringify({ syncTarget, cluster: at.cluster, namespace: at.namespace });
}

/** Undefined for an invalid locator: any client downstream can write the annotation. */
export function parseLocator(text: string | undefined): NamespaceLocator | undefined {
  const value = jsonObjectOf(text, annotationCharactersMax);
  const target = value === undefined ? undefined : member(value, "syncTarget");
  if (value === undefined || target === undefined || !isJsonObject(target)) return undefined;
  const [cluster, namespace] = [member(value, "cluster"), member(value, "namespace")];
  const [home, name, uid] = [
    member(target, "cluster"),
    member(target, "name"),
    member(target, "uid"),
  ];
  if (typeof cluster !== "string" || typeof namespace !== "string") return undefined;
  if (typeof home !== "string" || typeof name !== "string" || typeof uid !== "string") {
    return undefined;
  }
  const parsed = parseClusterName(cluster);
  if (parsed === undefined) return undefined;
  return { syncTarget: { cluster: home, name, uid }, cluster: parsed, namespace };
}

export function formatOrigin(target: TargetIdentity, key: ObjectKey, uid: string): string {
  const { cluster, namespace, name } = key;
  return JSON.stringify({ cluster, namespace, name, uid, target: target.uid });
}

export function parseOrigin(text: string | undefined): Origin | undefined {
  const value = jsonObjectOf(text, annotationCharactersMax);
  if (value === undefined) return undefined;
  const { cluster, namespace, name, uid, target } = value as Record<string, unknown>;
  if (typeof cluster !== "string" || typeof namespace !== "string") return undefined;
  if (typeof name !== "string" || typeof uid !== "string" || typeof target !== "string") {
    return undefined;
  }
  const parsed = parseClusterName(cluster);
  return parsed === undefined ? undefined : { cluster: parsed, namespace, name, uid, target };
}

/** The downstream object that an upsynced object is a copy of. */
export interface CopyOf {
  /** The uid of the object in the cluster. */
  readonly uid: string;
  /** The uid of the SyncTarget. */
  readonly target: string;
  /** The name in the cluster, where it differs. */
  readonly name?: string | undefined;
}

export function formatCopyOf({ uid, target, name }: CopyOf): string {
  return JSON.stringify({ uid, target, name });
}

export function parseCopyOf(text: string | undefined): CopyOf | undefined {
  const { uid, target, name } = (jsonObjectOf(text, annotationCharactersMax) ?? {}) as Record<
    string,
    unknown
  >;
  if (typeof uid !== "string" || typeof target !== "string") return undefined;
  return { uid, target, ...(typeof name === "string" ? { name } : {}) };
}

/** Far longer than any annotation of the syncer. */
const annotationCharactersMax = 4096;
