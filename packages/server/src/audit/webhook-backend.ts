/**
 * Events sent to a webhook in batches. A webhook that is away is asked again, later and later; meanwhile events wait in a bounded buffer, and
 * those that do not fit are dropped and counted.
 */
import { type Clock, type Random, sleep, type Timer } from "@kcp-ts/machinery/base";
import { type JsonObject, stringifyJson } from "@kcp-ts/machinery/json";
import type { AuditBackend } from "./audit.ts";

export interface WebhookBackendOptions {
  /** Posts an EventList; throws when it was not taken. */
  readonly send: (body: string) => Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits?: Partial<WebhookLimits>;
  readonly onDropped: (events: number) => void;
  readonly onError: (error: unknown) => void;
}

/** As in Kubernetes. */
export const webhookLimits = {
  bufferEventsMax: 10_000,
  batchEventsMax: 400,
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
  #buffer: JsonObject[] = [];
  #timer: Timer | undefined;
  #sending: Promise<void> | undefined;

  constructor(options: WebhookBackendOptions) {
    this.#options = options;
    this.#limits = { ...webhookLimits, ...options.limits };
  }

  write(event: JsonObject): void {
    const { bufferEventsMax, batchEventsMax, batchWaitMaxMs } = this.#limits;
    if (this.#buffer.length >= bufferEventsMax) {
      this.#options.onDropped(1);
      return;
    }
    this.#buffer.push(event);
    if (this.#buffer.length >= batchEventsMax) this.#flush();
    else this.#timer ??= this.#options.clock.schedule(batchWaitMaxMs, () => this.#flush());
  }

  /** What is buffered is tried once more, without waiting between attempts. */
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

  async #sendAll(): Promise<void> {
    while (this.#buffer.length > 0) {
      // It stays in the buffer while it is tried, so that the bound holds for it, too.
      const batch = this.#buffer.slice(0, this.#limits.batchEventsMax);
      const isSent = await this.#send(batch);
      this.#buffer.splice(0, batch.length);
      if (!isSent) this.#options.onDropped(batch.length);
    }
  }

  async #send(items: readonly JsonObject[]): Promise<boolean> {
    const { send, clock, random, onError } = this.#options;
    const { attemptsMax, backoffInitialMs, backoffFactor } = this.#limits;
    const { signal } = this.#stop;
    const list = { kind: "EventList", apiVersion: "audit.k8s.io/v1", metadata: {}, items };
    const body = stringifyJson(list as unknown as JsonObject);
    for (let attempt = 0; ; attempt++) {
      try {
        await send(body);
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
