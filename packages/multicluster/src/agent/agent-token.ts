/** The tokens of agents: bound to a ServiceAccount of the SyncTarget's logical cluster, good for a while, and nothing without the account. */

import { isJsonObject, type JsonObject, member } from "@kcp-ts/machinery/json";
import type { Client } from "@kcp-ts/sdk";
import { jsonObjectOf } from "../api/index.ts";
import { accountNamespace, serviceAccounts, type TokenRequest } from "./agent-objects.ts";

/** A day: renewed in good time, and over soon when it was stolen and its SyncTarget is gone. */
export const agentTokenSecondsDefault = 86_400;

export interface TokenClaims {
  readonly issuedAtMs: number;
  readonly expiresAtMs: number;
  /** Of the ServiceAccount. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Of the Secret that it is bound to. */
  readonly secretUid: string | undefined;
}

/** Whoever has to believe a token verifies it; its owner only wants to know how long it lasts. Undefined when it is none of ours. */
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
    ...{ issuedAtMs: iat * 1000, expiresAtMs: exp * 1000, namespace, name, uid },
    secretUid: typeof bound === "string" ? bound : undefined,
  };
}

/** Whether this share of its life is over. */
export function isDueForRenewal(
  { issuedAtMs, expiresAtMs }: TokenClaims,
  nowMs: number,
  share: number,
) {
  return nowMs >= issuedAtMs + (expiresAtMs - issuedAtMs) * share;
}

/** `client` is of the logical cluster. */
export async function requestToken(
  client: Client,
  account: { readonly name: string; readonly namespace?: string },
  options: {
    readonly expirationSeconds: number;
    /** A Secret of the same namespace: without it, the token is worth nothing. */
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
