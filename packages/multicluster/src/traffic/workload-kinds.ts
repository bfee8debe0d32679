/**
 * The kinds that have Pods behind Services: kinds of Kubernetes, and custom kinds whose
 * WorkloadStrategy contains the path of the Pod template.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { formatGroupResource } from "@kcp-ts/machinery/status";
import {
  defineResource,
  type Indexers,
  type ObjectKey,
  type ObjectStore,
  type Resource,
} from "@kcp-ts/sdk";
import { daemonSets, deployments, jobs, pods, statefulSets } from "@kcp-ts/sdk/kinds";
import { clusterLabel, podTemplatePath, type WorkloadStrategy } from "../api/index.ts";
import { strategiesDefault } from "../coordination/index.ts";
import { memberText, type TemplatedObject } from "./objects.ts";

export interface WorkloadKind {
  readonly resource: Resource<TemplatedObject>;
  /** The path from the object to its Pod template. */
  readonly templatePath: readonly string[];
  /**
   * Undefined for kinds whose cluster decides the number, such as DaemonSets, and for kinds that
   * run to completion: no hold waits for their endpoints.
   */
  readonly replicasOf: (object: TemplatedObject) => number | undefined;
  /** Selects the objects that count; all if omitted. */
  readonly selector?: { readonly labelSelector: string };
}

const known = (
  resource: Resource,
  replicasOf: WorkloadKind["replicasOf"] = () => undefined,
): WorkloadKind => ({
  resource: defineResource(resource),
  templatePath: podTemplatePath(resource.kind),
  replicasOf,
});

const ofSpec = ({ spec }: TemplatedObject) => countOf(spec?.["replicas"]);

export const workloadKinds: readonly WorkloadKind[] = [
  known(deployments, ofSpec),
  known(statefulSets, ofSpec),
  known(daemonSets),
  known(jobs),
  {
    ...known(pods, ({ spec }) =>
      (memberText(spec, "restartPolicy") ?? "Always") === "Always" ? 1 : undefined,
    ),
    // Only Pods that were created here and assigned to a cluster: upsynced Pods belong to a
    // workload that counts already, and are numerous.
    selector: { labelSelector: clusterLabel },
  },
];

const taken = new Set(strategiesDefault.map(({ name }) => name));

/**
 * The first strategy by name for each kind, whatever its expressions are: they do not matter here,
 * and an invalid expression is no reason to remove a Service from running Pods.
 */
export function customKinds(strategies: readonly WorkloadStrategy[]): readonly WorkloadKind[] {
  const kinds = new Map<string, WorkloadKind>();
  const byName = [...strategies].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  for (const one of byName) {
    const kind = customKind(one);
    if (kind === undefined || kinds.has(kindId(kind))) continue;
    kinds.set(kindId(kind), kind);
  }
  return [...kinds.values()];
}

export function kindId({ resource: { group, version, resource } }: WorkloadKind): string {
  return `${resource}.${version}.${group}`;
}

function customKind({ spec }: WorkloadStrategy): WorkloadKind | undefined {
  const { group = "", version, kind, podTemplatePath: path, replicasPath, strategy } = spec;
  const { resource: plural } = spec;
  const resource = defineResource<TemplatedObject>({
    ...{ group, version, resource: plural, kind },
    namespaced: true,
  });
  if (path === undefined || taken.has(formatGroupResource(resource))) return undefined;
  return {
    resource,
    templatePath: path.split("."),
    replicasOf(object) {
      if (replicasPath !== undefined) return countOf(valueAt(object, replicasPath.split(".")));
      return strategy === "Duplicate" ? undefined : 1;
    },
  };
}

/** The kinds of one logical cluster. */
export interface KindsSource {
  in(cluster: ObjectKey["cluster"]): readonly WorkloadKind[];
}

/**
 * An index that finds the strategies of a logical cluster without scanning all logical clusters.
 */
export const strategyIndexers: Indexers<WorkloadStrategy> = { own: { values: () => [""] } };

export function kindsSource(strategies: ObjectStore<WorkloadStrategy>): KindsSource {
  return {
    in(cluster) {
      const own = strategies.byIndex("own", { cluster, value: "" });
      return [...workloadKinds, ...customKinds(own)];
    },
  };
}

/** The replicas, with the API's default. */
function countOf(value: JsonValue | undefined): number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : 1;
}

export function valueAt(object: TemplatedObject, path: readonly string[]): JsonValue | undefined {
  let found: JsonValue | undefined = object as unknown as JsonObject;
  for (const field of path) {
    if (found === undefined || !isJsonObject(found)) return undefined;
    found = Object.hasOwn(found, field) ? found[field] : undefined;
  }
  return found;
}
