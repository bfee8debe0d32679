/**
 * One open watch of the fake server: a queue of lines that can end, break, or stall while the
 * connection stays open.
 */
import { onAbort } from "../client/index.ts";

export interface WatchScope {
  /** Storage keys under this prefix are watched… */
  readonly resource: string;
  /** …in this cluster (`*`: all)… */
  readonly cluster: string;
  /** …and this namespace (empty: all). */
  readonly namespace: string;
  readonly bookmarks: boolean;
}

export class FakeWatch implements AsyncIterable<Uint8Array> {
  readonly scope: WatchScope;
  readonly #signal: AbortSignal | undefined;
  #lines: string[] = [];
  #outcome: { readonly error?: Error } | undefined;
  #stalled = false;
  #wake: (() => void) | undefined;

  constructor(scope: WatchScope, signal: AbortSignal | undefined) {
    this.scope = scope;
    this.#signal = signal;
  }

  send(event: { readonly type: string; readonly object: unknown }): void {
    if (this.#stalled) return;
    this.#lines.push(`${JSON.stringify(event)}\n`);
    this.#wake?.();
  }

  /**
   * Drops all later events without ending the stream: like a peer that lost power, or a firewall
   * that dropped its state.
   */
  stall(): void {
    this.#stalled = true;
  }

  /** Ends the stream cleanly, as on `timeoutSeconds`. A stalled watch cannot notify its reader. */
  end(): void {
    if (!this.#stalled) this.#outcome ??= {};
    this.#wake?.();
  }

  fail(error: Error): void {
    if (!this.#stalled) this.#outcome ??= { error };
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const encoder = new TextEncoder();
    const stopListening = onAbort(this.#signal, () => this.#wake?.());
    try {
      for (;;) {
        this.#signal?.throwIfAborted();
        if (this.#lines.length > 0) {
          const text = this.#lines.join("");
          this.#lines = [];
          yield encoder.encode(text);
        } else if (this.#outcome !== undefined) {
          if (this.#outcome.error !== undefined) throw this.#outcome.error;
          return;
        } else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      stopListening();
      this.#outcome ??= {};
    }
  }

  get isOver(): boolean {
    return this.#outcome !== undefined;
  }
}
