/** Reads one logical cluster out of a store: its state, and then its changes, round by round. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type DataChange, keyOfChange } from "../change-feed.ts";
import {
  clusterPrefix,
  parseResourceKey,
  type ResourceKey,
  resourcePrefix,
  type StorageKey,
} from "../key.ts";
import type { Revision } from "../revision.ts";
import type { CallOptions, Entry, Storage } from "../storage.ts";
import type { ExportRecord } from "./cluster-moves.ts";
import { clusterUnder } from "./move-table.ts";

const pageEntries = 250;
const bufferedChangesMax = 100_000;

/** The objects of a cluster at one revision, and at the end that revision. */
export async function* exportState(
  storage: Storage,
  cluster: ClusterName,
  { signal }: CallOptions,
): AsyncGenerator<Exclude<ExportRecord, { kind: "change" }>> {
  const oldest = storage.moves?.oldestRevision(cluster);
  if (oldest === undefined) throw new Error("clusters of this store cannot be moved");
  const revision = await storage.currentRevision({ signal });
  for await (const entry of entriesOf(storage, cluster, revision, signal))
    yield { kind: "state", entry };
  yield { kind: "stateEnd", revision, oldest };
}

/**
 * The changes of a cluster after one revision up to another one, which has happened already; at the
 * end a mark of progress. At most about `changesMax` of them: the mark says how far they go.
 */
export async function* exportChanges(
  storage: Storage,
  cluster: ClusterName,
  range: { readonly after: Revision; readonly upTo: Revision; readonly changesMax: number },
  { signal }: CallOptions,
): AsyncGenerator<Extract<ExportRecord, { kind: "change" | "progress" }>> {
  let { after } = range;
  let count = 0;
  const arrivedAt = storage.moves?.recordOf(cluster)?.arrivedAt ?? 0;
  if (after < arrivedAt) {
    for await (const change of storage.moves?.importedChanges(cluster, after, { signal }) ?? []) {
      yield { kind: "change", change };
      if (++count < range.changesMax) continue;
      yield { kind: "progress", revision: change.revision };
      return;
    }
    after = arrivedAt as Revision;
  }
  const stop = new AbortController();
  const options = { signal: AbortSignal.any([signal, stop.signal]), bufferedChangesMax };
  let reached = after;
  if (reached < range.upTo) {
    for await (const change of storage.watch("" as StorageKey, after, options)) {
      if (change.revision > range.upTo) break;
      reached = change.revision;
      if (change.kind !== "progress" && isOf(cluster, change)) {
        yield { kind: "change", change };
        if (++count >= range.changesMax) break;
      }
      if (reached >= range.upTo) break;
    }
    stop.abort();
    signal.throwIfAborted();
    if (count < range.changesMax) reached = range.upTo;
  }
  yield { kind: "progress", revision: reached };
}

/** The entries of a cluster, resource by resource. */
export async function* entriesOf(
  storage: Pick<Storage, "list">,
  cluster: ClusterName,
  atRevision: Revision | undefined,
  signal: AbortSignal,
): AsyncGenerator<Entry> {
  for await (const resource of storedResources(storage, atRevision, signal)) {
    const prefix = clusterPrefix({ ...resource, cluster });
    let continueAfter: StorageKey | undefined;
    do {
      const options = { signal, entriesMax: pageEntries, continueAfter, atRevision };
      const page = await storage.list(prefix, options);
      yield* page.entries;
      continueAfter = page.more ? page.entries.at(-1)?.key : undefined;
    } while (continueAfter !== undefined);
  }
}

/** The resources of which a store has objects, in any cluster: one read for each. */
export async function* storedResources(
  storage: Pick<Storage, "list">,
  atRevision: Revision | undefined,
  signal: AbortSignal,
): AsyncGenerator<ResourceKey> {
  let continueAfter: StorageKey | undefined;
  for (;;) {
    const options = { signal, entriesMax: 1, continueAfter, atRevision };
    const [first] = (await storage.list("" as StorageKey, options)).entries;
    if (first === undefined) return;
    const resource = parseResourceKey(first.key);
    yield resource;
    continueAfter = `${resourcePrefix(resource)}\x7f` as StorageKey;
  }
}

function isOf(cluster: ClusterName, change: DataChange): boolean {
  return change.relocation !== true && clusterUnder(keyOfChange(change)) === cluster;
}
