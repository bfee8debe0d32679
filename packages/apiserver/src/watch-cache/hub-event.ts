/**
 * One event, encoded once for all its watchers.
 *
 * The bytes for a watcher depend on its selector (an object can enter, stay in or leave the
 * selection) and on its encoding (complete object, metadata only, table row); each combination is
 * created on first use and shared.
 */
import {
  type MaybeResumable,
  type Resumable,
  runInTurn,
  runYielding,
} from "@kcp-ts/machinery/base";
import type { DataChange } from "../storage/change-feed.ts";
import type { Entry, Revision, StorageKey } from "../storage/index.ts";
import { labelsOf, servedBytes } from "../stored-object/index.ts";
import type { IndexLookup } from "./entry-index.ts";

export type EventType = "ADDED" | "MODIFIED" | "DELETED";

export class HubEvent {
  readonly revision: Revision;
  readonly key: StorageKey;
  /** The state after the change; undefined when the object was deleted. */
  readonly current: Entry | undefined;
  readonly previous: Entry | undefined;
  /** The object arrived, or left, with its logical cluster, and was not changed. */
  readonly isRelocation: boolean;
  /** Created on first use, because most events have no watcher. */
  #encoded: Map<string, Buffer> | undefined;
  /** Those that take several turns of the event loop, while they do. */
  #encoding: Map<string, Promise<Buffer>> | undefined;

  constructor(change: DataChange) {
    this.revision = change.revision;
    this.current = change.kind === "put" ? change.entry : undefined;
    this.previous = change.previous;
    this.isRelocation = change.relocation === true;
    this.key = (change.kind === "put" ? change.entry : change.previous).key;
  }

  /** The object of an event type: a deleted or deselected object is sent in its last state. */
  entryFor(type: EventType): Entry {
    return (type === "DELETED" ? (this.previous ?? this.current) : this.current) as Entry;
  }

  /** Encodes for watchers that are notified at once: they share the bytes. */
  encodeShared(type: EventType, form: EventEncoding): Buffer {
    const cacheKey = `${form.name}/${type}`;
    this.#encoded ??= new Map();
    let bytes = this.#encoded.get(cacheKey);
    if (bytes === undefined) {
      bytes = this.encode(type, form);
      this.#encoded.set(cacheKey, bytes);
    }
    return bytes;
  }

