/**
 * Authorizes the access to a logical cluster: a gate in front of the cluster's own RBAC rules.
 *
 * The cluster must have reached a phase that admits users; the user must be in the cluster's
 * required groups, and the cluster's rules must grant the verb `access` on `/`. A cluster that does
 * not exist has no rules and is denied with the same message, so that no user learns which clusters
 * exist. A cluster that an administrator created by using a new name has no LogicalCluster, but may
 * have rules.
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
  /** Returns without a promise when the LogicalCluster is cached; undefined when there is none. */
  logicalCluster(
    cluster: ClusterName,
  ): LogicalClusterState | undefined | Promise<LogicalClusterState | undefined>;
}

export interface LogicalClusterState {
  readonly phase: string;
  /** `a,b;c` requires the groups a and b, or the group c. */
  readonly requiredGroups: string | undefined;
}

/** The message for users that may not learn the cause. */
export const accessDenied = "access denied";

export function workspaceContentAuthorizer(
  inner: Authorizer,
  clusters: LogicalClusterSource,
): Authorizer {
  return {
    authorize(attributes) {
      const { cluster, user } = attributes;
      // The scope is not a tenant's cluster, or the user may access all clusters, new names
      // included.
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
    // Other authorizers may not allow access to a cluster that does not exist.
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
  if (attributes.recordDecision === undefined) return inner.authorize(attributes);
  return delegateDecision(inner, attributes, [
    [decisionStep.content, why],
    [decisionStep.requiredGroups, groups],
  ]);
}

/** Records the cause in the audit log only. */
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

/** Health and version endpoints belong to the process. */
const processPath = /^\/(?:(?:healthz|livez|readyz)(?:\/.*)?|version\/?)$/s;

function isProcessPath(path: string): boolean {
  return processPath.test(path);
}

const clusterNameExtra = "authentication.kcp.io/cluster-name";
const serviceAccountPrefix = "system:serviceaccount:";

/** Service accounts may access their own logical cluster. */
function isLocalServiceAccount({ user, cluster }: Attributes): boolean {
  if (!user.username.startsWith(serviceAccountPrefix)) return false;
  const home = user.extra?.[clusterNameExtra];
  return home?.length === 1 && home[0] === cluster;
}

const exemptGroups = [logicalClusterAdmin, externalLogicalClusterAdmin, workspaceBootstrapper];

/**
 * Whether the user is in the required groups; service accounts need none. Only the user's identity
 * in this cluster counts: groups that another cluster's administrator assigned, and service
 * accounts of other clusters, which any tenant can create, count as those of unauthenticated
 * clients.
 */
function hasGroups({ user, cluster }: Attributes, required: string): boolean {
  const wanted = required.split(";").map((all) => all.split(",").map((group) => group.trim()));
  return effectiveUsers(user, cluster).some(({ username, groups }) => {
    if (username.startsWith(serviceAccountPrefix)) return true;
    if (exemptGroups.some((group) => groups.includes(group))) return true;
    return wanted.some((all) => all.every((group) => groups.includes(group)));
  });
}

/** The same message for every cause, because clients see it. */
const refusal: Decision = { allowed: false, reason: accessDenied };
/**
 * As in upstream: the denial is final, and later authorizers, such as a webhook, are not called.
 */
const finalRefusal: Decision = { ...refusal, isFinal: true };
