/** The user of a request: set by authentication, read by authorization, admission and audit. */
export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export const wellKnownGroup = {
  /** Members pass every authorization check. */
  masters: "system:masters",
  /** All users with valid credentials. */
  authenticated: "system:authenticated",
  /** All clients without credentials. */
  unauthenticated: "system:unauthenticated",
  /** Administrators of every logical cluster. */
  kcpAdmin: "system:kcp:admin",
} as const;

export const wellKnownUser = {
  anonymous: "system:anonymous",
  kcpAdmin: "kcp-admin",
  shardAdmin: "shard-admin",
} as const;

/** The user of requests without credentials. */
export const anonymousUser: UserInfo = Object.freeze({
  username: wellKnownUser.anonymous,
  groups: Object.freeze([wellKnownGroup.unauthenticated]),
});

/** The extra with the ID of the credential, so that an audit can distinguish credentials. */
export const credentialIdKey = "authentication.kubernetes.io/credential-id";

/**
 * The extra with the logical cluster of a service account: in other clusters the account does not
 * have its local name.
 */
export const clusterNameKey = "authentication.kcp.io/cluster-name";

/**
 * The extra with further identities that a user may act with, each in JSON; only global
 * administrators may grant them.
 */
export const warrantKey = "authorization.kcp.io/warrant";

/**
 * The extra with the clusters in which a user's identity is valid, as `cluster:<name>`; in other
 * clusters the user is only authenticated.
 */
export const scopesKey = "authentication.kcp.io/scopes";

/**
 * Whether a user passes every check everywhere: a user that is scoped to some logical clusters does
 * not, not even there.
 */
export function isSystemMaster({ groups, extra }: UserInfo): boolean {
  return (
    groups.includes(wellKnownGroup.masters) &&
    (extra === undefined || !Object.hasOwn(extra, scopesKey))
  );
}

/** Whether a user has access to all logical clusters, also those that do not exist. */
export function mayEnterAll(user: UserInfo): boolean {
  return isSystemMaster(user) || user.groups.includes(wellKnownGroup.kcpAdmin);
}

/**
 * Groups with permissions in all logical clusters: they cannot be impersonated by others. Upstream
 * lists some of kcp's own groups; here all of them count, since some grant permissions that no role
 * could.
 */
export function isPrivilegedGroup(group: string): boolean {
  return group === wellKnownGroup.masters || group.startsWith("system:kcp:");
}
