/**
 * How old history is, kept with it so that it ages while the server is restarted again and again: `[at, revision, bytes]` of each mark as JSON.
 * Small, written once in a while, and nothing but the age of history hangs on it.
 */
import type { Revision } from "../revision.ts";
import type { CallOptions, HistoryMark, KeptHistory } from "../storage.ts";
import type { CommitQueue } from "./commit-queue.ts";
import { corruption } from "./corruption.ts";
import { marksKey } from "./layout.ts";
import type { StoreState } from "./store-state.ts";

export class EmbeddedHistory implements KeptHistory {
  readonly #state: StoreState;
  readonly #queue: CommitQueue;

  constructor(state: StoreState, queue: CommitQueue) {
    this.#state = state;
    this.#queue = queue;
  }

  bytes(): number {
    return this.#state.meta.historyBytes;
  }

  async marks({ signal }: CallOptions): Promise<readonly HistoryMark[]> {
    signal.throwIfAborted();
    const record = await this.#state.engine.get(marksKey);
    return record === undefined ? [] : decodeMarks(record, this.#state.where);
  }

  async keepMarks(marks: readonly HistoryMark[], { signal }: CallOptions): Promise<void> {
    signal.throwIfAborted();
    const value = Buffer.from(
      JSON.stringify(marks.map((mark) => [mark.at, mark.revision, mark.bytes])),
    );
    await this.#queue.upkeep({
      operations: [{ type: "put", key: marksKey, value }],
      changeMeta: (meta) => meta,
    });
  }
}

function decodeMarks(record: Buffer, where: string): HistoryMark[] {
  try {
    const marks = JSON.parse(record.toString("latin1")) as [number, number, number][];
    return marks.map(([at, revision, bytes]) => ({ at, revision: revision as Revision, bytes }));
  } catch (error) {
    throw corruption(where, "the marks of its history cannot be read", error);
  }
}
