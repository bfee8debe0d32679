import { type Client, discover, type Resource } from "@kcp-ts/sdk";

/** Whether the server serves a kind in every logical cluster. */
export type ServesKind = (resource: Pick<Resource, "group" | "resource">) => boolean;

export async function servedKinds(client: Client, signal: AbortSignal): Promise<ServesKind> {
  const { groups } = await discover(client.inCluster("*"), { signal });
  const served = new Set<string>();
  for (const { versions } of groups) {
    for (const { resources } of versions) {
      for (const { group, resource } of resources) served.add(`${resource}.${group}`);
    }
  }
  return ({ group, resource }) => served.has(`${resource}.${group}`);
}
