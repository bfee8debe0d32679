/**
 * Reads a range of keys at one revision in chunks of a bounded size.
 *
 * etcd limits responses by the number of keys, not by bytes, so the number follows the size of the
 * entries before.
 */

import { GrpcError, grpcCode } from "../../grpc/index.ts";
import { type Revision, toRevision } from "../revision.ts";
import type { Entry } from "../storage.ts";
import { toEntry } from "./entry.ts";
import type { EtcdClient } from "./etcd-client.ts";
import type { KeyRange, KeySpace } from "./key-space.ts";

export interface RangeChunk {
  readonly entries: readonly Entry[];
  readonly revision: Revision;
  /** Whether the range has more keys, regardless of the limit. */
  readonly more: boolean;
}

export interface RangeChunksOptions {
  readonly client: EtcdClient;
  readonly keySpace: KeySpace;
  readonly range: KeyRange;
  /** The limit over all chunks. */
  readonly entriesMax: number;
  readonly atRevision?: Revision | undefined;
  readonly chunkBytesTarget: number;
  readonly signal: AbortSignal;
}

/**
 * Yields at least one chunk. All chunks have the revision of the first. Rejects with `GrpcError`.
 */
export async function* rangeChunks(options: RangeChunksOptions): AsyncGenerator<RangeChunk> {
  const { client, keySpace, signal, chunkBytesTarget } = options;
  let { key } = options.range;
  let revision = options.atRevision;
  let left = options.entriesMax;
  let chunkEntries = firstChunkEntries;
  for (;;) {
    const limit = Math.min(left, chunkEntries);
    const answer = await client
      .range(
        {
          key,
          rangeEnd: options.range.rangeEnd,
          limit: BigInt(limit),
          revision: BigInt(revision ?? 0),
        },
        signal,
      )
      .catch((error: unknown) => {
        if (limit === 1 || !isTooLarge(error)) throw error;
        return undefined;
      });
    if (answer === undefined) {
      chunkEntries = Math.max(1, limit >> 2);
      continue;
    }
    // The header has the newest revision, which is not the one that was read at a given revision.
    revision ??= toRevision(answer.header?.revision ?? 0n);
    const entries = answer.kvs.map((pair) => toEntry(pair, keySpace));
    yield { entries, revision, more: answer.more };
    left -= entries.length;
    const last = answer.kvs.at(-1);
    if (!answer.more || left === 0 || last === undefined) return;
    key = Buffer.concat([last.key, zeroByte]);
    chunkEntries = nextChunkEntries(entries, chunkEntries, chunkBytesTarget);
  }
}

/** Small enough even if every value has etcd's maximal size. */
const firstChunkEntries = 100;
const chunkEntriesMax = 5000;
const zeroByte = Buffer.from([0]);

function nextChunkEntries(entries: readonly Entry[], before: number, bytesTarget: number): number {
  let bytes = 0;
  for (const entry of entries) bytes += entry.key.length + entry.value.length + entryOverheadBytes;
  const fitting = Math.floor(bytesTarget / (bytes / entries.length));
  return Math.max(1, Math.min(fitting, before * 4, chunkEntriesMax));
}

const entryOverheadBytes = 32;

function isTooLarge(error: unknown): boolean {
  return (
    error instanceof GrpcError &&
    error.code === grpcCode.resourceExhausted &&
    error.delivery === "unknown"
  );
}
