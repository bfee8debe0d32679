/** Checks a store's contents before it is used, and writes the first record of a new one. */
import type { Revision } from "../revision.ts";
import { corruptError } from "./corrupt-error.ts";
import type { Engine } from "./engine.ts";
import { historyRange, metaKey, parseHistoryKey } from "./layout.ts";
import { decodeMeta, emptyMeta, encodeMeta, type Meta } from "./meta.ts";

/** The counters of the store. Throws `corrupt` when they contradict the history. */
export async function readStore(engine: Engine, where: string): Promise<Meta> {
  const record = await engine.get(metaKey);
  if (record === undefined) return await createStore(engine, where);
  const meta = decodeMeta(record, where);
  if (meta.state === "restoring") {
    throw corruptError(
      where,
      "a restore into it was interrupted, so not all of the backup is there",
    );
  }
  await checkHistory(engine, meta, where);
  return meta;
}

async function createStore(engine: Engine, where: string): Promise<Meta> {
  const cursor = engine.scan({ from: "", to: "\x7f", keysOnly: true });
  try {
    const found = await cursor.next(1);
    if (found.length > 0) throw corruptError(where, "it holds data but no counters");
  } finally {
    await cursor.close();
  }
  await engine.write([{ type: "put", key: metaKey, value: encodeMeta(emptyMeta) }]);
  return emptyMeta;
}

/**
 * History must be without a gap from the newest revision down to the compacted one: LevelDB may
 * lose a batch in the middle and still open. Reads keys only, newest first, and no further than
 * `checkedChangesMax`.
 */
async function checkHistory(engine: Engine, meta: Meta, where: string): Promise<void> {
  const cursor = engine.scan({ ...historyRange(meta.compacted), keysOnly: true, reverse: true });
  let below: number = meta.revision;
  const end = Math.max(meta.compacted, meta.revision - checkedChangesMax);
  try {
    while (below > end) {
      const pairs = await cursor.next(1000);
      for (const [key] of pairs) {
        const { first, last } = parseHistoryKey(key);
        if (last !== below) throw gap(where, last, below as Revision);
        below = first - 1;
      }
      if (pairs.length === 0) throw gap(where, end as Revision, below as Revision);
    }
  } finally {
    await cursor.close();
  }
}

function gap(where: string, from: Revision, to: Revision): Error {
  return corruptError(
    where,
    to < from
      ? `there is history up to revision ${from}, but the counters are at ${to}`
      : `history between revisions ${from} and ${to} is missing`,
  );
}

const checkedChangesMax = 100_000;
