/**
 * The policy of every logical cluster: shared by all, stored in none. Its subjects are groups that
 * only authenticators assign.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { wellKnownGroup } from "../../request/index.ts";
import { bootstrapClusterRoles } from "./bootstrap-roles.ts";
import { ClusterPolicy } from "./cluster-policy.ts";

const { masters, authenticated, unauthenticated, kcpAdmin } = wellKnownGroup;

/** Binding, role, and the groups that are its subjects. */
const bindings: readonly (readonly [string, string, readonly string[]])[] = [
  ["cluster-admin", "cluster-admin", [masters]],
  ["system:basic-user", "system:basic-user", [authenticated]],
  ["system:discovery", "system:discovery", [authenticated]],
  ["system:public-info-viewer", "system:public-info-viewer", [authenticated, unauthenticated]],
  ["system:monitoring", "system:monitoring", ["system:monitoring"]],
  [
    "system:service-account-issuer-discovery",
    "system:service-account-issuer-discovery",
    ["system:serviceaccounts"],
  ],
  ["system:kcp:admin:cluster-admin", "cluster-admin", [kcpAdmin]],
  ...["tenancy:workspace-bootstrapper", "logical-cluster-admin", "external-logical-cluster-admin"]
    .map((name) => `system:kcp:${name}`)
    .map((name) => [name, name, [name]] as const),
];

export const bootstrapPolicy = build();

function build(): ClusterPolicy {
  const policy = new ClusterPolicy();
  for (const role of bootstrapClusterRoles) {
    const { name } = role["metadata"] as { name: string };
    policy.put({ resource: "clusterroles", namespace: "", name }, role);
  }
  for (const [name, role, groups] of bindings) {
    policy.put({ resource: "clusterrolebindings", namespace: "", name }, binding(role, groups));
  }
  return policy;
}

function binding(role: string, groups: readonly string[]): JsonObject {
  return {
    roleRef: { kind: "ClusterRole", name: role },
    subjects: groups.map((name) => ({ kind: "Group", name })),
  };
}
