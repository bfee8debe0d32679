/** Who asks: the vocabulary that authentication fills in, and authorization, admission and audit read. */
export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export const wellKnownGroup = {
  /** Passes every check. */
  masters: "system:masters",
  /** Everybody who showed valid credentials. */
  authenticated: "system:authenticated",
  /** Everybody who showed none. */
  unauthenticated: "system:unauthenticated",
  /** Administrators of every logical cluster. */
  kcpAdmin: "system:kcp:admin",
} as const;

export const wellKnownUser = {
  anonymous: "system:anonymous",
  kcpAdmin: "kcp-admin",
  shardAdmin: "shard-admin",
} as const;

/** Who asks when nobody says. */
export const anonymousUser: UserInfo = Object.freeze({
  username: wellKnownUser.anonymous,
  groups: Object.freeze([wellKnownGroup.unauthenticated]),
});

/** The extra that names the credential itself, so that an audit can tell one from another. */
export const credentialIdKey = "authentication.kubernetes.io/credential-id";

/** Which logical cluster a service account is of: elsewhere it does not act under its local name. */
export const clusterNameKey = "authentication.kcp.io/cluster-name";

/** Further identities that a user may act with, each in JSON; only who has power over all logical clusters may hand them out. */
export const warrantKey = "authorization.kcp.io/warrant";

/** Where a user is who they say, as `cluster:<name>`; elsewhere they are nobody in particular. */
export const scopesKey = "authentication.kcp.io/scopes";

/** Whether somebody passes every check everywhere: who is held to some logical clusters does not, not even there. */
export function isSystemMaster({ groups, extra }: UserInfo): boolean {
  return (
    groups.includes(wellKnownGroup.masters) &&
    (extra === undefined || !Object.hasOwn(extra, scopesKey))
  );
}

/** Whether every logical cluster is open to somebody, also those that do not exist. */
export function mayEnterAll(user: UserInfo): boolean {
  return isSystemMaster(user) || user.groups.includes(wellKnownGroup.kcpAdmin);
}

/**
 * Groups with power over all logical clusters: nobody gets them by way of another. Upstream lists some of kcp's own; here it is all of them, since
 * some open what no role could.
 */
export function isPrivilegedGroup(group: string): boolean {
  return group === wellKnownGroup.masters || group.startsWith("system:kcp:");
}
