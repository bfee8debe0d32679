/**
 * One change, encoded once for all its watchers.
 *
 * What a watcher gets depends on its selector (a change can enter, stay in or leave the selection) and on its form (whole object,
 * metadata only, table row); each combination is made on first use and shared.
 */
import type { DataChange } from "../storage/feed.ts";
import type { Entry, Revision, StorageKey } from "../storage/index.ts";
import { labelsOf, servedBytesAt } from "../stored-object/index.ts";

export type EventType = "ADDED" | "MODIFIED" | "DELETED";

export class HubEvent {
  readonly revision: Revision;
  readonly key: StorageKey;
  /** The state after the change; undefined when the object was deleted. */
  readonly current: Entry | undefined;
  readonly previous: Entry | undefined;
  /** Most events have no watcher: made on first use. */
  #encoded: Map<string, Buffer> | undefined;

  constructor(change: DataChange) {
    this.revision = change.revision;
    this.current = change.kind === "put" ? change.entry : undefined;
    this.previous = change.previous;
    this.key = (change.kind === "put" ? change.entry : change.previous).key;
  }

  /** The object to show for an event type: a deleted or deselected one is shown as it last was. */
  entryFor(type: EventType): Entry {
    return (type === "DELETED" ? (this.previous ?? this.current) : this.current) as Entry;
  }

  /** For the watchers that hear of the change as it happens: they share the bytes. */
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

  /** For a watcher that hears of the change later. */
  encode(type: EventType, form: EventEncoding): Buffer {
    const object = form.encode(this.entryFor(type), this.revision);
    if (form.tellsPrevious !== true || type !== "MODIFIED") return encodeFrame(type, object);
    const before = form.encode(this.previous as Entry, this.revision);
    return encodeFrame(type, Buffer.concat([object, previousMember, before]));
  }

  /** All live watchers have been told; the ring keeps the change, not a copy of it in every form that somebody asked for. */
  forgetEncoded(): void {
    this.#encoded = undefined;
  }

  /** Forms that are held in memory. */
  get encodedCount(): number {
    return this.#encoded?.size ?? 0;
  }

  /** About what a watch is sent of it. */
  get shownBytes(): number {
    return 40 + (this.current ?? (this.previous as Entry)).value.length;
  }

  get bytes(): number {
    return 200 + (this.current?.value.length ?? 0) + (this.previous?.value.length ?? 0);
  }
}

/** How a watcher wants its objects; the same name always means the same bytes. */
export interface EventEncoding {
  readonly name: string;
  encode(entry: Entry, revision: Revision): Buffer;
  /** The form of a watch's first event, where it differs. */
  readonly first?: EventEncoding;
  /** Modifications come with the object as it was, in a member `previous`: for a reader in between, not for clients. */
  readonly tellsPrevious?: boolean;
}

const previousMember = Buffer.from(',"previous":');

export const fullObjectEncoding: EventEncoding = { name: "object", encode: servedBytesAt };

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

/** Decides which objects a watch or list is about. Both parts are looked at lazily: most requests have no selector at all. */
export interface Selection {
  readonly matches: (entry: Entry) => boolean;
  /** Whether an object was among them before, where that is another question. */
  readonly matched?: (entry: Entry) => boolean;
  /** The removal of an object is told whether or not it was selected. */
  readonly tellsEveryDeletion?: boolean;
  /** An object that was there before it was selected comes as modified: whoever watches waits for what becomes of it. */
  readonly entersModified?: boolean | undefined;
}

/** What the change means to a selection, or undefined when it means nothing. */
export function eventTypeFor(
  event: HubEvent,
  selection: Selection | undefined,
): EventType | undefined {
  const { current, previous } = event;
  if (current === undefined && selection?.tellsEveryDeletion === true) return "DELETED";
  const before =
    previous !== undefined &&
    (selection === undefined || (selection.matched ?? selection.matches)(previous));
  const after = current !== undefined && (selection === undefined || selection.matches(current));
  const wasThere = before || (previous !== undefined && selection?.entersModified === true);
  if (after) return wasThere ? "MODIFIED" : "ADDED";
  return before ? "DELETED" : undefined;
}

const labelCache = new WeakMap<Entry, Readonly<Record<string, string>> | null>();

/** The labels of an entry, read once however many selectors ask. */
export function cachedLabels(entry: Entry): Readonly<Record<string, string>> | undefined {
  let labels = labelCache.get(entry);
  if (labels === undefined) {
    labels = labelsOf(entry) ?? null;
    labelCache.set(entry, labels);
  }
  return labels ?? undefined;
}

/** Whether somebody asked for them before. */
export function hasCachedLabels(entry: Entry): boolean {
  return labelCache.has(entry);
}
