/**
 * The objects of an agent in a physical cluster, for `kubectl apply`: a namespace, a ServiceAccount
 * with the permissions that syncing requires and no more, a Secret with the kubeconfig of the
 * control plane, and a Deployment with one replica. All have the name of the agent's account.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { allResources } from "../api/default-resources.ts";
import { agentAnnotation } from "../api/names.ts";
import { isSyncedNative } from "../api/synced-natives.ts";
import type { TargetIdentity } from "../syncer/index.ts";
import { base64 } from "./base64.ts";

export interface AgentManifestOptions {
  readonly target: TargetIdentity;
  /** Resources such as `deployments.apps`; "*" means all resources. */
  readonly resources: readonly string[];
  readonly image: string;
  /** The kubeconfig refers to the token by the file next to it. */
  readonly kubeconfig: string;
  /** A token that expires, and permits no more than the agent has to do upstream. */
  readonly token: string;
}

/** The verbs for applying, watching and deleting objects. */
export const syncVerbs = ["get", "list", "watch", "create", "patch", "delete"] as const;
/** The syncer applies a status that the control plane owns to the status subresource. */
const statusVerbs = ["get", "patch"] as const;
/** Objects are synced into namespaces that the syncer creates for them. */
export const namespaceVerbs = ["get", "list", "watch", "create", "patch", "delete"] as const;
/** The mount path of the Secret in the agent's container. */
const folder = "/kcp";
const rbac = "rbac.authorization.k8s.io";

/** `id` is the name of the agent's ServiceAccount in the control plane. */
export function manifestOfAgent(id: string, options: AgentManifestOptions): readonly JsonObject[] {
  const { target } = options;
  const { cluster, name, uid } = target;
  const mark = { [agentAnnotation]: JSON.stringify({ cluster, name, uid }) };
  const metadata = { name: id, annotations: mark };
  const namespaced = { ...metadata, namespace: id };
  const subjects = [{ kind: "ServiceAccount", name: id, namespace: id }];
  const bound = (kind: string) => ({ subjects, roleRef: { apiGroup: rbac, kind, name: id } });
  const apiVersion = `${rbac}/v1`;
  return [
    { apiVersion: "v1", kind: "Namespace", metadata },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: namespaced },
    { apiVersion, kind: "ClusterRole", metadata, rules: rulesFor(options.resources) },
    { apiVersion, kind: "ClusterRoleBinding", metadata, ...bound("ClusterRole") },
    { apiVersion, kind: "Role", metadata: namespaced, rules: [ownSecret(id)] },
    { apiVersion, kind: "RoleBinding", metadata: namespaced, ...bound("Role") },
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: namespaced,
      type: "Opaque",
      data: { kubeconfig: base64(options.kubeconfig), token: base64(options.token) },
    },
    deployment(id, namespaced, options),
  ];
}

/** The agent renews the token in its Secret itself. */
function ownSecret(id: string): JsonObject {
  return { apiGroups: [""], resources: ["secrets"], resourceNames: [id], verbs: ["get", "patch"] };
}

function rulesFor(names: readonly string[]): JsonObject[] {
  const byGroup = new Map<string, { resources: Set<string>; statuses: Set<string> }>();
  for (const name of names) {
    const { group, resource } = parseName(name);
    const known = byGroup.get(group) ?? { resources: new Set(), statuses: new Set() };
    byGroup.set(group, known);
    known.resources.add(resource);
    if (resource !== "*" && !isSyncedNative(name)) known.statuses.add(`${resource}/status`);
  }
  return [
    { apiGroups: [""], resources: ["namespaces"], verbs: [...namespaceVerbs] },
    // The agent reports the capacity of the cluster as the sum over its nodes.
    { apiGroups: [""], resources: ["nodes"], verbs: ["get", "list"] },
    ...(names.some((name) => name === "pods") ? podRules : []),
    // Fencing a StopBeforeStart CronJob stops the Jobs that it has created (`syncer/fence.ts`).
    ...(names.includes("cronjobs.batch") && !names.includes("jobs.batch")
      ? [{ apiGroups: ["batch"], resources: ["jobs"], verbs: ["list", "delete"] }]
      : []),
    ...[...byGroup].flatMap(([group, { resources, statuses }]) => [
      { apiGroups: [group], resources: [...resources].sort(), verbs: [...syncVerbs] },
      ...(statuses.size === 0
        ? []
        : [{ apiGroups: [group], resources: [...statuses].sort(), verbs: [...statusVerbs] }]),
    ]),
  ];
}

/**
 * The permissions for debugging: logs, exec and ports of Pods, and Events about them; and for the
 * conditions of readiness gates, which controllers upstream set.
 */
const podRules: readonly JsonObject[] = [
  { apiGroups: [""], resources: ["pods/status"], verbs: ["patch"] },
  { apiGroups: [""], resources: ["pods/log"], verbs: ["get"] },
  {
    apiGroups: [""],
    resources: ["pods/attach", "pods/exec", "pods/portforward"],
    verbs: ["create", "get"],
  },
  { apiGroups: [""], resources: ["pods/ephemeralcontainers"], verbs: ["patch"] },
  { apiGroups: ["metrics.k8s.io"], resources: ["pods"], verbs: ["get", "list"] },
  { apiGroups: [""], resources: ["events"], verbs: ["get", "list", "watch"] },
];

function deployment(
  id: string,
  metadata: JsonObject,
  { target, resources, image }: AgentManifestOptions,
): JsonObject {
  const labels = { app: id };
  const args = [
    "syncer",
    `--from-kubeconfig=${folder}/kubeconfig`,
    `--from-cluster=${target.cluster}`,
    `--sync-target=${target.name}`,
    `--sync-target-uid=${target.uid}`,
    `--token-secret=${id}/${id}`,
    "--import-apis",
    ...resources.map((name) => `--resources=${name}`),
  ];
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata,
    spec: {
      replicas: 1,
      // Two agents at a time would only double the requests.
      strategy: { type: "Recreate" },
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: id,
          securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
          containers: [
            {
              name: "syncer",
              image,
              args,
              resources: { requests: { cpu: "20m", memory: "96Mi" }, limits: { memory: "512Mi" } },
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ["ALL"] },
              },
              terminationMessagePolicy: "FallbackToLogsOnError",
              volumeMounts: [{ name: "kcp", mountPath: folder, readOnly: true }],
            },
          ],
          volumes: [{ name: "kcp", secret: { secretName: id } }],
        },
      },
    },
  };
}

/** `deployments.apps` is a resource and its group; `*` is all resources of all groups. */
export function parseName(name: string): { readonly resource: string; readonly group: string } {
  if (name === allResources) return { resource: "*", group: "*" };
  const dot = name.indexOf(".");
  return dot === -1
    ? { resource: name, group: "" }
    : { resource: name.slice(0, dot), group: name.slice(dot + 1) };
}
