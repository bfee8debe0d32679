/**
 * A service account in root that may read the metrics of the server, with a long-lived token in a
 * Secret.
 */
import {
  clusterRoleBindings,
  clusterRoles,
  type ResourceDefinition,
  secrets,
  serviceAccounts,
} from "@kcp-ts/apiserver/registry";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { rootCluster } from "@kcp-ts/machinery/names";
import { ensureObject, type TenancyDependencies } from "./dependencies.ts";

const apiGroup = "rbac.authorization.k8s.io";
const role = "metrics-viewer";
const account = { name: "metrics", namespace: "default" };

const objects: readonly (readonly [ResourceDefinition, string, JsonObject])[] = [
  [clusterRoles, role, { rules: [{ nonResourceURLs: ["/metrics"], verbs: ["get"] }] }],
  [serviceAccounts, account.name, {}],
  [
    clusterRoleBindings,
    role,
    {
      roleRef: { apiGroup, kind: "ClusterRole", name: role },
      subjects: [
        { kind: "ServiceAccount", ...account },
        { apiGroup, kind: "User", name: "metrics-viewer" },
      ],
    },
  ],
  [
    secrets,
    account.name,
    {
      metadata: { annotations: { "kubernetes.io/service-account.name": account.name } },
      type: "kubernetes.io/service-account-token",
    },
  ],
];

export async function createMetricsViewer(dependencies: TenancyDependencies): Promise<void> {
  for (const [definition, name, object] of objects) {
    const namespace = definition.isNamespaced ? account.namespace : "";
    await ensureObject(dependencies, definition, { cluster: rootCluster, namespace, name }, object);
  }
}
