/**
 * Explains why a dependency is in a cluster: ConfigMaps, Secrets and ServiceAccounts in the
 * clusters of Pods that need them, Services in the clusters of their Pods.
 */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { defineResource, type KubernetesObject, type Resource } from "@kcp-ts/sdk";
import { assignedCluster } from "../api/index.ts";
import { podReferences, podTemplateOf, targetsOf } from "../coordination/index.ts";
import type { SnapshotWorkload, WorkspaceSnapshot } from "./workspace-snapshot.ts";

export interface DependencyExplanation {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly clusters: readonly DependencyCluster[];
}

export interface DependencyCluster {
  readonly name: string;
  readonly present: boolean;
  readonly reasons: readonly string[];
}

const core = { group: "", version: "v1", namespaced: true } as const;
const dependency = (resource: string, kind: string, more: object = {}) =>
  defineResource<KubernetesObject>({ ...core, resource, kind, ...more });

export const dependencyKinds: readonly Resource<KubernetesObject>[] = [
  dependency("configmaps", "ConfigMap"),
  dependency("secrets", "Secret"),
  dependency("serviceaccounts", "ServiceAccount"),
  dependency("services", "Service"),
  dependency("persistentvolumeclaims", "PersistentVolumeClaim"),
  dependency("poddisruptionbudgets", "PodDisruptionBudget", { group: "policy" }),
];

/**
 * Explains the current assignments: they follow from the dependents, and no policy applies to them.
 */
export function explainDependency(
  { targets, workloads }: WorkspaceSnapshot,
  { resource, kind }: Resource<KubernetesObject>,
  object: KubernetesObject,
): DependencyExplanation {
  const { namespace = "", name } = object.metadata;
  const affinityTargets = workloads.filter(
    ({ workload, ...rest }) =>
      (workload.metadata.namespace ?? "") === namespace &&
      requiresDependency({ workload, ...rest }, resource, object),
  );
  const there = targetsOf(object);
  const names = new Set([...targets.map(({ metadata }) => metadata.name), ...there]);
  const clusters = [...names].sort().map((cluster) => {
    const led = affinityTargets.filter(({ copies }) =>
      copies.some(({ metadata }) => assignedCluster(metadata.labels) === cluster),
    );
    const present = there.has(cluster);
    return { name: cluster, present, reasons: [reasonOf(present, led.map(nameOf).sort())] };
  });
  return { kind, namespace, name, clusters };
}

function reasonOf(isThere: boolean, affinityTargets: readonly string[]): string {
  if (isThere && affinityTargets.length > 0) return `it follows ${affinityTargets.join(", ")}`;
  if (isThere) return "it is assigned there, or follows what refers to it by others";
  if (affinityTargets.length === 0) return "nothing that it follows is there";
  return `${affinityTargets.join(", ")} is there, and it is not: it is on its way, or its kind is not synced`;
}

function nameOf({ strategy, workload }: SnapshotWorkload): string {
  return `${strategy.workloads.kind.toLowerCase()}/${workload.metadata.name}`;
}

function requiresDependency(
  { strategy, workload }: SnapshotWorkload,
  resource: string,
  object: KubernetesObject,
): boolean {
  const template = podTemplateOf(strategy.workloads, workload);
  const { name } = object.metadata;
  if (resource === "services") return selects(object, template);
  if (resource === "persistentvolumeclaims") return claims(template).includes(name);
  const reference = `${resource}/${name}`;
  const found: ReadonlySet<string> = podReferences(template);
  return found.has(reference) || strategy.dependencies?.(workload).includes(reference) === true;
}

function selects(service: KubernetesObject, template: JsonObject | undefined): boolean {
  const { selector } = ((service as { spec?: { selector?: object } }).spec ?? {}) as {
    selector?: Record<string, string>;
  };
  const { labels = {} } = (template?.["metadata"] ?? {}) as { labels?: Record<string, string> };
  const wanted = Object.entries(selector ?? {});
  return wanted.length > 0 && wanted.every(([key, value]) => labels[key] === value);
}

function claims(template: JsonObject | undefined): readonly string[] {
  const { volumes = [] } = (template?.["spec"] ?? {}) as { volumes?: readonly JsonObject[] };
  return (Array.isArray(volumes) ? volumes : []).flatMap((volume: JsonObject) => {
    const claim = isJsonObject(volume) ? volume["persistentVolumeClaim"] : undefined;
    const name = isJsonObject(claim) ? claim["claimName"] : undefined;
    return typeof name === "string" ? [name] : [];
  });
}
