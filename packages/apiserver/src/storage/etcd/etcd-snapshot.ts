/**
 * Restores a backup into an empty prefix.
 *
 * etcd assigns revisions itself, so the entries cannot keep theirs: this is no `SnapshotTarget`.
 */
import { StorageError } from "../errors.ts";
import type { StorageKey } from "../key.ts";
import { type Revision, toRevision } from "../revision.ts";
import type { CallOptions, Entry } from "../storage.ts";
import type { EtcdClient } from "./etcd-client.ts";
import type { KeySpace } from "./key-space.ts";

export interface RestoredSnapshot {
  readonly entries: number;
  /** The revision of the last write. */
  readonly revision: Revision;
}

export interface RestoreContext {
  readonly client: EtcdClient;
  readonly keySpace: KeySpace;
  readonly requestBytesMax: number;
  /** Throws to stop the restore. */
  readonly beforeBatch: () => void;
}

/**
 * One etcd transaction per batch; etcd's default limit is 128 operations (--max-txn-ops), and one
 * may be the marker.
 */
export const restoreBatchEntriesMax = 127;
/** Stays below etcd's default --max-request-bytes of 1.5 MiB together with the compares. */
export const restoreBatchBytesMax = 1 << 20;

/**
 * The marker at the root of the prefix from the first batch to the last: a store with it has a part
 * of a backup, and is not served as complete.
 */
const restoringMark = Buffer.from("restoring");

export function isPartiallyRestored(rootValue: Uint8Array | undefined): boolean {
  return rootValue !== undefined && restoringMark.equals(rootValue);
}

/** Rejects with `GrpcError`, `conflict` or `too-large`. */
export async function restoreEntries(
  context: RestoreContext,
  entries: AsyncIterable<Pick<Entry, "key" | "value">>,
  { signal }: CallOptions,
): Promise<RestoredSnapshot> {
  let batch: Pick<Entry, "key" | "value">[] = [];
  let bytes = 0;
  let written = 0;
  let revision = 0 as Revision;
  const flush = async (isLast: boolean) => {
    if (batch.length === 0) return;
    context.beforeBatch();
    const mark = isLast ? (written === 0 ? [] : [unmark(context)]) : [markRestoring(context)];
    revision = await writeBatch(context, batch, mark, signal);
    written += batch.length;
    batch = [];
    bytes = 0;
  };
  for await (const entry of entries) {
    const size = entry.value.length + entry.key.length * 2;
    if (size > context.requestBytesMax) {
      throw new StorageError("too-large", `${entry.key} has ${size} bytes`);
    }
    if (batch.length === restoreBatchEntriesMax || bytes + size > restoreBatchBytesMax)
      await flush(false);
    batch.push(entry);
    bytes += size;
  }
  await flush(true);
  return { entries: written, revision };
}

async function writeBatch(
  { client, keySpace }: RestoreContext,
  batch: readonly Pick<Entry, "key" | "value">[],
  mark: readonly Operation[],
  signal: AbortSignal,
): Promise<Revision> {
  const pairs = batch.map(({ key, value }) => ({ key: keySpace.encode(key), value }));
  const answer = await client.txn(
    { compare: pairs.map(({ key }) => absent(key)), success: [...pairs.map(put), ...mark] },
    signal,
  );
  if (!answer.succeeded) {
    const first = (batch[0] as { key: StorageKey }).key;
    throw new StorageError("conflict", `a key from ${first} on exists already`);
  }
  return toRevision(answer.header?.revision ?? 0n);
}

type Operation = ReturnType<typeof put> | ReturnType<typeof unmark>;

function put(value: { readonly key: Uint8Array; readonly value: Uint8Array }) {
  return { request: { case: "requestPut", value } } as const;
}

function markRestoring({ keySpace }: RestoreContext) {
  return put({ key: keySpace.root, value: restoringMark });
}

function unmark({ keySpace }: RestoreContext) {
  return { request: { case: "requestDeleteRange", value: { key: keySpace.root } } } as const;
}

function absent(key: Uint8Array) {
  return { key, result: 0, target: 2, targetUnion: { case: "modRevision", value: 0n } } as const;
}
