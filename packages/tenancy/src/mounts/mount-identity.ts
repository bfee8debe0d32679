/**
 * The identity of a user at a mounted server: global users only, and only those attributes that are
 * meaningful outside this server.
 */
import {
  clusterNameKey,
  scopesKey,
  type UserInfo,
  wellKnownGroup,
} from "@kcp-ts/apiserver/request/user";
import { statusError } from "@kcp-ts/machinery/status";

/**
 * Whether the user has the same identity in every logical cluster. Service accounts, holders of
 * certificates that a workspace approved, users of a workspace's own issuers, and users that a
 * tenant impersonates exist in one logical cluster, whose administrator chooses their names: on
 * another server they would be mistaken for that server's users of the same names.
 */
export function isGlobalUser({ extra }: UserInfo): boolean {
  return (
    extra === undefined ||
    !(Object.hasOwn(extra, scopesKey) || Object.hasOwn(extra, clusterNameKey))
  );
}

/**
 * Builds the headers of the request-header authenticator of every API server. Throws for a user
 * that headers cannot express.
 */
export function identityHeaders({
  username,
  groups,
  extra,
}: UserInfo): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {
    "x-remote-user": username,
    "x-remote-group": groups.filter(isForwardedExtra),
  };
  for (const [key, values] of Object.entries(extra ?? {}))
    if (!isOfKcp(key)) headers[`x-remote-extra-${headerName(key)}`] = [...values];
  // Attributes that headers cannot express are an error, because a user without them would be
  // another user.
  if (
    !Object.values(headers)
      .flat()
      .every((text) => headerText.test(text))
  )
    throw statusError.badRequest("the name of the user cannot be sent to a mount");
  return headers;
}

const headerText = /^[\t\x20-\x7e\x80-\xff]*$/;
const everybody: ReadonlySet<string> = new Set([
  wellKnownGroup.authenticated,
  wellKnownGroup.unauthenticated,
]);

/**
 * System groups grant permissions on this server only: `system:masters` here is not
 * `system:masters` of another server.
 */
function isForwardedExtra(group: string): boolean {
  return !group.startsWith("system:") || everybody.has(group);
}

/** Scopes and warrants are this server's, and another kcp server would honour them. */
function isOfKcp(key: string): boolean {
  const [domain = ""] = key.toLowerCase().split("/", 1);
  return domain === "kcp.io" || domain.endsWith(".kcp.io");
}

/** Percent-encodes all characters that are invalid in a header's name. */
function headerName(key: string): string {
  return encodeURIComponent(key)
    .replace(/[()]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`)
    .toLowerCase();
}
