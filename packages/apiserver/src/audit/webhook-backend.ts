/**
 * WebhookBackend sends events to a webhook in batches. An unavailable webhook is retried with
 * backoff; meanwhile events wait in a limited buffer, and events that do not fit are dropped and
 * counted.
 *
 * An event is encoded when it arrives: the buffer counts its bytes, and a batch is assembled
 * without blocking other requests.
 */
import { type Clock, type Random, sleep, type Timer } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { AuditBackend } from "./audit.ts";
import { encodeEvent, type LossObserver } from "./encode-event.ts";
import { EventBuffer, eventList } from "./event-buffer.ts";

export interface WebhookBackendOptions extends LossObserver {
  /** Posts an EventList, as JSON; throws when the webhook did not accept it. */
  readonly send: (body: Uint8Array) => Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits?: Partial<WebhookLimits>;
}

/** As in Kubernetes, which does not limit bytes. */
export const webhookLimits = {
  bufferEventsMax: 10_000,
  bufferBytesMax: 64 << 20,
  batchEventsMax: 400,
  batchBytesMax: 2 << 20,
  batchWaitMaxMs: 30_000,
  backoffInitialMs: 10_000,
  backoffFactor: 1.5,
  attemptsMax: 5,
} as const;

export type WebhookLimits = { readonly [Limit in keyof typeof webhookLimits]: number };

export class WebhookBackend implements AuditBackend {
  readonly name = "webhook";
  readonly #options: WebhookBackendOptions;
  readonly #limits: WebhookLimits;
  readonly #stop = new AbortController();
  readonly #buffer: EventBuffer;
  #timer: Timer | undefined;
  #sending: Promise<void> | undefined;

  constructor(options: WebhookBackendOptions) {
    this.#options = options;
    this.#limits = { ...webhookLimits, ...options.limits };
    this.#buffer = new EventBuffer(this.#limits);
  }

  write(event: JsonObject, text?: string): void {
    const encoded = text ?? encodeEvent(event, this.#options);
    if (encoded === undefined) return;
    if (!this.#buffer.add(encoded)) {
      this.#options.onDropped(1);
      return;
    }
    const { clock } = this.#options;
    if (this.#buffer.isBatchFull) this.#flush();
    else this.#timer ??= clock.schedule(this.#limits.batchWaitMaxMs, () => this.#flush());
  }

  /** Flushes the buffer, without delays between attempts, until a batch is rejected. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#sending;
    this.#flush();
    await this.#sending;
  }

  #flush(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  /** Never throws: only the shutdown of the server waits for it. */
  async #sendAll(): Promise<void> {
    while (this.#buffer.length > 0) {
      const batch = this.#buffer.batch();
      const isSent = await this.#send(batch);
      // When the server stops, an unavailable webhook is not tried with each batch in turn.
      const count = isSent || !this.#stop.signal.aborted ? batch.length : this.#buffer.length;
      this.#buffer.remove(count);
      if (!isSent) this.#options.onDropped(count);
    }
  }

  async #send(batch: readonly Buffer[]): Promise<boolean> {
    const { send, clock, random, onError } = this.#options;
    const { attemptsMax, backoffInitialMs, backoffFactor } = this.#limits;
    const { signal } = this.#stop;
    for (let attempt = 0; ; attempt++) {
      try {
        await send(eventList(batch));
        return true;
      } catch (error) {
        onError(error);
        if (attempt + 1 >= attemptsMax || signal.aborted) return false;
        const delayMs = backoffInitialMs * backoffFactor ** attempt * (1 + 0.2 * random.next());
        // Woken by the stop: one last attempt follows.
        await sleep(clock, delayMs, signal).catch(() => undefined);
      }
    }
  }
}
