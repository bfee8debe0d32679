/** The initial RBAC rules of `root`. The names are kcp's, because tools look for them. */
import { clusterRoleBindings, clusterRoles } from "@kcp-ts/apiserver/registry";
import { wellKnownGroup } from "@kcp-ts/apiserver/request/user";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { rootCluster } from "@kcp-ts/machinery/names";
import {
  clusterScoped,
  ensureObject,
  systemWriteOptions,
  type TenancyDependencies,
} from "./dependencies.ts";

const apiGroup = "rbac.authorization.k8s.io";
const tenancy = "tenancy.kcp.io";
const topology = "topology.kcp.io";
/** The name of a consumers' group in a provider's maximal permission policy. */
const asConsumers = (group: string) => `apis.kcp.io:binding:${group}`;

const roles: Readonly<Record<string, readonly JsonObject[]>> = {
  "system:kcp:universal-workspacetype-use": [
    {
      apiGroups: [tenancy],
      resources: ["workspacetypes"],
      resourceNames: ["universal", "organization", "team"],
      verbs: ["use"],
    },
  ],
  "system:kcp:home-clusterworkspace-create": [
    {
      apiGroups: [tenancy],
      resources: ["workspaces"],
      resourceNames: ["~"],
      verbs: ["create", "get"],
    },
  ],
  "system:kcp:apiexport:tenancy:bind": [bindTo(tenancy)],
  "system:kcp:apiexport:topology:bind": [bindTo(topology)],
  "system:kcp:apiexport:tenancy:maximal-permission-policy": [
    {
      apiGroups: [tenancy],
      resources: ["workspaces", "workspaceauthenticationconfigurations", "workspacetypes"],
      verbs: ["*"],
    },
    {
      apiGroups: [tenancy],
      resources: ["workspaces/status", "workspacetypes/status"],
      verbs: ["list", "watch", "get"],
    },
  ],
  "system:kcp:apiexport:topology:maximal-permission-policy": [
    { apiGroups: [topology], resources: ["partitions", "partitionsets"], verbs: ["*"] },
  ],
  "system:kcp:apiexport:kcp-admin:maximal-permission-policy": [
    { apiGroups: [tenancy], resources: ["*"], verbs: ["*"] },
  ],
};

function bindTo(name: string): JsonObject {
  return {
    apiGroups: ["apis.kcp.io"],
    resources: ["apiexports"],
    resourceNames: [name],
    verbs: ["bind"],
  };
}

const homeCreatorsBinding = "system:kcp:configured-group:home-clusterworkspace-create";

/** Each entry binds a role to all authenticated users, or to the given group. */
const bindings: Readonly<Record<string, string | readonly [role: string, group: string]>> = {
  "system:kcp:tenancy:authenticated:access": "system:kcp:workspace:access",
  "system:kcp:authenticated:tenancy:reader": "system:kcp:tenancy:reader",
  "system:kcp:authenticated:universal-workspacetype-use": "system:kcp:universal-workspacetype-use",
  [homeCreatorsBinding]: "system:kcp:home-clusterworkspace-create",
  "system:kcp:authenticated:apiexport:tenancy:bind": "system:kcp:apiexport:tenancy:bind",
  "system:kcp:authenticated:apiexport:topology:bind": "system:kcp:apiexport:topology:bind",
  "system:kcp:authenticated:apiexport:tenancy:maximal-permission-policy": [
    "system:kcp:apiexport:tenancy:maximal-permission-policy",
    asConsumers(wellKnownGroup.authenticated),
  ],
  "system:kcp:authenticated:apiexport:topology:maximal-permission-policy": [
    "system:kcp:apiexport:topology:maximal-permission-policy",
    asConsumers(wellKnownGroup.authenticated),
  ],
  "system:kcp:authenticated:apiexport:kcp-admin:maximal-permission-policy": [
    "system:kcp:apiexport:kcp-admin:maximal-permission-policy",
    asConsumers(wellKnownGroup.kcpAdmin),
  ],
};

/**
 * Creates the roles. `homeCreators` are the groups that may create home workspaces; all
 * authenticated users without any.
 */
export async function createRootRoles(
  dependencies: TenancyDependencies,
  homeCreators: readonly string[] | undefined,
): Promise<void> {
  const at = (name: string) => clusterScoped(rootCluster, name);
  for (const [name, rules] of Object.entries(roles))
    await ensureObject(dependencies, clusterRoles, at(name), { rules });
  for (const [name, given] of Object.entries(bindings)) {
    const [role, group] = typeof given === "string" ? [given, wellKnownGroup.authenticated] : given;
    await ensureObject(dependencies, clusterRoleBindings, at(name), {
      roleRef: { apiGroup, kind: "ClusterRole", name: role },
      subjects: subjectsOf([group]),
    });
  }
  if (homeCreators === undefined) return;
  const build = async (old: JsonObject | undefined) => ({
    ...old,
    subjects: subjectsOf(homeCreators),
  });
  await dependencies.registry.update(
    clusterRoleBindings,
    at(homeCreatorsBinding),
    build,
    systemWriteOptions,
  );
}

function subjectsOf(groups: readonly string[]): JsonObject[] {
  return groups.map((name) => ({ apiGroup, kind: "Group", name }));
}
