/** Reads the bytes of a backup file into a snapshot, or forwards the bytes while it checks them. */
import { type Entry, type Revision, type Snapshot, toRevision } from "../storage/index.ts";
import { BackupFormatError } from "./backup-format.ts";
import { BackupParser } from "./backup-parser.ts";

export interface BackupSummary {
  readonly revision: Revision;
  readonly createdAt: string;
  readonly entries: number;
  readonly bytes: number;
}

/** The entries throw `BackupFormatError` before they end if the bytes are not a complete backup. */
export async function readBackup(chunks: AsyncIterable<Uint8Array>): Promise<Snapshot> {
  const parser = new BackupParser();
  const iterator = chunks[Symbol.asyncIterator]();
  let first: Entry[] = [];
  while (parser.head === undefined) {
    const next = await iterator.next();
    if (next.done === true) {
      parser.end();
      throw new BackupFormatError("the backup has no head");
    }
    first = parser.push(next.value);
  }
  return { revision: toRevision(parser.head.revision), entries: rest(parser, first, iterator) };
}

async function* rest(
  parser: BackupParser,
  first: readonly Entry[],
  iterator: AsyncIterator<Uint8Array>,
): AsyncGenerator<Entry> {
  try {
    yield* first;
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
      yield* parser.push(next.value);
    }
    parser.end();
  } finally {
    await iterator.return?.();
  }
}

/**
 * Calls `pass` with every chunk and resolves once they are a complete backup; throws
 * `BackupFormatError` at the first invalid byte.
 */
export async function checkBackup(
  chunks: AsyncIterable<Uint8Array>,
  pass: (chunk: Uint8Array, parser: BackupParser) => Promise<void> | void = () => undefined,
): Promise<BackupSummary> {
  const parser = new BackupParser();
  for await (const chunk of chunks) {
    parser.push(chunk);
    await pass(chunk, parser);
  }
  const { revision, createdAt } = parser.end();
  const { entries, bytes } = parser;
  return { revision: toRevision(revision), createdAt, entries, bytes };
}
