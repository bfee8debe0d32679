/**
 * From etcd's watch responses to changes.
 *
 * A response may be one fragment of several, and then the last revision in it may continue in the next one. Its events are
 * held back until the revision is whole, so that a stream that breaks in between can be resumed at a revision's start.
 */
import { assert } from "@kcp-ts/machinery/base";
import { StorageError } from "../errors.ts";
import { type Revision, revisionZero, toRevision } from "../revision.ts";
import type { Change, Entry } from "../storage.ts";
import { toEntry } from "./entry.ts";
import type { EtcdClient } from "./etcd-client.ts";
import { toStorageError } from "./etcd-error.ts";
import type { Event, KeyValue, WatchResponse } from "./generated/etcd_pb.ts";
import { GrpcError } from "./grpc/index.ts";
import type { KeySpace } from "./key-space.ts";

export interface EventReaderContext {
  readonly client: EtcdClient;
  readonly keySpace: KeySpace;
  readonly oldestRevision: () => Promise<Revision | undefined>;
}

const deleteEvent = 1;

export class EventReader {
  readonly #context: EventReaderContext;
  #held: Event[] = [];
  #revision: Revision = revisionZero;

  constructor(context: EventReaderContext) {
    this.#context = context;
  }

  /** The newest revision that was read whole. */
  get revision(): Revision {
    return this.#revision;
  }

  /** Whether a revision has been read in part. */
  get holding(): boolean {
    return this.#held.length > 0;
  }

  /** Forgets what was held: a new stream sends it again. */
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
    if (event.type === deleteEvent) {
      return { kind: "delete", previous: await this.#previous(event, pair, signal), revision };
    }
    const isNew = pair.createRevision === pair.modRevision;
    const previous = isNew ? undefined : await this.#previous(event, pair, signal);
    return { kind: "put", entry: toEntry(pair, keySpace), previous, revision };
  }

  /** etcd leaves the previous pair out when a compaction came in between; then it is read, and never made up. */
  async #previous(event: Event, pair: KeyValue, signal: AbortSignal): Promise<Entry> {
    const { client, keySpace } = this.#context;
    if (event.prevKv !== undefined) return toEntry(event.prevKv, keySpace);
    const revision = pair.modRevision - 1n;
    try {
      const answer = await client.range({ key: pair.key, revision }, signal);
      const found = answer.kvs[0];
      if (found !== undefined) return toEntry(found, keySpace);
    } catch (error) {
      const storageError = error instanceof GrpcError ? toStorageError(error, "watch") : error;
      if (!(storageError instanceof StorageError) || storageError.code !== "compacted") throw error;
      const oldest = await this.#context.oldestRevision();
      throw new StorageError(
        "compacted",
        `what ${keySpace.decode(pair.key)} held before revision ${pair.modRevision} is gone, list again`,
        { oldest, cause: error },
      );
    }
    throw new StorageError(
      "corrupt",
      `etcd reports a change of ${keySpace.decode(pair.key)} at ${pair.modRevision}, but nothing was there before`,
    );
  }
}

function pairOf(event: Event | undefined): KeyValue {
  assert(event?.kv !== undefined, "etcd sent an event without a pair");
  return event.kv;
}
