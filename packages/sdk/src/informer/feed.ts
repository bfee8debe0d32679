/**
 * Feed: fetches and follows one resource, keeps the store in step, and tells the handlers.
 *
 * It knows how, the informer's machine knows when. Each method either brings the store to a state that the server had, or throws and leaves it
 * at one.
 */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import {
  type Client,
  type KubernetesObject,
  type MemberTree,
  pause,
  type Resource,
  type ResourceClient,
  type SelectorOptions,
  type WatchEvent,
} from "../client/index.ts";
import type { Handlers } from "./handlers.ts";
import type { InformerScope } from "./informer.ts";
import type { ListerWatcher, ListStateOptions, WatchStreamOptions } from "./informer-loop.ts";
import { Interner } from "./interner.ts";
import {
  formatKey,
  identify,
  type ObjectKey,
  parseKey,
  unidentifiedObjectError,
} from "./object-key.ts";
import type { ObjectTable } from "./object-table.ts";
import type { IndexedStore } from "./store.ts";
import { membersFor } from "./transforms.ts";
import { type StateEvent, WatchReader } from "./watch-reader.ts";

export interface StoreListerWatcherOptions<Object extends KubernetesObject, Cached> {
  readonly client: Client;
  readonly resource: Resource<Object>;
  readonly scope: InformerScope;
  readonly selector?: SelectorOptions | undefined;
  readonly transform?: ((object: Object) => Cached) | undefined;
  readonly keep?: ((object: Object) => boolean) | undefined;
  readonly pageSize?: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly store: IndexedStore<Cached>;
  readonly handlers: Handlers<Cached>;
  /** Told of objects that are left out because they cannot be read. */
  readonly onUnreadable: (error: unknown) => void;
}

const pageSizeDefault = 500;
/** Handlers hear of a big state in slices, so that nothing else has to wait for all of it. */
const sliceObjects = 1000;

export class StoreListerWatcher<Object extends KubernetesObject, Cached> implements ListerWatcher {
  readonly #options: StoreListerWatcherOptions<Object, Cached>;
  readonly #resource: ResourceClient<Object>;
  readonly #interner = new Interner();
  readonly #reader: WatchReader<Object>;
  readonly #members: MemberTree | undefined;
  #hasState = false;
  #count = 0;

  constructor(options: StoreListerWatcherOptions<Object, Cached>) {
    this.#options = options;
    this.#resource = options.client.resource(options.resource);
    // Who decides what to keep looks at whole objects.
    const members = options.keep === undefined ? membersFor(options.transform) : undefined;
    this.#members = members;
    this.#reader = new WatchReader({ ...options, resource: this.#resource, members });
  }

