/** Who a mounted server is told that somebody is: users whom this server knows everywhere, and what is said of them outside of it. */

import {
  clusterNameKey,
  scopesKey,
  type UserInfo,
  wellKnownGroup,
} from "@kcp-ts/apiserver/request/user";
import { statusError } from "@kcp-ts/machinery/status";

/**
 * Whether every logical cluster takes them for the same. Service accounts, holders of certificates that a workspace approved, users of a workspace's own issuers, and whom a
 * tenant acts as are somebody in one logical cluster, whose administrator chooses their names: to another server they would be whoever is called so there.
 */
export function isGlobalUser({ extra }: UserInfo): boolean {
  return (
    extra === undefined ||
    !(Object.hasOwn(extra, scopesKey) || Object.hasOwn(extra, clusterNameKey))
  );
}

/** In the words of the request-header authenticator of every API server. Throws for who cannot be said in headers. */
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
  // What cannot be said of somebody is not left out: they would be somebody else.
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

/** Groups of the system say what somebody may do in it: `system:masters` of this server is none of another one. */
function isForwardedExtra(group: string): boolean {
  return !group.startsWith("system:") || everybody.has(group);
}

/** Scopes and warrants are this server's, and would be believed by another one of its kind. */
function isOfKcp(key: string): boolean {
  const [domain = ""] = key.toLowerCase().split("/", 1);
  return domain === "kcp.io" || domain.endsWith(".kcp.io");
}

/** Percent-encoded but for what a header's name may have. */
function headerName(key: string): string {
  return encodeURIComponent(key)
    .replace(/[()]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`)
    .toLowerCase();
}
