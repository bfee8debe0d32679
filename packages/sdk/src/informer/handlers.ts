/**
 * The event handlers of an informer. A handler that throws is reported and misses that one change;
 * the other handlers do not.
 */
import type { ObjectKey } from "./object-key.ts";

export interface InformerHandler<Cached> {
  /** `initial`: the object is from the initial list, not a change. */
  added?(object: Cached, context: { readonly key: ObjectKey; readonly initial: boolean }): void;
  updated?(object: Cached, context: { readonly key: ObjectKey; readonly previous: Cached }): void;
  /** `finalStateUnknown`: the deletion was missed, and the object is its last known state. */
  deleted?(
    object: Cached,
    context: { readonly key: ObjectKey; readonly finalStateUnknown: boolean },
  ): void;
  /**
   * A complete list was fetched and delivered: at the start, and whenever changes may have been
   * missed.
   */
  replaced?(): void;
  /**
   * A watch was accepted: from here on changes are delivered as they happen. Called at the start,
   * and after every new watch.
   */
  resumed?(): void;
}

export interface HandlerRegistration {
  remove(): void;
}

export class Handlers<Cached> {
  readonly #handlers = new Set<InformerHandler<Cached>>();
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  add(handler: InformerHandler<Cached>): HandlerRegistration {
    this.#handlers.add(handler);
    return { remove: () => void this.#handlers.delete(handler) };
  }

  /** The current handlers; a handler that registers later receives the state on registration. */
  snapshot(): readonly InformerHandler<Cached>[] {
    return [...this.#handlers];
  }

  notify(
    audience: Iterable<InformerHandler<Cached>>,
    message: (handler: InformerHandler<Cached>) => void,
  ): void {
    for (const handler of audience) {
      if (!this.#handlers.has(handler)) continue;
      try {
        message(handler);
      } catch (error) {
        this.#onError(error);
      }
    }
  }

  notifyAll(message: (handler: InformerHandler<Cached>) => void): void {
    this.notify(this.#handlers, message);
  }
}
