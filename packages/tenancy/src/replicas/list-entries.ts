/** All entries under a prefix, page by page. */
import type { Entry, Storage, StorageKey } from "@kcp-ts/apiserver/storage";
import { neverAborted } from "@kcp-ts/machinery/base";

const pageEntries = 200;

export async function* listEntries(storage: Storage, prefix: StorageKey): AsyncGenerator<Entry> {
  for (let continueAfter: StorageKey | undefined; ; ) {
    const list = { signal: neverAborted, entriesMax: pageEntries, continueAfter };
    const { entries, more } = await storage.list(prefix, list);
    yield* entries;
    if (!more) return;
    continueAfter = entries.at(-1)?.key;
  }
}
