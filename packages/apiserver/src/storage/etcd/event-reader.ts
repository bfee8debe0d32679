/**
 * Converts etcd's watch responses to changes.
 *
 * A response may be one fragment of several, and then its last revision may continue in the next
 * one. The events of that revision are held back until it is complete, so that a broken stream can
 * be resumed at a revision's start.
 */
import { assert } from "@kcp-ts/machinery/base";
import { StorageError } from "../errors.ts";
import type { StorageKey } from "../key.ts";
import { type Revision, revisionZero, toRevision } from "../revision.ts";
import type { Change, Entry } from "../storage.ts";
import { toEntry } from "./entry.ts";
import type { Event, KeyValue, WatchResponse } from "./generated/etcd_pb.ts";
import type { KeySpace } from "./key-space.ts";

export interface EventReaderContext {
  readonly keySpace: KeySpace;
  /** Reads a key at a revision. Rejects with `compacted` when the revision is gone. */
  readonly readAt: (
    key: StorageKey,
    atRevision: Revision,
    signal: AbortSignal,
  ) => Promise<Entry | undefined>;
}

const deleteEvent = 1;

export class EventReader {
  readonly #context: EventReaderContext;
  #held: Event[] = [];
  #revision: Revision = revisionZero;

  constructor(context: EventReaderContext) {
    this.#context = context;
  }

  /** The newest complete revision. */
  get revision(): Revision {
    return this.#revision;
  }

  /** Whether a revision has been read in part. */
  get holding(): boolean {
    return this.#held.length > 0;
  }

  /** Drops held events: a new stream sends them again. */
  restart(): void {
    this.#held = [];
  }

  /** The changes that the response completes, in order. */
  async read(response: WatchResponse, signal: AbortSignal): Promise<Change[]> {
    let events = this.#held.length === 0 ? response.events : [...this.#held, ...response.events];
    this.#held = [];
    if (response.fragment && events.length > 0) {
      const last = pairOf(events.at(-1)).modRevision;
      this.#held = events.filter((event) => pairOf(event).modRevision === last);
      events = events.filter((event) => pairOf(event).modRevision !== last);
    }
    const changes: Change[] = [];
    for (const event of events) changes.push(await this.#change(event, signal));
    const newest = changes.at(-1);
    if (newest !== undefined) this.#revision = newest.revision;
    return changes;
  }

  async #change(event: Event, signal: AbortSignal): Promise<Change> {
    const pair = pairOf(event);
    const revision = toRevision(pair.modRevision);
    const { keySpace } = this.#context;
    // The root has no object: a server wrote a marker there to request progress.
    if (keySpace.isRoot(pair.key)) return { kind: "progress", revision };
    if (event.type === deleteEvent) {
      return { kind: "delete", previous: await this.#previous(event, pair, signal), revision };
    }
    const isNew = pair.createRevision === pair.modRevision;
    const previous = isNew ? undefined : await this.#previous(event, pair, signal);
    return { kind: "put", entry: toEntry(pair, keySpace), previous, revision };
  }

  /**
   * etcd omits the previous pair when a compaction came in between; then it is read, and never
   * guessed.
   */
  async #previous(event: Event, pair: KeyValue, signal: AbortSignal): Promise<Entry> {
    const { keySpace, readAt } = this.#context;
    if (event.prevKv !== undefined) return toEntry(event.prevKv, keySpace);
    const key = keySpace.decode(pair.key);
    const previous = await readAt(key, toRevision(pair.modRevision - 1n), signal);
    if (previous !== undefined) return previous;
    throw new StorageError(
      "corrupt",
      `etcd reports a change of ${key} at revision ${pair.modRevision}, but it was not there before`,
    );
  }
}

function pairOf(event: Event | undefined): KeyValue {
  assert(event?.kv !== undefined, "etcd sent an event without a pair");
  return event.kv;
}
