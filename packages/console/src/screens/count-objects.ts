/** How many objects of each kind a logical cluster has: one small request for each kind. */
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Client } from "@kcp-ts/sdk/client";
import type { ApiResource } from "@kcp-ts/sdk/discovery";

export interface Counted {
  readonly name: string;
  /** Undefined where the user may not list. */
  readonly count: number | undefined;
}

const atOnce = 6;

/** The most frequent kinds first. */
export async function countObjects(
  client: Client,
  kinds: readonly ApiResource[],
  signal: AbortSignal,
): Promise<readonly Counted[]> {
  const counted: Counted[] = [];
  // Events are served by two groups.
  const waiting = kinds.filter((one) => one.group !== "events.k8s.io");
  const work = async () => {
    for (let kind = waiting.shift(); kind !== undefined; kind = waiting.shift())
      counted.push(await countKind(client, kind, signal));
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return counted.sort((a, b) => (b.count ?? -1) - (a.count ?? -1));
}

async function countKind(client: Client, kind: ApiResource, signal: AbortSignal): Promise<Counted> {
  const name = kind.group === "" ? kind.resource : `${kind.resource}.${kind.group}`;
  try {
    const { items, metadata } = await client.resource(kind).listMetadata({ limit: 1, signal });
    return { name, count: items.length + (metadata.remainingItemCount ?? 0) };
  } catch (failure) {
    if (!isStatusError(failure)) throw failure;
    return { name, count: undefined };
  }
}
