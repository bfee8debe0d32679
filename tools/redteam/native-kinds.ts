/**
 * The native kinds, which a server serves where a definition names them: found in a workspace that
 * has all of these definitions.
 */
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import type { ApiClient } from "../bench/api-client.ts";
import { definition, definitionsPath } from "../bench/hold-case.ts";
import { readServedKinds, type ServedKind } from "./served-kinds.ts";

export interface NativeKind extends ServedKind {
  /** The definition by which a workspace serves the kind. */
  readonly definition: object;
}

interface NativeName {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly version: string;
  readonly isNamespaced: boolean;
}

const named = (
  group: string,
  kinds: Readonly<Record<string, string>>,
  { version = "v1", isNamespaced = true } = {},
): NativeName[] =>
  Object.entries(kinds).map(([kind, plural]) => ({ group, kind, plural, version, isNamespaced }));

const nativeNames: readonly NativeName[] = [
  ...named("", {
    Pod: "pods",
    PodTemplate: "podtemplates",
    ReplicationController: "replicationcontrollers",
    Service: "services",
    Endpoints: "endpoints",
    LimitRange: "limitranges",
    PersistentVolumeClaim: "persistentvolumeclaims",
  }),
  ...named("", { PersistentVolume: "persistentvolumes", Node: "nodes" }, { isNamespaced: false }),
  ...named("apps", {
    Deployment: "deployments",
    ReplicaSet: "replicasets",
    StatefulSet: "statefulsets",
    DaemonSet: "daemonsets",
    ControllerRevision: "controllerrevisions",
  }),
  ...named("batch", { Job: "jobs", CronJob: "cronjobs" }),
  ...named(
    "autoscaling",
    { HorizontalPodAutoscaler: "horizontalpodautoscalers" },
    { version: "v2" },
  ),
  ...named("networking.k8s.io", { Ingress: "ingresses", NetworkPolicy: "networkpolicies" }),
  ...named("policy", { PodDisruptionBudget: "poddisruptionbudgets" }),
  ...named("discovery.k8s.io", { EndpointSlice: "endpointslices" }),
  ...named("storage.k8s.io", { StorageClass: "storageclasses" }, { isNamespaced: false }),
];

export async function readNativeKinds(client: ApiClient, cluster: string): Promise<NativeKind[]> {
  const definitions = new Map(nativeNames.map((name) => [keyOf(name), definitionOf(name)]));
  for (const each of definitions.values())
    await client.must("POST", `/clusters/${cluster}${definitionsPath}`, JSON.stringify(each));
  for (let tries = 0; tries < 100; tries++) {
    const kinds = (await readServedKinds(client, cluster)).flatMap((kind) => {
      const [version = "", group = ""] = kind.apiVersion.split("/").reverse();
      const found = definitions.get(keyOf({ group, version, kind: kind.kind }));
      return found === undefined ? [] : { ...kind, definition: found };
    });
    if (kinds.length === nativeNames.length) return kinds;
    await sleep(systemClock, 100);
  }
  throw new Error("a native kind is not served");
}

function keyOf({ group, version, kind }: Pick<NativeName, "group" | "version" | "kind">): string {
  return `${group}/${version}/${kind}`;
}

function definitionOf({ group, kind, plural, version, isNamespaced }: NativeName): object {
  const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const made = definition({
    schema,
    plural,
    group,
    version: { name: version },
    spec: {
      scope: isNamespaced ? "Namespaced" : "Cluster",
      names: { plural, singular: kind.toLowerCase(), kind },
    },
  });
  const annotations = {
    "api-approved.kubernetes.io": "unapproved, for an attack",
    "workload.kcp.io/native-kind": "true",
  };
  const name = `${plural}.${group === "" ? "core" : group}`;
  return { ...made, metadata: { name, annotations } };
}
