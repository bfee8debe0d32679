/** All entries below a prefix, page by page, and between the pages whatever else waits. */
import { yieldToEventLoop } from "@kcp-ts/machinery/base";
import type { Entry, Storage, StorageKey } from "../storage/index.ts";
import { uncancelled } from "../tenancy/index.ts";

const pageEntries = 200;

export async function* everyEntry(storage: Storage, prefix: StorageKey): AsyncGenerator<Entry> {
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
