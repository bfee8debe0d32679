/**
 * Acting in another's name: whoever may `impersonate` what they ask for is that user from here on.
 *
 * Beyond Kubernetes, as kcp does it: groups with power over all logical clusters can be had only by those who have them, and what is
 * gained holds in the cluster asked and nowhere else. So an administrator of one cluster becomes nobody in another by naming them.
 */
import { statusError } from "@kcp-ts/machinery/status";
import { type ImpersonationRequest, impersonationRequests } from "../authentication/index.ts";
import { type Authorizer, forbidden, readWarrant } from "../authorization/index.ts";
import type { ApiRequest } from "../request/api-request.ts";
import type { Attributes } from "../request/attributes.ts";
import type { ClusterScope } from "../request/request-scope.ts";
import {
  isPrivilegedGroup,
  isSystemMaster,
  scopesKey,
  type UserInfo,
  warrantKey,
  wellKnownGroup,
  wellKnownUser,
} from "../request/user.ts";

/** The user to act as; undefined when nobody is named. Throws a 400 or a 403. */
export async function impersonate(
  request: Pick<ApiRequest, "headers" | "rawHeaders">,
  requestor: UserInfo,
  cluster: ClusterScope,
  authorizer: Authorizer,
): Promise<UserInfo | undefined> {
  const wishes = impersonationRequests(request.headers, request.rawHeaders);
  if (wishes.length === 0) return undefined;
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

/** Groups with power over all logical clusters are had by whoever has them already. */
function requirePermission(requestor: UserInfo, groups: readonly string[]): void {
  for (const group of groups)
    if (hasOnlyOwnGroups(group) && !requestor.groups.includes(group))
      throw forbiddenImpersonation();
}

/**
 * Somebody who is themselves in this logical cluster alone, and so are all whom they have warrants of: a warrant without the scope would hold in
 * other logical clusters, too.
 */
function scoped(user: UserInfo, cluster: ClusterScope, requestor: UserInfo): UserInfo {
  const { extra = {} } = user;
  const warrants = extra[warrantKey];
  // Administrators of kcp are somebody everywhere, and vouch for whom they like.
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

/** Groups that only those can act with who are in them. */
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
    // Own properties whatever their names.
    ...(extra.size === 0 ? {} : { extra: Object.fromEntries(extra) }),
  };
}