  /**
   * encodeShared for an encoding that may yield to the event loop: undefined when it takes several
   * turns, after which `encodeSharedLater` has the bytes.
   */
  tryEncodeShared(type: EventType, form: EventEncoding): Buffer | undefined {
    const { encodeResumable } = form;
    if (encodeResumable === undefined) return this.encodeShared(type, form);
    const cacheKey = `${form.name}/${type}`;
    const known = this.#encoded?.get(cacheKey);
    if (known !== undefined || this.#encoding?.has(cacheKey) === true) return known;
    const work = this.#encodeLong(type, encodeResumable);
    const done = runInTurn(work);
    if (done === undefined) {
      this.#encoding ??= new Map();
      this.#encoding.set(cacheKey, runYielding(work));
      return undefined;
    }
    this.#encoded ??= new Map();
    this.#encoded.set(cacheKey, done.value);
    return done.value;
  }

  /** The bytes of an encoding that takes several turns; equal watches share it. */
  async encodeSharedLater(type: EventType, form: EventEncoding): Promise<Buffer> {
    const bytes = this.tryEncodeShared(type, form);
    return bytes ?? (this.#encoding?.get(`${form.name}/${type}`) as Promise<Buffer>);
  }

  /** Encodes for a watcher that is notified later. */
  encodeAlone(type: EventType, form: EventEncoding): MaybeResumable<Buffer> {
    const encodeResumable = form.encodeResumable ?? form.encodePastResumable;
    if (encodeResumable === undefined) return this.encode(type, form);
    return this.#encodeLong(type, encodeResumable);
  }

  *#encodeLong(
    type: EventType,
    encodeResumable: NonNullable<EventEncoding["encodeResumable"]>,
  ): Resumable<Buffer> {
    return encodeFrame(type, yield* encodeResumable(this.entryFor(type), this.revision));
  }

  /** Encodes in one turn. */
  encode(type: EventType, form: EventEncoding): Buffer {
    const object = form.encode(this.entryFor(type), this.revision);
    if (form.includesPrevious !== true || type !== "MODIFIED") return encodeFrame(type, object);
    const before = form.encode(this.previous as Entry, this.revision);
    return encodeFrame(type, Buffer.concat([object, previousMember, before]));
  }

  /**
   * Drops the encodings when all live watchers have been notified; the ring keeps the event,
   * without a copy in every requested encoding.
   */
  clearEncoded(): void {
    this.#encoded = undefined;
    this.#encoding = undefined;
  }

  /** The number of cached encodings. */
  get encodedCount(): number {
    return this.#encoded?.size ?? 0;
  }

  /** The approximate size of the event for a watch. */
  get encodedBytes(): number {
    return 40 + (this.current ?? (this.previous as Entry)).value.length;
  }

  get bytes(): number {
    return 200 + (this.current?.value.length ?? 0) + (this.previous?.value.length ?? 0);
  }
}

/** The encoding of a watcher's objects; the same name always means the same bytes. */
export interface EventEncoding {
  readonly name: string;
  encode(entry: Entry, revision: Revision): Buffer;
  /** Encodes with yields to the event loop, if the encoding parses the object. */
  readonly encodeResumable?: (entry: Entry, revision: Revision) => Resumable<Buffer>;
  /**
   * encodeResumable for initial objects and history alone: these may have been stored before the
   * definition changed, and are converted. The objects of new events are not.
   */
  readonly encodePastResumable?: (entry: Entry, revision: Revision) => Resumable<Buffer>;
  /** The encoding of a watch's first event, where it differs. */
  readonly first?: EventEncoding;
  /**
   * MODIFIED events have the earlier object in a member `previous`: for internal readers, not for
   * clients.
   */
  readonly includesPrevious?: boolean;
}

const previousMember = Buffer.from(',"previous":');

export const fullObjectEncoding: EventEncoding = { name: "object", encode: servedBytes };

export function encodeFrame(type: string, object: Buffer): Buffer {
  return Buffer.concat([
    heads.get(type) ?? Buffer.from(`{"type":"${type}","object":`),
    object,
    tail,
  ]);
}

const heads = new Map(
  ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"].map((type) => [
    type,
    Buffer.from(`{"type":"${type}","object":`),
  ]),
);
const tail = Buffer.from("}\n");

/**
 * Selects the objects of a watch or list. Both parts are evaluated lazily: most requests have no
 * selector.
 */
export interface Selection {
  readonly matches: (entry: Entry) => boolean;
  /** Values that every selected entry has: an index by one of them spares the others. */
  readonly lookups?: readonly IndexLookup[] | undefined;
  /**
   * Whether an object was selected before the change, where that differs from the rule for the
   * present.
   */
  readonly matchedBefore?: (entry: Entry) => boolean;
  /** DELETED events are sent whether or not the object was selected. */
  readonly reportsEveryDeletion?: boolean;
  /**
   * An object that existed before it was selected is sent as MODIFIED: the watcher waits for
   * changes of known objects.
   */
  readonly entersAsModified?: boolean | undefined;
}

/** The event type of the change for a selection, or undefined when it has none. */
export function eventTypeFor(
  event: HubEvent,
  selection: Selection | undefined,
): EventType | undefined {
  const { current, previous } = event;
  if (current === undefined && selection?.reportsEveryDeletion === true) return "DELETED";
  const before =
    previous !== undefined &&
    (selection === undefined || (selection.matchedBefore ?? selection.matches)(previous));
  const after = current !== undefined && (selection === undefined || selection.matches(current));
  const wasThere = before || (previous !== undefined && selection?.entersAsModified === true);
  if (after) return wasThere ? "MODIFIED" : "ADDED";
  return before ? "DELETED" : undefined;
}

const labelCache = new WeakMap<Entry, Readonly<Record<string, string>> | null>();

/** The labels of an entry, parsed once for any number of selectors. */
export function cachedLabels(entry: Entry): Readonly<Record<string, string>> | undefined {
  let labels = labelCache.get(entry);
  if (labels === undefined) {
    labels = labelsOf(entry) ?? null;
    labelCache.set(entry, labels);
  }
  return labels ?? undefined;
}

/** Whether the labels were parsed before. */
export function hasCachedLabels(entry: Entry): boolean {
  return labelCache.has(entry);
}
