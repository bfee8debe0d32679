/**
 * `Impersonate-User` and the related headers: a request acts as another user.
 *
 * This file only parses them; authorization decides whether the user may impersonate. A header may
 * occur several times, so its values are read from the raw list: joined by commas, two groups would
 * look like one.
 */
import { dnsLabelErrors, dnsSubdomainErrors } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import { type HeaderRecord, header } from "../request/api-request.ts";
import { headerValues, unescapeExtraKey } from "./header-values.ts";

/** One attribute to impersonate, each of which must be authorized. */
export type ImpersonationRequest =
  | { readonly kind: "User"; readonly name: string }
  | { readonly kind: "ServiceAccount"; readonly namespace: string; readonly name: string }
  | { readonly kind: "Group"; readonly name: string }
  | { readonly kind: "UserExtra"; readonly key: string; readonly name: string }
  | { readonly kind: "UID"; readonly name: string };

/** The number of attributes, each of which is authorized separately. */
export const impersonationRequestsMax = 500;

/** Of the names of all these headers. */
export const impersonationPrefix = "impersonate-";
const extraPrefix = "impersonate-extra-";

/**
 * The attributes to impersonate, in the order in which they are authorized. Throws a 400 when there
 * is no user.
 */
export function impersonationRequests(
  headers: HeaderRecord,
  rawHeaders?: readonly string[],
): ImpersonationRequest[] {
  const username = header(headers, "impersonate-user") ?? "";
  const uid = header(headers, "impersonate-uid") ?? "";
  const wishes: ImpersonationRequest[] = username === "" ? [] : [userRequest(username)];
  const values = headerValues({ headers, rawHeaders }, (name) =>
    name.startsWith(impersonationPrefix),
  );
  for (const name of values.get("impersonate-group") ?? []) wishes.push({ kind: "Group", name });
  for (const [name, each] of values) {
    if (!name.startsWith(extraPrefix)) continue;
    const key = unescapeExtraKey(name.slice(extraPrefix.length));
    for (const value of each) wishes.push({ kind: "UserExtra", key, name: value });
  }
  if (uid !== "") wishes.push({ kind: "UID", name: uid });
  if (wishes.length > impersonationRequestsMax) {
    throw statusError.badRequest(
      `requested to impersonate ${wishes.length} users, groups and extras at once, the limit is ${impersonationRequestsMax}`,
    );
  }
  if (username === "" && wishes.length > 0) {
    const shown = wishes.map(formatRequest).join(" ");
    throw statusError.badRequest(`requested [${shown}] without impersonating a user`);
  }
  return wishes;
}

const accountName = /^system:serviceaccount:([^:]+):([^:]+)$/;

function userRequest(username: string): ImpersonationRequest {
  const [, namespace = "", name = ""] = accountName.exec(username) ?? [];
  const isAccount =
    name !== "" && dnsLabelErrors(namespace).length === 0 && dnsSubdomainErrors(name).length === 0;
  return isAccount ? { kind: "ServiceAccount", namespace, name } : { kind: "User", name: username };
}

/**
 * The text of an object reference in Kubernetes: kind, namespace, name, uid, version,
 * resourceVersion, field.
 */
function formatRequest(wish: ImpersonationRequest): string {
  const namespace = wish.kind === "ServiceAccount" ? wish.namespace : "";
  const isOwnGroup = wish.kind === "UserExtra" || wish.kind === "UID";
  const version = isOwnGroup ? "authentication.k8s.io/v1" : "";
  const field = wish.kind === "UserExtra" ? wish.key : "";
  return `{${[wish.kind, namespace, wish.name, "", version, "", field].join(" ")}}`;
}
