/**
 * Prevents privilege escalation: the author of a role must hold all its rules or have the verb
 * `escalate`, and the author of a binding must hold all rules of its role or have the verb `bind`
 * on it. An aggregated role can come to permit everything, so it requires full permissions.
 */
import { isJsonObject, type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { quote, type StatusError, statusError } from "@kcp-ts/machinery/status";
import { isSystemMaster, type UserInfo } from "../../request/index.ts";
import type { Authorizer } from "../authorizer.ts";
import { bootstrapPolicy } from "./bootstrap-policy.ts";
import { covers } from "./covers.ts";
import { type PolicyRule, readRules } from "./policy-rule.ts";
import { localAdminCluster, type RbacAuthorizer } from "./rbac-authorizer.ts";
import { describeRules, quoteAll } from "./rule-text.ts";
import type { RoleRef } from "./subject-index.ts";

/** The attributes of a write that this check needs. */
export interface RoleWrite {
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  readonly cluster: ClusterName;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly user: UserInfo;
}

const group = "rbac.authorization.k8s.io";
/** The resources whose writes are checked. */
export const checkedRoleResources = [
  { group, resource: "roles" },
  { group, resource: "clusterroles" },
  { group, resource: "rolebindings" },
  { group, resource: "clusterrolebindings" },
];

export class EscalationCheck {
  readonly #rbac: RbacAuthorizer;
  readonly #authorizer: Authorizer;

  /** `authorizer` is the complete authorizer, which decides about the special verbs. */
  constructor(rbac: RbacAuthorizer, authorizer: Authorizer) {
    this.#rbac = rbac;
    this.#authorizer = authorizer;
  }

  /**
   * Throws a 403 when the object grants more than its author holds. Undefined for objects that
   * grant nothing.
   */
  check(
    write: RoleWrite,
    object: JsonObject,
    old: JsonObject | undefined,
  ): Promise<void> | undefined {
    if (write.operation === "DELETE") return undefined;
    if (isSystemMaster(write.user)) return undefined;
    if (old !== undefined && onlyCollectorsFieldsDiffer(object, old)) return undefined;
    switch (write.resource) {
      case "roles":
      case "clusterroles":
        return this.#checkRole(write, object, old);
      case "rolebindings":
      case "clusterrolebindings":
        return this.#checkBinding(write, object);
      default:
        return undefined;
    }
  }

  async #checkRole(
    write: RoleWrite,
    object: JsonObject,
    old: JsonObject | undefined,
  ): Promise<void> {
    const { operation, resource } = write;
    // A POST has no name in its path, so rules with resourceNames do not apply to it.
    const name = operation === "CREATE" ? "" : write.name;
    if (await this.#may(write, "escalate", { resource, name })) return;
    const replaced = operation === "CREATE" ? await this.#replacedRules(write, object) : noRules;
    await this.#confirm(write, nameOf(object), [...readRules(object["rules"]), ...replaced]);
    if (!isJsonObject(object["aggregationRule"]) && !isJsonObject(old?.["aggregationRule"])) return;
    const { rules } = await this.#rbac.rulesFor(write.user, write.cluster, write.namespace);
    if (covers(rules, fullAuthority).kind === "covered") return;
    throw forbidden(
      write,
      nameOf(object),
      "must have cluster-admin privileges to use the aggregationRule",
    );
  }

  /**
   * The rules of the shared role of this name. A cluster's own role replaces it, also for subjects
   * that are already bound to it: the author of the new role decides about all these rules.
   */
  async #replacedRules(
    { resource, namespace }: RoleWrite,
    object: JsonObject,
  ): Promise<readonly PolicyRule[]> {
    const kind = resource === "clusterroles" ? "ClusterRole" : "Role";
    const roleRef: RoleRef = { kind, name: nameOf(object) };
    const shared = bootstrapPolicy.rulesOf(roleRef, namespace)?.flatMap(({ rules }) => rules);
    return shared ?? (await this.#rbac.roleRules(roleRef, localAdminCluster, namespace)) ?? noRules;
  }

  async #checkBinding(write: RoleWrite, object: JsonObject): Promise<void> {
    const sent = object["roleRef"] as JsonObject;
    const roleRef = { kind: sent["kind"], name: sent["name"] } as RoleRef;
    const resource = roleRef.kind === "Role" ? "roles" : "clusterroles";
    if (await this.#may(write, "bind", { resource, name: roleRef.name })) return;
    const { cluster, namespace } = write;
    const rules = await this.#rbac.roleRules(roleRef, cluster, namespace);
    if (rules === undefined) {
      const missing = { group, resource: roleRef.kind.toLowerCase() };
      throw statusError.notFound(missing, roleRef.name);
    }
    await this.#confirm(write, nameOf(object), rules);
  }

  async #may(
    { cluster, user, version, namespace }: RoleWrite,
    verb: string,
    about: { readonly resource: string; readonly name: string },
  ): Promise<boolean> {
    const { allowed } = await this.#authorizer.authorize({
      user,
      verb,
      cluster,
      group,
      version,
      subresource: "",
      namespace,
      path: "",
      isResourceRequest: true,
      ...about,
    });
    return allowed;
  }

  async #confirm(write: RoleWrite, name: string, wanted: readonly PolicyRule[]): Promise<void> {
    const { user, cluster, namespace } = write;
    const { rules, errors } = await this.#rbac.rulesFor(user, cluster, namespace);
    const coverage = covers(rules, wanted);
    if (coverage.kind === "covered") return;
    const who = `user ${quote(user.username)} (groups=${quoteAll(user.groups)})`;
    const missing =
      coverage.kind === "missing"
        ? describeRules(coverage.rules)
        : "the rules are too many to compare";
    const unresolved = errors.length === 0 ? "" : `; resolution errors: [${errors.join(" ")}]`;
    throw forbidden(
      write,
      name,
      `${who} is attempting to grant RBAC permissions not currently held:\n${missing}${unresolved}`,
    );
  }
}

const noRules: readonly PolicyRule[] = [];

const noTexts: readonly string[] = [];
const fullAuthority: readonly PolicyRule[] = [
  {
    verbs: ["*"],
    apiGroups: ["*"],
    resources: ["*"],
    resourceNames: noTexts,
    nonResourceURLs: noTexts,
  },
  {
    verbs: ["*"],
    apiGroups: noTexts,
    resources: noTexts,
    resourceNames: noTexts,
    nonResourceURLs: ["*"],
  },
];

function forbidden({ group, resource }: RoleWrite, name: string, message: string): StatusError {
  return statusError.forbidden({ group, resource }, name, message);
}

function nameOf(object: JsonObject): string {
  return String((object["metadata"] as JsonObject)["name"] ?? "");
}

/**
 * The garbage collector must be able to remove finalizers and owners of an object, whatever the
 * object grants.
 */
function onlyCollectorsFieldsDiffer(object: JsonObject, old: JsonObject): boolean {
  return jsonEqual(withoutCollectorsFields(object), withoutCollectorsFields(old));
}

function withoutCollectorsFields(object: JsonObject): JsonObject {
  const {
    finalizers: _finalizers,
    ownerReferences: _owners,
    managedFields: _managers,
    resourceVersion: _version,
    ...metadata
  } = object["metadata"] as JsonObject;
  return { ...object, metadata };
}
