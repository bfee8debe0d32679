/**
 * StoreListerWatcher: lists and watches one resource, keeps the store in sync, and calls the
 * handlers.
 *
 * It implements the steps, and the reflector's state machine decides on their order. Each method
 * either brings the store to a state that the server had, or throws and leaves it at one.
 */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import {
  type KubernetesObject,
  type MemberTree,
  pause,
  type SelectorOptions,
  type WatchEvent,
} from "../client/index.ts";
import type { Handlers } from "./handlers.ts";
import type { InformerScope } from "./informer.ts";
import { Interner } from "./interner.ts";
import {
  formatKey,
  identify,
  type ObjectKey,
  parseKey,
  unidentifiedObjectError,
} from "./object-key.ts";
import type { ObjectTable } from "./object-table.ts";
import type { ListerWatcher, ListStateOptions, WatchStreamOptions } from "./reflector.ts";
import type { IndexedStore } from "./store.ts";
import { membersFor } from "./transforms.ts";
import { type StateEvent, WatchReader } from "./watch-reader.ts";
import type { ListWatch } from "./wildcard-resource.ts";

export interface StoreListerWatcherOptions<Object extends KubernetesObject, Cached> {
  readonly resource: ListWatch<Object>;
  readonly scope: InformerScope;
  readonly selector?: SelectorOptions | undefined;
  readonly transform?: ((object: Object) => Cached) | undefined;
  readonly filter?: ((object: Object) => boolean) | undefined;
  readonly pageSize?: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly store: IndexedStore<Cached>;
  readonly handlers: Handlers<Cached>;
  /** Called for objects that are left out because they cannot be parsed. */
  readonly onUnreadable: (error: unknown) => void;
}

const pageSizeDefault = 500;
/** Handlers receive a large state in slices, so that other tasks need not wait for all of it. */
const sliceObjects = 1000;

export class StoreListerWatcher<Object extends KubernetesObject, Cached> implements ListerWatcher {
  readonly #options: StoreListerWatcherOptions<Object, Cached>;
  readonly #resource: ListWatch<Object>;
  readonly #interner = new Interner();
  readonly #reader: WatchReader<Object>;
  readonly #members: MemberTree | undefined;
  #hasListed = false;
  #count = 0;

  constructor(options: StoreListerWatcherOptions<Object, Cached>) {
    this.#options = options;
    this.#resource = options.resource;
    // A program that decides which objects to keep reads full objects.
    const members = options.filter === undefined ? membersFor(options.transform) : undefined;
    this.#members = members;
    this.#reader = new WatchReader({ ...options, members });
  }

