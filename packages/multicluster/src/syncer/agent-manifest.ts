/**
 * What an agent needs in a physical cluster, as objects for `kubectl apply`: a namespace, an account with the rights that syncing the given kinds takes and no more,
 * the kubeconfig of the control plane in a Secret, and a Deployment of one.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { formatGroupResource } from "@kcp-ts/machinery/status";
import type { SyncedResource } from "./context.ts";
import { hashDigits, type TargetIdentity } from "./origin.ts";

export interface AgentManifestOptions {
  readonly target: TargetIdentity;
  readonly resources: readonly SyncedResource[];
  readonly image: string;
  /** With a token that may do no more than the agent has to upstream. */
  readonly upstreamKubeconfig: string;
}

/** Also the name of everything that is not in the namespace. */
export function agentId({ name, uid }: TargetIdentity): string {
  return `kcp-syncer-${name}-${hashDigits(uid, 8)}`;
}

export function agentManifest(options: AgentManifestOptions): readonly JsonObject[] {
  const id = agentId(options.target);
  const subjects = [{ kind: "ServiceAccount", name: id, namespace: id }];
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: id };
  const rbac = "rbac.authorization.k8s.io/v1";
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: id } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: id, namespace: id } },
    {
      apiVersion: rbac,
      kind: "ClusterRole",
      metadata: { name: id },
      rules: rulesFor(options.resources),
    },
    { apiVersion: rbac, kind: "ClusterRoleBinding", metadata: { name: id }, subjects, roleRef },
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: id, namespace: id },
      type: "Opaque",
      stringData: { kubeconfig: options.upstreamKubeconfig },
    },
    deployment(id, options),
  ];
}

/** Objects: what server-side apply, deleting and following take. Statuses are written only where the policy says so, with the same verb. */
const objectVerbs = ["get", "list", "watch", "create", "patch", "delete"];

function rulesFor(resources: readonly SyncedResource[]): JsonObject[] {
  const byGroup = new Map<string, Set<string>>();
  for (const { resource, hasStatus } of resources) {
    const names = byGroup.get(resource.group) ?? new Set<string>();
    byGroup.set(resource.group, names.add(resource.resource));
    if (hasStatus) names.add(`${resource.resource}/status`);
  }
  return [
    {
      apiGroups: [""],
      resources: ["namespaces"],
      verbs: ["get", "list", "watch", "create", "delete"],
    },
    ...[...byGroup].map(([group, names]) => ({
      apiGroups: [group],
      resources: [...names],
      verbs: objectVerbs,
    })),
  ];
}

function deployment(id: string, { target, resources, image }: AgentManifestOptions): JsonObject {
  const labels = { app: id };
  const args = [
    "syncer",
    "--from-kubeconfig=/kcp/kubeconfig",
    `--from-cluster=${target.cluster}`,
    `--sync-target=${target.name}`,
    `--sync-target-uid=${target.uid}`,
    ...resources.map(({ resource }) => `--resources=${formatGroupResource(resource)}`),
  ];
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: id, namespace: id },
    spec: {
      replicas: 1,
      // Two at a time would only double the requests.
      strategy: { type: "Recreate" },
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: id,
          containers: [
            {
              name: "syncer",
              image,
              args,
              securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
              volumeMounts: [{ name: "kcp", mountPath: "/kcp", readOnly: true }],
            },
          ],
          volumes: [{ name: "kcp", secret: { secretName: id } }],
        },
      },
    },
  };
}
