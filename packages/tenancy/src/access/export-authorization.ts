/**
 * Authorization of shared APIs: which users may bind an export, which users may access its
 * consumers' content, which permissions a provider grants on its resources at most, and which users
 * may run the controllers of a WorkspaceType.
 */
import {
  type Authorizer,
  allowsPath,
  allowsResource,
  type Decision,
  decisionStep,
  delegateDecision,
  readRules,
  recordDecision,
  userExtra,
} from "@kcp-ts/apiserver/authorization";
import type { MaybePromise } from "@kcp-ts/apiserver/request/api-request";
import type { Attributes } from "@kcp-ts/apiserver/request/attributes";
import type { UserInfo } from "@kcp-ts/apiserver/request/user";
import type { JsonValue } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { quote } from "@kcp-ts/machinery/status";
import {
  apiBindings,
  apiExports,
  clusterCachedResources,
  type VirtualWorkspaceAccess,
} from "../api-sharing/index.ts";
import type { RemoteAccess } from "../replicas/index.ts";
import { workspaceTypes } from "../workspaces/index.ts";
import { isWithinTenancyPolicy } from "./tenancy-policy.ts";

/**
 * Authorizes the verb `bind` on an APIExport, independent of the user's access to the content of
 * its workspace.
 */
export function canBindExport(
  rules: Authorizer,
): (user: UserInfo, cluster: ClusterName, name: string) => Promise<boolean> {
  return (user, cluster, name) => ask(rules, apiExports, { user, cluster, name, verb: "bind" });
}

/**
 * Answers questions about logical clusters of other shards there, and all others here; the same
 * authorizer where there is one shard.
 */
export function sharedAccess(
  own: Authorizer,
  remote: RemoteAccess | undefined,
  { isWithinContent }: { readonly isWithinContent: boolean },
): Authorizer {
  if (remote === undefined) return own;
  return {
    async authorize(attributes) {
      const { cluster, user, group, version, resource, name, verb, subresource } = attributes;
      if (cluster === "*" || !remote.isElsewhere(cluster)) return own.authorize(attributes);
      const definition = { group, version, resource };
      const question = { user, cluster, definition, name, verb, subresource, isWithinContent };
      return { allowed: await remote.ask(question), reason: "" };
    },
  };
}

/** The roles of providers, on this shard and on others. */
export function sharedPolicies(
  own: Authorizer,
  elsewhere: (provider: ClusterName) => Authorizer | undefined,
): Authorizer {
  return {
    authorize: (attributes) =>
      (elsewhere(attributes.cluster as ClusterName) ?? own).authorize(attributes),
  };
}

/** Authorizes the verb `bind` on a ClusterCachedResource. */
export function canBindCachedResource(
  rules: Authorizer,
): (user: UserInfo, cluster: ClusterName, name: string) => Promise<boolean> {
  return (user, cluster, name) =>
    ask(rules, clusterCachedResources, { user, cluster, name, verb: "bind" });
}

/** Authorizes the verbs `list` and `watch` on all objects of a resource. */
export function canReadAll(
  rules: Authorizer,
): (user: UserInfo, cluster: ClusterName, resource: Named) => Promise<boolean> {
  return async (user, cluster, resource) => {
    for (const verb of ["list", "watch"])
      if (!(await ask(rules, resource, { user, cluster, name: "", verb }))) return false;
    return true;
  };
}

export function virtualWorkspaceAccess(
  authorizer: Authorizer,
  roles: Authorizer,
): VirtualWorkspaceAccess {
  return {
    canUseContent: (user, cluster, name, verb) =>
      ask(authorizer, apiExports, { user, cluster, name, verb, subresource: "content" }),
    canRunType: (user, cluster, name, verb) =>
      ask(authorizer, workspaceTypes, { user, cluster, name, verb }),
    canReadBindings: (user, cluster) =>
      ask(authorizer, apiBindings, { user, cluster, name: "", verb: "get" }),
    isAllowedByMaximalPermissionPolicy: async (attributes, provider) => {
      const { allowed } = await roles.authorize(asConsumer(attributes, provider));
      return allowed;
    },
    isAllowedByRules: doRulesAllow,
  };
}

/**
 * Enforces the maximal permission policies, which providers write as roles of their own workspace:
 * a policy limits every user in the workspaces that bound the export, their administrators
 * included. Also denies users every write to the status of exports and bindings.
 */