  /** Fetches the complete state and returns its version. */
  async list({ signal, paged }: ListStateOptions): Promise<string> {
    const { selector, pageSize = pageSizeDefault } = this.#options;
    const next = this.#options.store.nextTable();
    const size = paged ? pageSize : 0;
    const reading = { members: this.#members, onUnreadable: this.#options.onUnreadable };
    const options = { ...selector, signal, retriesMax: 0, pageSize: size, ...reading };
    const batches = this.#resource.batches(options);
    try {
      let batch = await batches.next();
      for (; batch.done !== true; batch = await batches.next())
        for (const item of batch.value) this.#collect(next, item);
      await this.#replace(next, signal);
      return batch.value.resourceVersion ?? "";
    } finally {
      next.charges?.discard();
      await batches.return({});
    }
  }

  /**
   * Fetches the state by a watch that begins with it, calls `synced`, and follows the changes on
   * the same stream.
   */
  async stream({ signal, dispatch, onOpened }: WatchStreamOptions): Promise<void> {
    const next = this.#options.store.nextTable();
    try {
      await this.#reader.stream({
        signal,
        state: (events) => {
          for (const event of events) this.#collectEvent(next, event);
        },
        synced: async (resourceVersion) => {
          await this.#replace(next, signal);
          dispatch({ type: "synced", resourceVersion });
          this.#resumed(onOpened);
        },
        changes: (events) => this.#applyAll(events, dispatch),
      });
    } finally {
      next.charges?.discard();
    }
  }

  /** Follows the changes after a version until the stream ends. */
  async watch(options: WatchStreamOptions & { readonly resourceVersion: string }): Promise<void> {
    const { signal, dispatch, resourceVersion, onOpened } = options;
    const changes = (events: readonly WatchEvent<Object>[]) => this.#applyAll(events, dispatch);
    const onOpen = () => this.#resumed(onOpened);
    await this.#reader.watch({ signal, resourceVersion, changes, onOpen });
  }

  #resumed(opened: () => void): void {
    opened();
    this.#options.handlers.notifyAll((one) => one.resumed?.());
  }

  takeCount(): number {
    const count = this.#count;
    this.#count = 0;
    return count;
  }

  #applyAll(batch: readonly WatchEvent<Object>[], tell: WatchStreamOptions["dispatch"]): void {
    let resourceVersion: string | undefined;
    for (const event of batch) {
      if (event.type !== "BOOKMARK") this.#apply(event.type, event.object);
      resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
    }
    if (resourceVersion !== undefined) tell({ type: "progress", resourceVersion });
  }

  #apply(type: "ADDED" | "MODIFIED" | "DELETED", object: Object): void {
    const { store, handlers } = this.#options;
    this.#count++;
    const key = this.#keyOf(object);
    if (key === undefined) return;
    const text = formatKey(key);
    if (type === "DELETED" || !this.#isSelected(object)) {
      const wasKnown = store.remove(text);
      // The deletion of an object that is not stored is delivered all the same.
      if (!wasKnown && (type !== "DELETED" || this.#options.filter === undefined)) return;
      const last = this.#transform(object);
      handlers.notifyAll((one) => one.deleted?.(last, { key, finalStateUnknown: false }));
      return;
    }
    const previous = store.peek(text);
    if (isSameVersion(previous, object)) return;
    const cached = this.#transform(object);
    store.put(text, cached, previous);
    if (previous === undefined) {
      handlers.notifyAll((one) => one.added?.(cached, { key, initial: false }));
    } else {
      handlers.notifyAll((one) => one.updated?.(cached, { key, previous }));
    }
  }

  #collectEvent(next: ObjectTable<Cached>, event: StateEvent<Object>): void {
    if (event.type === "DELETED") {
      const key = this.#keyOf(event.object);
      if (key !== undefined) next.delete(formatKey(key));
    } else {
      this.#collect(next, event.object);
    }
  }

  /**
   * An unchanged object stays the identical object: a new sync creates no second copy of known
   * objects.
   */
  #collect(next: ObjectTable<Cached>, object: Object): void {
    this.#count++;
    const key = this.#keyOf(object);
    if (key === undefined) return;
    const text = formatKey(key);
    if (!this.#isSelected(object)) {
      next.delete(text);
      return;
    }
    const { store } = this.#options;
    const isKnown = this.#hasListed && isSameVersion(store.peek(text), object);
    if (isKnown) store.carryOver(text, next);
    else next.set(text, next.packsNew ? this.#cut(object) : this.#transform(object));
  }

  async #replace(next: ObjectTable<Cached>, signal: AbortSignal): Promise<void> {
    const { store, handlers, clock } = this.#options;
    const audience = handlers.snapshot();
    const initial = !this.#hasListed;
    const previous = store.replace(next);
    this.#hasListed = true;
    let told = 0;
    const breathe = async () => {
      if (++told % sliceObjects === 0) await pause(clock, 0, signal);
    };
    if (audience.length === 0) return;
    for (const text of next.keys()) {
      if (next.isSameIn(previous, text)) continue;
      const object = next.get(text) as Cached;
      const before = previous.get(text);
      const key = parseKey(text);
      if (before === undefined) {
        handlers.notify(audience, (one) => one.added?.(object, { key, initial }));
      } else {
        handlers.notify(audience, (one) => one.updated?.(object, { key, previous: before }));
      }
      await breathe();
    }
    for (const text of previous.keys()) {
      if (next.has(text)) continue;
      const object = previous.get(text) as Cached;
      const key = parseKey(text);
      handlers.notify(audience, (one) => one.deleted?.(object, { key, finalStateUnknown: true }));
      await breathe();
    }
    handlers.notify(audience, (one) => one.replaced?.());
  }

  #isSelected(object: Object): boolean {
    const { filter } = this.#options;
    return filter === undefined || filter(object);
  }

  /**
   * An object without a name, or whose cluster is unknown, has no key: it is reported and left out,
   * never stored under a wrong key.
   */
  #keyOf(object: Object): ObjectKey | undefined {
    const { scope, onUnreadable } = this.#options;
    const key = identify(object, scope);
    if (key === undefined) onUnreadable(unidentifiedObjectError(object));
    return key;
  }

  #cut(object: Object): Cached {
    const { transform } = this.#options;
    return transform === undefined ? (object as unknown as Cached) : transform(object);
  }

  /** For an object that stays a JavaScript object: its parts are shared with other objects. */
  #transform(object: Object): Cached {
    const { managedFields } = object.metadata;
    this.#interner.intern(object);
    const cached = this.#cut(object);
    const kept = (cached as Partial<KubernetesObject> | undefined)?.metadata?.managedFields;
    if (managedFields !== undefined && kept === managedFields) {
      this.#interner.internManagedFields(managedFields);
    }
    return cached;
  }
}

/** A transform may have dropped the version; then no object counts as unchanged. */
function isSameVersion(cached: unknown, { metadata }: KubernetesObject): boolean {
  const known = (cached as Partial<KubernetesObject> | undefined)?.metadata;
  return (
    known?.resourceVersion !== undefined &&
    known.resourceVersion === metadata.resourceVersion &&
    known.uid === metadata.uid
  );
}
