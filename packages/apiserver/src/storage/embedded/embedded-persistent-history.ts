/**
 * The age of history, stored with it so that it survives restarts: `[at, revision, bytes]` of each
 * sample as JSON. Small, written rarely, and used only for the age of history.
 */
import type { Revision } from "../revision.ts";
import type { CallOptions, PersistentHistory, RevisionSample } from "../storage.ts";
import type { CommitQueue } from "./commit-queue.ts";
import { corruptError } from "./corrupt-error.ts";
import { revisionSamplesKey } from "./layout.ts";
import type { StoreState } from "./store-state.ts";

export class EmbeddedPersistentHistory implements PersistentHistory {
  readonly #state: StoreState;
  readonly #queue: CommitQueue;

  constructor(state: StoreState, queue: CommitQueue) {
    this.#state = state;
    this.#queue = queue;
  }

  bytes(): number {
    return this.#state.meta.historyBytes;
  }

  async revisionSamples({ signal }: CallOptions): Promise<readonly RevisionSample[]> {
    signal.throwIfAborted();
    const record = await this.#state.engine.get(revisionSamplesKey);
    return record === undefined ? [] : decodeRevisionSamples(record, this.#state.directory);
  }

  async saveRevisionSamples(
    marks: readonly RevisionSample[],
    { signal }: CallOptions,
  ): Promise<void> {
    signal.throwIfAborted();
    const value = Buffer.from(
      JSON.stringify(marks.map((mark) => [mark.at, mark.revision, mark.bytes])),
    );
    await this.#queue.maintenance({
      operations: [{ type: "put", key: revisionSamplesKey, value }],
      changeMeta: (meta) => meta,
    });
  }
}

function decodeRevisionSamples(record: Buffer, where: string): RevisionSample[] {
  try {
    const marks = JSON.parse(record.toString("latin1")) as [number, number, number][];
    return marks.map(([at, revision, bytes]) => ({ at, revision: revision as Revision, bytes }));
  } catch (error) {
    throw corruptError(where, "the marks of its history cannot be read", error);
  }
}
