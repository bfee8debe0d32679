/** A page of the names of a kind, in as few bytes as the server can say them. */
import type { Client, Resource } from "@kcp-ts/sdk/client";

export interface Named {
  readonly name: string;
  readonly namespace?: string | undefined;
}

export interface NamePage {
  readonly names: readonly Named[];
  readonly next: string | undefined;
  /** About how many follow. */
  readonly remaining: number;
}

interface NamePageOptions {
  readonly limit: number;
  readonly continue?: string | undefined;
  readonly namespace?: string | undefined;
  readonly signal: AbortSignal;
}

/** The first cell of each row is the name; where it is needs the metadata. */
export async function namePage(
  client: Client,
  resource: Resource,
  options: NamePageOptions,
): Promise<NamePage> {
  const objects = client.resource(resource);
  const list = resource.namespaced
    ? await objects.listMetadata(options)
    : await objects.table({ ...options, includeObject: "None" });
  const names =
    "rows" in list
      ? list.rows.map(({ cells: [name] }) => ({ name: String(name) }))
      : list.items.map(({ metadata: { name, namespace } }) => ({ name, namespace }));
  const { continue: further, remainingItemCount = 0 } = list.metadata;
  const next = further || undefined;
  return { names, next, remaining: next === undefined ? 0 : Math.max(1, remainingItemCount) };
}
