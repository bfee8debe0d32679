/** Why something is in a cluster that goes where others are: ConfigMaps, Secrets and ServiceAccounts where Pods need them, Services where their Pods are. */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { defineResource, type KubernetesObject, type Resource } from "@kcp-ts/sdk";
import { assignedCluster } from "../api/index.ts";
import { podReferences, podTemplateOf, targetsOf } from "../coordination/index.ts";
import type { SnapshotWorkload, WorkspaceSnapshot } from "./fleet.ts";

export interface DependencyExplanation {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly clusters: readonly DependencyCluster[];
}

export interface DependencyCluster {
  readonly name: string;
  readonly isThere: boolean;
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

/** As it is: it is decided from where others are, and has no policy of its own. */
export function explainDependency(
  { targets, workloads }: WorkspaceSnapshot,
  { resource, kind }: Resource<KubernetesObject>,
  object: KubernetesObject,
): DependencyExplanation {
  const { namespace = "", name } = object.metadata;
  const leaders = workloads.filter(
    ({ whole, ...rest }) =>
      (whole.metadata.namespace ?? "") === namespace &&
      requiresDependency({ whole, ...rest }, resource, object),
  );
  const there = targetsOf(object);
  const names = new Set([...targets.map(({ metadata }) => metadata.name), ...there]);
  const clusters = [...names].sort().map((cluster) => {
    const led = leaders.filter(({ parts }) =>
      parts.some(({ metadata }) => assignedCluster(metadata.labels) === cluster),
    );
    const isThere = there.has(cluster);
    return { name: cluster, isThere, reasons: [reasonOf(isThere, led.map(nameOf).sort())] };
  });
  return { kind, namespace, name, clusters };
}

function reasonOf(isThere: boolean, leaders: readonly string[]): string {
  if (isThere && leaders.length > 0) return `it follows ${leaders.join(", ")}`;
  if (isThere) return "it is assigned there, or follows what refers to it by others";
  if (leaders.length === 0) return "nothing that it follows is there";
  return `${leaders.join(", ")} is there, and it is not: it is on its way, or its kind is not synced`;
}

function nameOf({ strategy, whole }: SnapshotWorkload): string {
  return `${strategy.wholes.kind.toLowerCase()}/${whole.metadata.name}`;
}

function requiresDependency(
  { strategy, whole }: SnapshotWorkload,
  resource: string,
  object: KubernetesObject,
): boolean {
  const template = podTemplateOf(strategy.wholes, whole);
  const { name } = object.metadata;
  if (resource === "services") return selects(object, template);
  if (resource === "persistentvolumeclaims") return claims(template).includes(name);
  const reference = `${resource}/${name}`;
  const found: ReadonlySet<string> = podReferences(template);
  return found.has(reference) || strategy.references?.(whole).includes(reference) === true;
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
