/**
 * Who may enter a logical cluster at all: a gate in front of what its rules say.
 *
 * It must be far enough; whoever enters must be in the groups that it requires, and be given the verb `access` on `/` by its rules. One
 * that does not exist has no rules and refuses in the same words, so that nobody learns which there are. One that an administrator made by
 * using a new name has no LogicalCluster, but may have rules.
 */

import {
  type Authorizer,
  type Decision,
  decisionStep,
  delegateDecision,
  effectiveUsers,
  hasOwnIdentityIn,
  recordDecision,
} from "@kcp-ts/apiserver/authorization";
import { type Attributes, type UserInfo, wellKnownGroup } from "@kcp-ts/apiserver/request";
import type { ClusterName } from "@kcp-ts/machinery/names";

export interface LogicalClusterSource {
  /** Without a promise when it is at hand; undefined when there is none. */
  logicalCluster(
    cluster: ClusterName,
  ): LogicalClusterState | undefined | Promise<LogicalClusterState | undefined>;
}

export interface LogicalClusterState {
  readonly phase: string;
  /** `a,b;c`: in a and b, or in c. */
  readonly requiredGroups: string | undefined;
}

/** What those hear who may not know more. */
export const accessDenied = "access denied";

export function workspaceContentAuthorizer(
  inner: Authorizer,
  clusters: LogicalClusterSource,
): Authorizer {
  return {
    authorize(attributes) {
      const { cluster, user } = attributes;
      // Not a tenant's, or somebody to whom all are open, new names included.
      if (cluster === "*" || cluster.startsWith("system:") || isPrivileged(user, cluster))
        return entered(inner, attributes, "logical cluster admin access");
      if (!attributes.isResourceRequest && isProcessPath(attributes.path))
        return entered(inner, attributes, "shard-level path");
      const state = clusters.logicalCluster(cluster);
      return state instanceof Promise
        ? state.then((known) => enter(inner, attributes, known))
        : enter(inner, attributes, state);
    },
  };
}

const logicalClusterAdmin = "system:kcp:logical-cluster-admin";
const externalLogicalClusterAdmin = "system:kcp:external-logical-cluster-admin";
const workspaceBootstrapper = "system:kcp:tenancy:workspace-bootstrapper";

const openPhases: ReadonlySet<string> = new Set([
  "Initializing",
  "Ready",
  "Inactive",
  "Terminating",
  "Deleting",
]);

function enter(
  inner: Authorizer,
  attributes: Attributes,
  state: LogicalClusterState | undefined,
): Decision | Promise<Decision> {
  const { user } = attributes;
  const required = state?.requiredGroups;
  if (state !== undefined) {
    if (!openPhases.has(state.phase))
      return closed(attributes, refusal, `not permitted due to phase "${state.phase}"`);
    if (required !== undefined && !hasGroups(attributes, required)) {
      const reason = `user is not a member of required groups: ${required}`;
      recordDecision(attributes, decisionStep.requiredGroups, finalRefusal, reason);
      return finalRefusal;
    }
  }
  const groups =
    required === undefined ? noGroups : `user is member of required groups: ${required}`;
  if (user.groups.includes(logicalClusterAdmin))
    return entered(inner, attributes, "logical cluster admin access", groups);
  if (isLocalServiceAccount(attributes))
    return entered(inner, attributes, "local service account access", groups);
  const access = inner.authorize(accessOf(attributes));
  const settle = ({ allowed }: Decision) => {
    if (allowed) return entered(inner, attributes, "user logical cluster access", groups);
    // What is not there is not for others to open either.
    return state === undefined
      ? closed(attributes, finalRefusal, "LogicalCluster not found")
      : closed(attributes, refusal, "no verb=access permission on /");
  };
  return access instanceof Promise ? access.then(settle) : settle(access);
}

const noGroups = "logical cluster does not require groups";

function entered(
  inner: Authorizer,
  attributes: Attributes,
  why: string,
  groups = why,
): Decision | Promise<Decision> {
  if (attributes.note === undefined) return inner.authorize(attributes);
  return delegateDecision(inner, attributes, [
    [decisionStep.content, why],
    [decisionStep.requiredGroups, groups],
  ]);
}

/** The cause is for those who read the audit log. */
function closed(attributes: Attributes, decision: Decision, reason: string): Decision {
  recordDecision(attributes, decisionStep.content, decision, reason);
  return decision;
}

function accessOf({ user, cluster }: Attributes): Attributes {
  return {
    user,
    cluster,
    verb: "access",
    path: "/",
    isResourceRequest: false,
    group: "",
    version: "",
    resource: "",
    subresource: "",
    namespace: "",
    name: "",
  };
}

function isPrivileged(user: UserInfo, cluster: ClusterName): boolean {
  const { masters, kcpAdmin } = wellKnownGroup;
  const hasPower = user.groups.includes(masters) || user.groups.includes(kcpAdmin);
  return hasPower && hasOwnIdentityIn(user, cluster);
}

/** Health and version are the process's. */
const processPath = /^\/(?:(?:healthz|livez|readyz)(?:\/.*)?|version\/?)$/s;

function isProcessPath(path: string): boolean {
  return processPath.test(path);
}

const clusterNameExtra = "authentication.kcp.io/cluster-name";
const serviceAccountPrefix = "system:serviceaccount:";

/** Service accounts may enter the cluster that they are of. */
function isLocalServiceAccount({ user, cluster }: Attributes): boolean {
  if (!user.username.startsWith(serviceAccountPrefix)) return false;
  const home = user.extra?.[clusterNameExtra];
  return home?.length === 1 && home[0] === cluster;
}

const exemptGroups = [logicalClusterAdmin, externalLogicalClusterAdmin, workspaceBootstrapper];

/**
 * Service accounts need none. What counts is who somebody is here: groups that another cluster's administrator gave them, and accounts of
 * other clusters, which anybody can make, are those of strangers.
 */
function hasGroups({ user, cluster }: Attributes, required: string): boolean {
  const wanted = required.split(";").map((all) => all.split(",").map((group) => group.trim()));
  return effectiveUsers(user, cluster).some(({ username, groups }) => {
    if (username.startsWith(serviceAccountPrefix)) return true;
    if (exemptGroups.some((group) => groups.includes(group))) return true;
    return wanted.some((all) => all.every((group) => groups.includes(group)));
  });
}

/** The same words whatever the cause: a client may see them. */
const refusal: Decision = { allowed: false, reason: accessDenied };
/** As upstream: whoever else is asked about requests, such as a webhook, has no say in these. */
const finalRefusal: Decision = { ...refusal, isFinal: true };
