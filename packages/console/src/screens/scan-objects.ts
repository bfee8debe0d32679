/** Looks through the objects of a kind, page by page, and no further than it is worth. */
import type { Client, PartialObjectMetadata, Resource } from "@kcp-ts/sdk/client";

export interface Scanned {
  readonly seen: number;
  /** About how many were not looked at. */
  readonly remaining: number;
}

interface ScanOptions {
  readonly signal: AbortSignal;
  readonly namespace?: string | undefined;
  readonly objectsMax: number;
  readonly pageSize?: number;
  readonly onPage: (items: readonly PartialObjectMetadata[], progress: Scanned) => void;
}

export async function scanObjects(
  client: Client,
  resource: Resource,
  { signal, namespace, objectsMax, pageSize = 500, onPage }: ScanOptions,
): Promise<Scanned> {
  const objects = client.resource(resource);
  const first = { namespace, limit: pageSize, signal };
  let seen = 0;
  for (let next: string | undefined; ; ) {
    const page = await objects.listMetadata({ ...first, continue: next });
    next = page.metadata.continue || undefined;
    seen += page.items.length;
    const remaining = next === undefined ? 0 : Math.max(1, page.metadata.remainingItemCount ?? 0);
    onPage(page.items, { seen, remaining });
    if (next === undefined || seen >= objectsMax) return { seen, remaining };
  }
}
