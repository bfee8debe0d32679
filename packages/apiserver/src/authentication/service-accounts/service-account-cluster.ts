/** The home cluster of a service account. */
import { type ClusterName, parseClusterName } from "@kcp-ts/machinery/names";
import { clusterNameKey, type UserInfo } from "../../request/index.ts";
import { accountPrefix } from "./token-claims.ts";

/**
 * The logical cluster of a service account, as its authenticator says; undefined for all other
 * users. It is no permission: a request to this default cluster is authorized like a request that
 * names it.
 */
export function serviceAccountCluster({ username, extra }: UserInfo): ClusterName | undefined {
  if (!username.startsWith(accountPrefix)) return undefined;
  const [name, ...others] = extra?.[clusterNameKey] ?? [];
  return name === undefined || others.length > 0 ? undefined : parseClusterName(name);
}
