import type { Client, Resource, SelectorOptions } from "@kcp-ts/sdk/client";
import { LiveTable } from "@kcp-ts/sdk/informer";
import { useLive } from "./use-live.ts";

const pageSize = 500;

/** The server's table of a kind, page by page, in sync. */
export function useLiveTable(
  client: Client,
  resource: Resource,
  selector: SelectorOptions,
): LiveTable | undefined {
  const key = JSON.stringify([client.basePath, resource.group, resource.resource, selector]);
  return useLive(
    (onChange) => new LiveTable({ client, resource, selector, pageSize, onChange }),
    key,
  );
}
