/**
 * The tokens of agents: bound to a ServiceAccount of the SyncTarget's logical cluster, valid for a
 * limited time, and invalid without the account.
 */
import { isJsonObject, type JsonObject, member } from "@kcp-ts/machinery/json";
import type { Client } from "@kcp-ts/sdk";
import { jsonObjectOf } from "../api/index.ts";
import { accountNamespace, serviceAccounts, type TokenRequest } from "./agent-objects.ts";

/**
 * One day: the agent renews the token in time, and a stolen token of a deleted SyncTarget expires
 * soon.
 */
export const agentTokenSecondsDefault = 86_400;

export interface TokenClaims {
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
  /** The namespace of the ServiceAccount. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The uid of the Secret that the token is bound to. */
  readonly secretUid: string | undefined;
}

/**
 * The claims of a token, unverified: its owner reads only its expiry, and the server that
 * authenticates the token verifies it. Undefined for a token that is not a ServiceAccount token of
 * the control plane.
 */
export function readToken(token: string): TokenClaims | undefined {
  const claims = claimsOf(token);
  const kubernetes = claims && member(claims, "kubernetes.io");
  if (claims === undefined || kubernetes === undefined || !isJsonObject(kubernetes))
    return undefined;
  const account = member(kubernetes, "serviceaccount");
  if (account === undefined || !isJsonObject(account)) return undefined;
  const [iat, exp] = [member(claims, "iat"), member(claims, "exp")];
  const [namespace, name, uid] = [
    member(kubernetes, "namespace"),
    member(account, "name"),
    member(account, "uid"),
  ];
  if (typeof iat !== "number" || typeof exp !== "number") return undefined;
  if (typeof namespace !== "string" || typeof name !== "string" || typeof uid !== "string")
    return undefined;
  const secret = member(kubernetes, "secret");
  const bound = secret !== undefined && isJsonObject(secret) ? member(secret, "uid") : undefined;
  return {
    issuedAtMs: iat * 1000,
    expiresAtMs: exp * 1000,
    namespace,
    name,
    uid,
    secretUid: typeof bound === "string" ? bound : undefined,
  };
}

/** Whether this share of the token's lifetime has passed. */
export function isDueForRenewal(
  { issuedAtMs, expiresAtMs }: TokenClaims,
  nowMs: number,
  share: number,
) {
  return nowMs >= issuedAtMs + (expiresAtMs - issuedAtMs) * share;
}

/** Requests a token; `client` is a client of the logical cluster. */
export async function requestToken(
  client: Client,
  account: { readonly name: string; readonly namespace?: string },
  options: {
    readonly expirationSeconds: number;
    /** A Secret of the same namespace: the token is invalid without it. */
    readonly boundTo?: { readonly name: string; readonly uid: string } | undefined;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<string> {
  const { name, namespace = accountNamespace } = account;
  const { expirationSeconds, boundTo, signal } = options;
  const bound =
    boundTo === undefined
      ? {}
      : { boundObjectRef: { apiVersion: "v1", kind: "Secret", ...boundTo } as const };
  const { status } = await client
    .resource(serviceAccounts)
    .subresource<TokenRequest>("token")
    .create({ namespace, name }, { spec: { expirationSeconds, ...bound } }, { signal });
  const token = status?.token ?? "";
  if (token === "") throw new Error(`the control plane gave no token for ${namespace}/${name}`);
  return token;
}

function claimsOf(token: string): JsonObject | undefined {
  const [, payload = "", signature] = token.trim().split(".");
  if (signature === undefined) return undefined;
  return jsonObjectOf(Buffer.from(payload, "base64url").toString("utf8"));
}
