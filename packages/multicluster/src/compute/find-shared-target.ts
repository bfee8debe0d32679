/** Finds the SyncTarget of a shared name, by reading its compute workspace. */
import type { Client } from "@kcp-ts/sdk";
import { ownTargetName, type SyncTarget, sharedTargetName, syncTargets } from "../api/index.ts";

/**
 * `home` is the compute workspace of the name, and `client` reads it. Undefined when the SyncTarget
 * does not exist (any more).
 */
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
