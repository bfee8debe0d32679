/**
 * The claims of service account tokens: written by the issuer, read by the authenticator.
 *
 * Two forms, as in Kubernetes: bound tokens, which expire, have audiences and are bound to objects;
 * and the tokens of Secrets, which are valid as long as their Secret exists. Both contain the
 * logical cluster, as in kcp.
 */
import { type ClusterName, parseClusterName } from "@kcp-ts/machinery/names";
import type { Claims } from "../jwt/json-web-token.ts";

export interface AccountReference {
  readonly cluster: ClusterName;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface ObjectReference {
  readonly name: string;
  readonly uid: string;
}

export interface BoundClaims {
  readonly kind: "bound";
  readonly account: AccountReference;
  readonly secret: ObjectReference | undefined;
  readonly audiences: readonly string[];
  readonly id: string | undefined;
  /** Seconds since the epoch. */
  readonly notBefore: number;
  readonly expiresAt: number;
}

export interface SecretClaims {
  readonly kind: "secret";
  readonly account: AccountReference;
  readonly secretName: string;
}

export const legacyIssuer = "kubernetes/serviceaccount";

const privateClaims = "kubernetes.io";
const legacyPrefix = "kubernetes.io/serviceaccount/";

/** The prefix of the usernames of service accounts, and of no others. */
export const accountPrefix = "system:serviceaccount:";

export function usernameOf({ namespace, name }: { namespace: string; name: string }): string {
  return `${accountPrefix}${namespace}:${name}`;
}

export function boundClaims(claims: BoundClaims, issuer: string, issuedAt: number): Claims {
  const { account, secret } = claims;
  return {
    aud: claims.audiences,
    exp: claims.expiresAt,
    iat: issuedAt,
    iss: issuer,
    jti: claims.id,
    [privateClaims]: {
      clusterName: account.cluster,
      namespace: account.namespace,
      ...(secret === undefined ? {} : { secret: { name: secret.name, uid: secret.uid } }),
      serviceaccount: { name: account.name, uid: account.uid },
    },
    nbf: claims.notBefore,
    sub: usernameOf(account),
  };
}

export function secretClaims({ account, secretName }: SecretClaims): Claims {
  return {
    iss: legacyIssuer,
    [`${legacyPrefix}clusterName`]: account.cluster,
    [`${legacyPrefix}namespace`]: account.namespace,
    [`${legacyPrefix}secret.name`]: secretName,
    [`${legacyPrefix}service-account.name`]: account.name,
    [`${legacyPrefix}service-account.uid`]: account.uid,
    sub: usernameOf(account),
  };
}

/** Undefined when the claims are incomplete or contradictory. */
export function readBoundClaims(claims: Claims): BoundClaims | undefined {
  const own = recordIn(claims, privateClaims);
  const [sa, secret] = [recordIn(own, "serviceaccount"), recordIn(own, "secret")];
  const account = accountIn({
    cluster: own?.["clusterName"],
    namespace: own?.["namespace"],
    name: sa?.["name"],
    uid: sa?.["uid"],
  });
  const { aud, exp, nbf, jti } = claims;
  const audiences = typeof aud === "string" ? [aud] : aud;
  if (account === undefined || claims["sub"] !== usernameOf(account)) return undefined;
  if (!isTextList(audiences) || typeof exp !== "number") return undefined;
  const [name, uid] = [secret?.["name"], secret?.["uid"]];
  const isBoundToSecret = isText(name) && isText(uid);
  // A token that is bound to a Pod or a Node cannot be checked here, and is rejected.
  if (own === undefined || Object.hasOwn(own, "pod") || Object.hasOwn(own, "node"))
    return undefined;
  if (Object.hasOwn(own, "secret") && !isBoundToSecret) return undefined;
  return {
    kind: "bound",
    account,
    secret: isBoundToSecret ? { name, uid } : undefined,
    audiences,
    id: isText(jti) ? jti : undefined,
    notBefore: typeof nbf === "number" ? nbf : 0,
    expiresAt: exp,
  };
}

export function readSecretClaims(claims: Claims): SecretClaims | undefined {
  const member = (name: string) =>
    Object.hasOwn(claims, legacyPrefix + name) ? claims[legacyPrefix + name] : undefined;
  const account = accountIn({
    cluster: member("clusterName"),
    namespace: member("namespace"),
    name: member("service-account.name"),
    uid: member("service-account.uid"),
  });
  const secretName = member("secret.name");
  if (account === undefined || claims["sub"] !== usernameOf(account)) return undefined;
  return isText(secretName) ? { kind: "secret", account, secretName } : undefined;
}

function accountIn(parts: Readonly<Record<keyof AccountReference, unknown>>) {
  const { cluster, namespace, name, uid } = parts;
  if (!isText(cluster) || !isText(namespace) || !isText(name) || !isText(uid)) return undefined;
  const parsed = parseClusterName(cluster);
  return parsed === undefined ? undefined : { cluster: parsed, namespace, name, uid };
}

function recordIn(value: Claims | undefined, member: string): Claims | undefined {
  const found = value !== undefined && Object.hasOwn(value, member) ? value[member] : undefined;
  return typeof found === "object" && found !== null ? (found as Claims) : undefined;
}

/** Names become parts of storage keys, which contain no slash. */
function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "" && !value.includes("/");
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}
