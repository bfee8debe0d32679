/** Where a service account is at home. */
import { type ClusterName, parseClusterName } from "@kcp-ts/machinery/names";
import { clusterNameKey, type UserInfo } from "../../request/index.ts";
import { accountPrefix } from "./token-claims.ts";

/**
 * The logical cluster of a service account, by what its authenticator says of it; undefined for everybody else. It is no right to be there: whoever goes by
 * it is authorized in that cluster like anybody who names it.
 */
export function serviceAccountCluster({ username, extra }: UserInfo): ClusterName | undefined {
  if (!username.startsWith(accountPrefix)) return undefined;
  const [name, ...others] = extra?.[clusterNameKey] ?? [];
  return name === undefined || others.length > 0 ? undefined : parseClusterName(name);
}
