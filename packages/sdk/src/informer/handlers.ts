/** Who wants to hear of changes. A handler that throws is reported and misses that one change; the others do not. */
import type { ObjectKey } from "./object-key.ts";

export interface InformerHandler<Cached> {
  /** `initial`: the object is from the state at the start, not a change. */
  added?(object: Cached, context: { readonly key: ObjectKey; readonly initial: boolean }): void;
  updated?(object: Cached, context: { readonly key: ObjectKey; readonly previous: Cached }): void;
  /** `finalStateUnknown`: the deletion was missed, the object is its last state that was seen. */
  deleted?(
    object: Cached,
    context: { readonly key: ObjectKey; readonly finalStateUnknown: boolean },
  ): void;
  /** A whole state was fetched and told: at the start, and whenever changes may have been missed. */
  replaced?(): void;
  /** A watch was accepted: from here on changes are told as they happen. At the start, and whenever one had ended. */
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

  /** Those registered now; later ones are told the state when they register. */
  snapshot(): readonly InformerHandler<Cached>[] {
    return [...this.#handlers];
  }

  tell(
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

  tellAll(message: (handler: InformerHandler<Cached>) => void): void {
    this.tell(this.#handlers, message);
  }
}