export function maximalPermissionPolicyAuthorizer(
  policyOn: (cluster: ClusterName, group: string, resource: string) => ClusterName | undefined,
  /** The roles of providers on other shards; undefined for one of this shard. */
  policiesElsewhere: (provider: ClusterName) => Authorizer | undefined = () => undefined,
): (rbac: Authorizer) => Authorizer {
  return (rbac) => ({
    authorize(attributes) {
      const { cluster, group, resource } = attributes;
      if (!attributes.isResourceRequest || cluster === "*")
        return isWithinPolicy(rbac, attributes, unbound);
      if (isSystemStatus(attributes)) {
        const kind = resource === apiExports.resource ? "apiexport" : "apibinding";
        const reason = `${kind} status updates not permitted`;
        recordDecision(attributes, decisionStep.systemKinds, finallyRefused, reason);
        return finallyRefused;
      }
      if (!isWithinTenancyPolicy(attributes))
        return beyondPolicyDecision(attributes, "policy of tenancy.kcp.io");
      const provider = policyOn(cluster, group, resource);
      if (provider === undefined) return isWithinPolicy(rbac, attributes, unbound);
      const policies = policiesElsewhere(provider) ?? rbac;
      const decision = policies.authorize(asConsumer(attributes, provider));
      const settle = ({ allowed, reason }: Decision) => {
        const policy = `API export of ${quote(provider)} policy: ${reason}`;
        return allowed
          ? isWithinPolicy(rbac, attributes, policy)
          : beyondPolicyDecision(attributes, policy);
      };
      return decision instanceof Promise ? decision.then(settle) : settle(decision);
    },
  });
}

const unbound = "no relevant binding found";

function isWithinPolicy(
  rbac: Authorizer,
  attributes: Attributes,
  policy: string,
): MaybePromise<Decision> {
  if (attributes.recordDecision === undefined) return rbac.authorize(attributes);
  return delegateDecision(rbac, attributes, [
    [decisionStep.maximalPermissions, policy],
    [decisionStep.systemKinds, "no system CRD violation"],
  ]);
}

function beyondPolicyDecision(attributes: Attributes, policy: string): Decision {
  recordDecision(attributes, decisionStep.maximalPermissions, refused, policy);
  return refused;
}

const refused: Decision = { allowed: false, reason: "" };
const finallyRefused: Decision = { ...refused, isFinal: true };
const writeVerbs: ReadonlySet<string> = new Set(["create", "update", "patch", "delete"]);

function isSystemStatus({ group, resource, subresource, verb }: Attributes): boolean {
  return (
    subresource === "status" &&
    group === apiExports.group &&
    (resource === apiExports.resource || resource === apiBindings.resource) &&
    writeVerbs.has(verb)
  );
}

const consumerPrefix = "apis.kcp.io:binding:";
const accountPrefix = "system:serviceaccount:";

/** The same request in the provider's workspace, by the user under the consumer prefix. */
function asConsumer(attributes: Attributes, provider: ClusterName): Attributes {
  const { username, groups, extra } = attributes.user;
  const [home = attributes.cluster] = extra?.[userExtra.clusterName] ?? [];
  const name = username.startsWith(accountPrefix)
    ? `system:kcp:serviceaccount:${home}:${username.slice(accountPrefix.length)}`
    : username;
  const user: UserInfo = {
    username: `${consumerPrefix}${name}`,
    groups: groups.map((group) => `${consumerPrefix}${group}`),
  };
  return { ...attributes, user, cluster: provider, recordDecision: undefined };
}

interface AccessQuery {
  readonly user: UserInfo;
  readonly cluster: ClusterName;
  readonly name: string;
  readonly verb: string;
  readonly subresource?: string;
}

interface Named {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

async function ask(
  authorizer: Authorizer,
  { group, version, resource }: Named,
  { subresource = "", ...question }: AccessQuery,
): Promise<boolean> {
  const path = `/apis/${group}/${version}/${resource}/${question.name}`;
  const { allowed } = await authorizer.authorize({
    ...question,
    group,
    version,
    resource,
    subresource,
    namespace: "",
    path: subresource === "" ? path : `${path}/${subresource}`,
    isResourceRequest: true,
  });
  return allowed;
}

function doRulesAllow(rules: JsonValue, attributes: Attributes): boolean {
  const { verb, group, resource, subresource, name, path } = attributes;
  const target = subresource === "" ? resource : `${resource}/${subresource}`;
  const anyTarget = subresource === "" ? "" : `*/${subresource}`;
  return readRules(rules).some((rule) =>
    attributes.isResourceRequest
      ? allowsResource(rule, { verb, group, target, anyTarget, name })
      : allowsPath(rule, verb, path),
  );
}
