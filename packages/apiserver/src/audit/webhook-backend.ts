/**
 * Events sent to a webhook in batches. A webhook that is away is asked again, later and later; meanwhile events wait in a bounded buffer, and
 * those that do not fit are dropped and counted.
 *
 * An event is encoded when it comes: what waits is known by its bytes, and a batch is put together without holding up others.
 */
import { type Clock, type Random, sleep, type Timer } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { AuditBackend } from "./audit.ts";
import { encodeEvent, type LossObserver } from "./encode-event.ts";
import { EventBuffer, eventList } from "./event-buffer.ts";

export interface WebhookBackendOptions extends LossObserver {
  /** Posts an EventList, as JSON; throws when it was not taken. */
  readonly send: (body: Uint8Array) => Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits?: Partial<WebhookLimits>;
}

/** As in Kubernetes, which does not count bytes. */
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

  /** What is buffered is tried once more, without waiting between attempts, until a batch is refused. */
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

  /** Never throws: nobody waits for it but the end of the server. */
  async #sendAll(): Promise<void> {
    while (this.#buffer.length > 0) {
      const batch = this.#buffer.batch();
      const isSent = await this.#send(batch);
      // When the server stops, a webhook that is away is not asked for each batch in turn.
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
        // Woken by the stop: then there is one last attempt.
        await sleep(clock, delayMs, signal).catch(() => undefined);
      }
    }
  }
}
