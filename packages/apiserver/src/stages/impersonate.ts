/**
 * Impersonation: a requestor with the verb `impersonate` on all requested attributes becomes that
 * user for the rest of the request.
 *
 * Beyond Kubernetes, as in kcp: only members of a privileged group can impersonate it, and the
 * impersonated identity is scoped to the logical cluster of the request. So an administrator of one
 * cluster gains nothing in another cluster by impersonating its users.
 */
import { statusError } from "@kcp-ts/machinery/status";
import {
  type ImpersonationRequest,
  impersonationPrefix,
  impersonationRequests,
} from "../authentication/index.ts";
import { type Authorizer, forbidden, readWarrant } from "../authorization/index.ts";
import type { Attributes } from "../request/attributes.ts";
import type { ClusterScope, RequestScope } from "../request/request-scope.ts";
import {
  isPrivilegedGroup,
  isSystemMaster,
  scopesKey,
  type UserInfo,
  warrantKey,
  wellKnownGroup,
  wellKnownUser,
} from "../request/user.ts";
import type { RequestContext } from "./request-context.ts";

/** The stage `impersonate` of the pipeline. Most requests have no header of impersonation. */
export function impersonate(
  context: RequestContext,
  { authorizer }: { readonly authorizer: Authorizer },
): Promise<undefined> | undefined {
  for (const name in context.request.headers)
    if (name.charCodeAt(0) === firstLetter && name.startsWith(impersonationPrefix))
      return becomeImpersonated(context, authorizer);
  return undefined;
}

const firstLetter = impersonationPrefix.charCodeAt(0);

async function becomeImpersonated(context: RequestContext, authorizer: Authorizer) {
  const { request, user, scope } = context;
  const { cluster } = scope as RequestScope;
  const wishes = impersonationRequests(request.headers, request.rawHeaders);
  if (wishes.length === 0) return undefined;
  context.user = await impersonatedUser(wishes, user, cluster, authorizer);
  context.impersonator = user;
  return undefined;
}

/** Throws a 403 unless the requestor may impersonate each of the attributes. */
async function impersonatedUser(
  wishes: readonly ImpersonationRequest[],
  requestor: UserInfo,
  cluster: ClusterScope,
  authorizer: Authorizer,
): Promise<UserInfo> {
  for (const wish of wishes) {
    const attributes = attributesOf(wish, requestor, cluster);
    const { allowed } = await authorizer.authorize(attributes);
    if (!allowed) throw forbidden(attributes);
  }
  const impersonated = userOf(wishes);
  if (isSystemMaster(requestor)) return impersonated;
  requirePermission(requestor, impersonated.groups);
  return scoped(impersonated, cluster, requestor);
}

/** Only members of a privileged group may impersonate it. */
function requirePermission(requestor: UserInfo, groups: readonly string[]): void {
  for (const group of groups)
    if (hasOnlyOwnGroups(group) && !requestor.groups.includes(group))
      throw forbiddenImpersonation();
}

/**
 * Scopes the user to this logical cluster, and the users of all its warrants: a warrant without the
 * scope would apply in other logical clusters, too.
 */
function scoped(user: UserInfo, cluster: ClusterScope, requestor: UserInfo): UserInfo {
  const { extra = {} } = user;
  const warrants = extra[warrantKey];
  // Members of system:kcp:admin have access to all clusters, so their impersonations are not
  // scoped.
  const isTrusted = requestor.groups.includes(wellKnownGroup.kcpAdmin);
  return {
    ...user,
    extra: {
      ...extra,
      [scopesKey]: [...(extra[scopesKey] ?? []), `cluster:${cluster}`],
      ...(warrants === undefined || isTrusted
        ? {}
        : { [warrantKey]: warrants.map((text) => scopedWarrant(text, cluster, requestor)) }),
    },
  };
}

function scopedWarrant(text: string, cluster: ClusterScope, requestor: UserInfo): string {
  const vouched = readWarrant(text);
  if (vouched === undefined) throw forbiddenImpersonation();
  requirePermission(requestor, vouched.groups);
  const { username, groups, extra } = scoped(vouched, cluster, requestor);
  return JSON.stringify({ user: username, groups, extra });
}

function forbiddenImpersonation(): Error {
  return statusError.forbiddenPath("impersonation is not allowed for the requestor");
}

/** Groups that only their own members may impersonate. */
function hasOnlyOwnGroups(group: string): boolean {
  return group === wellKnownGroup.authenticated || isPrivilegedGroup(group);
}

const resourceOf: Readonly<Record<ImpersonationRequest["kind"], string>> = {
  User: "users",
  ServiceAccount: "serviceaccounts",
  Group: "groups",
  UserExtra: "userextras",
  UID: "uids",
};

function attributesOf(
  wish: ImpersonationRequest,
  user: UserInfo,
  cluster: ClusterScope,
): Attributes {
  const isOwnGroup = wish.kind === "UserExtra" || wish.kind === "UID";
  return {
    user,
    verb: "impersonate",
    cluster,
    group: isOwnGroup ? "authentication.k8s.io" : "",
    version: "v1",
    resource: resourceOf[wish.kind],
    subresource: wish.kind === "UserExtra" ? wish.key : "",
    namespace: wish.kind === "ServiceAccount" ? wish.namespace : "",
    name: wish.name,
    path: "",
    isResourceRequest: true,
  };
}

function userOf(wishes: readonly ImpersonationRequest[]): UserInfo {
  let username = "";
  let uid: string | undefined;
  const groups: string[] = [];
  const extra = new Map<string, string[]>();
  const hasGroups = wishes.some(({ kind }) => kind === "Group");
  for (const wish of wishes) {
    if (wish.kind === "User") username = wish.name;
    else if (wish.kind === "Group") groups.push(wish.name);
    else if (wish.kind === "UID") uid = wish.name;
    else if (wish.kind === "UserExtra")
      extra.set(wish.key, [...(extra.get(wish.key) ?? []), wish.name]);
    else {
      username = `system:serviceaccount:${wish.namespace}:${wish.name}`;
      if (!hasGroups)
        groups.push("system:serviceaccounts", `system:serviceaccounts:${wish.namespace}`);
    }
  }
  const implied =
    username === wellKnownUser.anonymous
      ? wellKnownGroup.unauthenticated
      : wellKnownGroup.authenticated;
  const isSaid = groups.includes(wellKnownGroup.unauthenticated) || groups.includes(implied);
  return {
    username,
    ...(uid === undefined ? {} : { uid }),
    groups: isSaid ? groups : [...groups, implied],
    // Creates own properties for all names, `__proto__` included.
    ...(extra.size === 0 ? {} : { extra: Object.fromEntries(extra) }),
  };
}
