/** From what tenants call a SyncTarget to the SyncTarget, by looking at its own logical cluster. */
import type { Client } from "@kcp-ts/sdk";
import { ownTargetName, type SyncTarget, sharedTargetName, syncTargets } from "../api/index.ts";

/** `home` is the logical cluster that the name is from, and `client` speaks to it. Undefined when it is not there, or not any more. */
export async function findSharedTarget(
  client: Client,
  home: string,
  shared: string,
  signal?: AbortSignal,
): Promise<SyncTarget | undefined> {
  const options = signal === undefined ? {} : { signal };
  const isIt = ({ metadata: { name } }: SyncTarget) =>
    sharedTargetName({ cluster: home, name }) === shared;
  const name = ownTargetName(shared);
  if (name !== undefined) {
    const found = await client.resource(syncTargets).find({ name }, options);
    return found !== undefined && isIt(found) ? found : undefined;
  }
  for await (const page of client.resource(syncTargets).pages(options)) {
    const found = page.items.find(isIt);
    if (found !== undefined) return found;
  }
  return undefined;
}
