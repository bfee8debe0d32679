/**
 * The effective users of a user in a logical cluster. Most users are themselves; some have fewer
 * permissions in other clusters, and some have warrants for other identities:
 *
 * - Scopes (values are and-ed, each a list of clusters of which one must be the requested one): out
 *   of scope, the user is anonymous, but a member of system:authenticated and of the groups of its
 *   clusters.
 * - A service account of another cluster does not act under its local name, which could be another
 *   account here, but under a name that contains its cluster.
 * - Warrants name further identities, each evaluated in the same way.
 *
 * These extras come from authenticators and impersonation, never from clients; malformed extras
 * grant nothing.
 */
import {
  isJsonObject,
  JsonSyntaxError,
  type JsonValue,
  parseJson,
  textsOf,
} from "@kcp-ts/machinery/json";
import { type UserInfo, warrantKey, wellKnownGroup, wellKnownUser } from "../../request/index.ts";

export const userExtra = {
  clusterName: "authentication.kcp.io/cluster-name",
  scopes: "authentication.kcp.io/scopes",
  warrant: warrantKey,
} as const;

/** The number of identities of one request; further warrants are ignored. */
export const effectiveUsersMax = 64;

export function effectiveUsers(user: UserInfo, cluster: string): readonly UserInfo[] {
  if (user.extra === undefined) return [user];
  const known = decided.get(user);
  if (known?.cluster === cluster) return known.users;
  const users = usersOf(user, cluster);
  decided.set(user, { cluster, users });
  return users;
}

/**
 * Caches the result for the last cluster of a user: users are immutable, and the users of cached
 * tokens are reused.
 */
const decided = new WeakMap<
  UserInfo,
  { readonly cluster: string; readonly users: readonly UserInfo[] }
>();

function usersOf(user: UserInfo, cluster: string): readonly UserInfo[] {
  const found: UserInfo[] = [];
  const waiting: UserInfo[] = [user];
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    found.push(...identitiesOf(next, cluster));
    if (found.length >= effectiveUsersMax) return found.slice(0, effectiveUsersMax);
    for (const warrant of valuesOf(next, userExtra.warrant)) {
      const vouched = readWarrant(warrant);
      if (vouched !== undefined && waiting.length < effectiveUsersMax) waiting.push(vouched);
    }
  }
  return found;
}

/**
 * Whether a user acts under its own name in a logical cluster, neither out of scope nor as a
 * service account of another cluster.
 */
export function hasOwnIdentityIn(user: UserInfo, cluster: string): boolean {
  return user.extra === undefined || identitiesOf(user, cluster)[0] === user;
}

function identitiesOf(user: UserInfo, cluster: string): readonly UserInfo[] {
  const scopes = valuesOf(user, userExtra.scopes);
  const [home] = valuesOf(user, userExtra.clusterName);
  const account = serviceAccountOf(user);
  if (account === undefined || home === undefined || home === cluster) {
    return scopes.every((scope) => isIn(scope, cluster)) ? [user] : [outOfScopeUser(scopes)];
  }
  const groups = [wellKnownGroup.authenticated, clusterGroup(home)];
  const abroad = { username: wellKnownUser.anonymous, groups };
  // Tokens of service accounts are scoped to their home cluster: in other clusters the account acts
  // under its full name, and is not out of scope.
  return scopes.every((scope) => isIn(scope, home) || isIn(scope, cluster))
    ? [abroad, { username: `system:kcp:serviceaccount:${home}:${account}`, groups }]
    : [outOfScopeUser(scopes)];
}

/** A user out of scope, which is only known in other clusters. */
function outOfScopeUser(scopes: readonly string[]): UserInfo {
  const clusters = new Set(scopes.flatMap(clustersIn));
  return {
    username: wellKnownUser.anonymous,
    groups: [wellKnownGroup.authenticated, ...[...clusters].map(clusterGroup)],
  };
}

const scopePrefix = "cluster:";

function clustersIn(scope: string): string[] {
  return scope
    .split(",")
    .filter((item) => item.startsWith(scopePrefix))
    .map((item) => item.slice(scopePrefix.length));
}

function isIn(scope: string, cluster: string): boolean {
  return clustersIn(scope).includes(cluster);
}

function clusterGroup(cluster: string): string {
  return `system:cluster:${cluster}`;
}

const serviceAccountPrefix = "system:serviceaccount:";

/** `namespace:name`. */
function serviceAccountOf({ username }: UserInfo): string | undefined {
  return username.startsWith(serviceAccountPrefix)
    ? username.slice(serviceAccountPrefix.length)
    : undefined;
}

function valuesOf({ extra }: UserInfo, key: string): readonly string[] {
  return extra !== undefined && Object.hasOwn(extra, key) ? (extra[key] as readonly string[]) : [];
}

/**
 * The identity of a warrant; undefined when it is invalid. A warrant for a service account must
 * contain its cluster.
 */
export function readWarrant(text: string): UserInfo | undefined {
  const value = parsed(text);
  if (!isJsonObject(value) || typeof value["user"] !== "string") return undefined;
  const user: UserInfo = {
    username: value["user"],
    groups: textsOf(value["groups"]),
    extra: isJsonObject(value["extra"])
      ? Object.fromEntries(
          Object.entries(value["extra"]).map(([key, item]) => [key, textsOf(item)]),
        )
      : {},
  };
  const isUnplaced = valuesOf(user, userExtra.clusterName).length === 0;
  return serviceAccountOf(user) !== undefined && isUnplaced ? undefined : user;
}

function parsed(text: string): JsonValue | undefined {
  try {
    return parseJson(text).value;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}
