/** What has Pods behind Services: kinds of Kubernetes, and those of people who say in a WorkloadStrategy where the Pod template is. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { formatGroupResource } from "@kcp-ts/machinery/status";
import {
  defineResource,
  type Indexers,
  type ObjectKey,
  type ObjectStore,
  type Resource,
} from "@kcp-ts/sdk";
import { clusterLabel, podTemplatePath, type WorkloadStrategy } from "../api/index.ts";
import { strategiesDefault } from "../coordination/index.ts";
import { memberText, type TemplatedObject } from "./objects.ts";

export interface WorkloadKind {
  readonly resource: Resource<TemplatedObject>;
  /** Members from an object to what has the metadata of its Pods. */
  readonly templatePath: readonly string[];
  /** Undefined where a cluster decides for itself, as for a DaemonSet, and for what ends: nobody waits for its endpoints. */
  readonly replicasOf: (object: TemplatedObject) => number | undefined;
  /** Which of its objects count; all if left out. */
  readonly selector?: { readonly labelSelector: string };
}

const apps = { group: "apps", version: "v1", namespaced: true } as const;

const known = (
  resource: Resource<TemplatedObject>,
  replicasOf: WorkloadKind["replicasOf"] = () => undefined,
): WorkloadKind => ({ resource, templatePath: podTemplatePath(resource.kind), replicasOf });

const ofSpec = ({ spec }: TemplatedObject) => countOf(spec?.["replicas"]);

export const workloadKinds: readonly WorkloadKind[] = [
  known(defineResource({ ...apps, resource: "deployments", kind: "Deployment" }), ofSpec),
  known(defineResource({ ...apps, resource: "statefulsets", kind: "StatefulSet" }), ofSpec),
  known(defineResource({ ...apps, resource: "daemonsets", kind: "DaemonSet" })),
  known(defineResource({ ...apps, group: "batch", resource: "jobs", kind: "Job" })),
  {
    ...known(defineResource({ ...apps, group: "", resource: "pods", kind: "Pod" }), ({ spec }) =>
      (memberText(spec, "restartPolicy") ?? "Always") === "Always" ? 1 : undefined,
    ),
    // Those that were made here and sent to a cluster: what came up from one is somebody's who counts already, and there are very many.
    selector: { labelSelector: clusterLabel },
  },
];

const taken = new Set(strategiesDefault.map(({ name }) => name));

/**
 * The first by name for each kind, whatever has become of its expressions: what they say is of no interest here, and one that somebody gets wrong is no reason to
 * take a Service away from Pods that run.
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

/** Those of one logical cluster. */
export interface KindsSource {
  in(cluster: ObjectKey["cluster"]): readonly WorkloadKind[];
}

/** To find them without walking through those of everybody. */
export const strategyIndexers: Indexers<WorkloadStrategy> = { own: { values: () => [""] } };

export function kindsSource(strategies: ObjectStore<WorkloadStrategy>): KindsSource {
  return {
    in(cluster) {
      const own = strategies.byIndex("own", { cluster, value: "" });
      return [...workloadKinds, ...customKinds(own)];
    },
  };
}

/** What the API defaults to. */
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
