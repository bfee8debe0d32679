/** Who may do what in `root` before an administrator says more. The names are kcp's: tools look for them. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { rootCluster } from "@kcp-ts/machinery/names";
import { clusterRoleBindings, clusterRoles } from "../registry/index.ts";
import { wellKnownGroup } from "../request/user.ts";
import { clusterScoped, ensureObject, type Parts, systemWriteOptions } from "./parts.ts";

const apiGroup = "rbac.authorization.k8s.io";
const tenancy = "tenancy.kcp.io";

const roles: Readonly<Record<string, JsonObject>> = {
  "system:kcp:universal-workspacetype-use": {
    apiGroups: [tenancy],
    resources: ["workspacetypes"],
    resourceNames: ["universal", "organization", "team"],
    verbs: ["use"],
  },
  "system:kcp:home-clusterworkspace-create": {
    apiGroups: [tenancy],
    resources: ["workspaces"],
    resourceNames: ["~"],
    verbs: ["create", "get"],
  },
};

const homeCreatorsBinding = "system:kcp:configured-group:home-clusterworkspace-create";

/** Each gives a role to everybody who is known. */
const bindings: Readonly<Record<string, string>> = {
  "system:kcp:tenancy:authenticated:access": "system:kcp:workspace:access",
  "system:kcp:authenticated:tenancy:reader": "system:kcp:tenancy:reader",
  "system:kcp:authenticated:universal-workspacetype-use": "system:kcp:universal-workspacetype-use",
  [homeCreatorsBinding]: "system:kcp:home-clusterworkspace-create",
};

/** `homeCreators` are the groups that may have homes made: those said last, when any are said; everybody who is known otherwise. */
export async function makeRootRoles(
  parts: Parts,
  homeCreators: readonly string[] | undefined,
): Promise<void> {
  const at = (name: string) => clusterScoped(rootCluster, name);
  for (const [name, rule] of Object.entries(roles))
    await ensureObject(parts, clusterRoles, at(name), { rules: [rule] });
  for (const [name, role] of Object.entries(bindings)) {
    await ensureObject(parts, clusterRoleBindings, at(name), {
      roleRef: { apiGroup, kind: "ClusterRole", name: role },
      subjects: subjectsOf([wellKnownGroup.authenticated]),
    });
  }
  if (homeCreators === undefined) return;
  const build = async (old: JsonObject | undefined) => ({
    ...old,
    subjects: subjectsOf(homeCreators),
  });
  await parts.registry.update(
    clusterRoleBindings,
    at(homeCreatorsBinding),
    build,
    systemWriteOptions,
  );
}

function subjectsOf(groups: readonly string[]): JsonObject[] {
  return groups.map((name) => ({ apiGroup, kind: "Group", name }));
}