  /** Fetches the whole state and returns its version. */
  async list({ signal, paged }: ListStateOptions): Promise<string> {
    const { selector, pageSize = pageSizeDefault } = this.#options;
    const next = this.#options.store.nextTable();
    const size = paged ? pageSize : 0;
    const reading = { members: this.#members, onUnreadable: this.#options.onUnreadable };
    const options = { ...selector, signal, retriesMax: 0, pageSize: size, ...reading };
    const batches = this.#resource.batches(options);
    let batch = await batches.next();
    for (; batch.done !== true; batch = await batches.next())
      for (const item of batch.value) this.#collect(next, item);
    await this.#replace(next, signal);
    return batch.value.resourceVersion ?? "";
  }

  /** Fetches the state by a watch that begins with it, tells `synced`, and follows the changes on the same stream. */
  async stream({ signal, tell, opened }: WatchStreamOptions): Promise<void> {
    const next = this.#options.store.nextTable();
    await this.#reader.stream({
      signal,
      state: (events) => {
        for (const event of events) this.#collectEvent(next, event);
      },
      synced: async (resourceVersion) => {
        await this.#replace(next, signal);
        tell({ type: "synced", resourceVersion });
        this.#resumed(opened);
      },
      changes: (events) => this.#applyAll(events, tell),
    });
  }

  /** Follows the changes behind a version until the stream ends. */
  async watch(options: WatchStreamOptions & { readonly resourceVersion: string }): Promise<void> {
    const { signal, tell, resourceVersion, opened } = options;
    const changes = (events: readonly WatchEvent<Object>[]) => this.#applyAll(events, tell);
    const onOpen = () => this.#resumed(opened);
    await this.#reader.watch({ signal, resourceVersion, changes, onOpen });
  }

  #resumed(opened: () => void): void {
    opened();
    this.#options.handlers.tellAll((one) => one.resumed?.());
  }

  takeCount(): number {
    const count = this.#count;
    this.#count = 0;
    return count;
  }

  #applyAll(batch: readonly WatchEvent<Object>[], tell: WatchStreamOptions["tell"]): void {
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
    if (type === "DELETED" || !this.#keeps(object)) {
      const wasKnown = store.remove(text);
      // What is not kept is still missed when it goes.
      if (!wasKnown && (type !== "DELETED" || this.#options.keep === undefined)) return;
      const last = this.#transform(object);
      handlers.tellAll((one) => one.deleted?.(last, { key, finalStateUnknown: false }));
      return;
    }
    const previous = store.peek(text);
    if (isSameVersion(previous, object)) return;
    const cached = this.#transform(object);
    store.put(text, cached, previous);
    if (previous === undefined) {
      handlers.tellAll((one) => one.added?.(cached, { key, initial: false }));
    } else {
      handlers.tellAll((one) => one.updated?.(cached, { key, previous }));
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

  /** An object that has not changed since stays the same object: a new sync costs no second copy of what is known. */
  #collect(next: ObjectTable<Cached>, object: Object): void {
    this.#count++;
    const key = this.#keyOf(object);
    if (key === undefined) return;
    const text = formatKey(key);
    if (!this.#keeps(object)) {
      next.delete(text);
      return;
    }
    const { store } = this.#options;
    const isKnown = this.#hasState && isSameVersion(store.peek(text), object);
    if (isKnown) store.carryOver(text, next);
    else next.set(text, next.packsNew ? this.#cut(object) : this.#transform(object));
  }

  async #replace(next: ObjectTable<Cached>, signal: AbortSignal): Promise<void> {
    const { store, handlers, clock } = this.#options;
    const audience = handlers.snapshot();
    const initial = !this.#hasState;
    const previous = store.replace(next);
    this.#hasState = true;
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
        handlers.tell(audience, (one) => one.added?.(object, { key, initial }));
      } else {
        handlers.tell(audience, (one) => one.updated?.(object, { key, previous: before }));
      }
      await breathe();
    }
    for (const text of previous.keys()) {
      if (next.has(text)) continue;
      const object = previous.get(text) as Cached;
      const key = parseKey(text);
      handlers.tell(audience, (one) => one.deleted?.(object, { key, finalStateUnknown: true }));
      await breathe();
    }
    handlers.tell(audience, (one) => one.replaced?.());
  }

  #keeps(object: Object): boolean {
    const { keep } = this.#options;
    return keep === undefined || keep(object);
  }

  /** An object without a name, or whose cluster nobody knows, belongs to no key: it is reported and left out, never put under a wrong one. */
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

  /** For an object that stays one: its parts are shared with others. */
  #transform(object: Object): Cached {
    const { managedFields } = object.metadata;
    this.#interner.share(object);
    const cached = this.#cut(object);
    const kept = (cached as Partial<KubernetesObject> | undefined)?.metadata?.managedFields;
    if (managedFields !== undefined && kept === managedFields) {
      this.#interner.shareManagedFields(managedFields);
    }
    return cached;
  }
}

/** A transform may have dropped the version; then nothing is the same as anything. */
function isSameVersion(cached: unknown, { metadata }: KubernetesObject): boolean {
  const known = (cached as Partial<KubernetesObject> | undefined)?.metadata;
  return (
    known?.resourceVersion !== undefined &&
    known.resourceVersion === metadata.resourceVersion &&
    known.uid === metadata.uid
  );
}
