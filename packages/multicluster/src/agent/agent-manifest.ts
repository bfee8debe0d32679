/**
 * What an agent needs in a physical cluster, as objects for `kubectl apply`: a namespace, an account with the rights that syncing takes and no more, the way to
 * the control plane in a Secret, and a Deployment of one.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { agentAnnotation, allResources, hashDigits, isSyncedNative } from "../api/index.ts";
import type { TargetIdentity } from "../syncer/index.ts";

export interface AgentManifestOptions {
  readonly target: TargetIdentity;
  /** `deployments.apps`; "*" is everything. */
  readonly resources: readonly string[];
  readonly image: string;
  /** Names the token by its file, which is beside it. */
  readonly kubeconfig: string;
  /** May do no more than the agent has to upstream, and for a while only. */
  readonly token: string;
}

/** The name of everything that is made for an agent, on both sides; in the cluster also of its namespace. */
export function agentId({ name, uid }: Pick<TargetIdentity, "name" | "uid">): string {
  const hash = hashDigits(uid, 8);
  const prefix = "kcp-syncer";
  return `${prefix}-${name.slice(0, labelCharactersMax - prefix.length - hash.length - 2)}-${hash}`;
}

/** A namespace's name, and a label's value. */
const labelCharactersMax = 63;

/** What applying, following and deleting objects takes. */
export const syncVerbs = ["get", "list", "watch", "create", "patch", "delete"] as const;
/** A status that is known upstream is applied where the object is. */
const statusVerbs = ["get", "patch"] as const;
/** Objects are synced into namespaces that are made for them. */
export const namespaceVerbs = ["get", "list", "watch", "create", "patch", "delete"] as const;
/** In the agent's container, of the Secret. */
const folder = "/kcp";
const rbac = "rbac.authorization.k8s.io";

export function agentManifest(options: AgentManifestOptions): readonly JsonObject[] {
  const { target } = options;
  const id = agentId(target);
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
    deployment(namespaced, options),
  ];
}

/** The token in it is renewed by the agent itself. */
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
    // What the cluster has is summed up.
    { apiGroups: [""], resources: ["nodes"], verbs: ["get", "list"] },
    ...(names.some((name) => name === "pods") ? podRules : []),
    // What a schedule has begun is stopped with it, at most one (`syncer/fence.ts`).
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

/** What debugging takes: logs, commands and ports of Pods, and what befell them. */
const podRules: readonly JsonObject[] = [
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
  metadata: JsonObject,
  { target, resources, image }: AgentManifestOptions,
): JsonObject {
  const id = agentId(target);
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
      // Two at a time would only double the requests.
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

/** `deployments.apps` is a resource and its group; `*` is all of both. */
export function parseName(name: string): { readonly resource: string; readonly group: string } {
  if (name === allResources) return { resource: "*", group: "*" };
  const dot = name.indexOf(".");
  return dot === -1
    ? { resource: name, group: "" }
    : { resource: name.slice(0, dot), group: name.slice(dot + 1) };
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}
