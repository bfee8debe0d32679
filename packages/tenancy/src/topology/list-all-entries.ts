/**
 * Lists all entries below a prefix, page by page, and yields to the event loop between the pages.
 */
import type { Entry, Storage, StorageKey } from "@kcp-ts/apiserver/storage";
import { yieldToEventLoop } from "@kcp-ts/machinery/base";
import { uncancelled } from "../workspaces/index.ts";

const pageEntries = 200;

export async function* listAllEntries(storage: Storage, prefix: StorageKey): AsyncGenerator<Entry> {
  for (let continueAfter: StorageKey | undefined, more = true; more; ) {
    const page = await storage.list(prefix, {
      signal: uncancelled,
      entriesMax: pageEntries,
      continueAfter,
    });
    yield* page.entries;
    continueAfter = page.entries.at(-1)?.key;
    more = page.more;
    if (more) await yieldToEventLoop();
  }
}
