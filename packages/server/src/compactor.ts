/**
 * Compaction by age and size: history is kept long enough for watches and paged lists to go on, and no longer.
 *
 * Samples of (time, revision, bytes) say which revision is old enough to forget. One timer for the whole server.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import type { Revision, Storage } from "./storage/index.ts";

export interface CompactionPolicy {
  /** History younger than this is kept, unless it is too large. */
  readonly ageMs: number;
  /** History beyond this many bytes of changes is forgotten, however young. */
  readonly bytesMax: number;
  readonly intervalMs: number;
}

export interface CompactorOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly progress: () => { readonly revision: Revision; readonly bytes: number };
  readonly onError: (error: unknown) => void;
  readonly policy: Partial<CompactionPolicy>;
}

const policyDefault: CompactionPolicy = { ageMs: 300_000, bytesMax: 512 << 20, intervalMs: 30_000 };

interface Sample {
  readonly at: number;
  readonly revision: Revision;
  readonly bytes: number;
}

export class Compactor {
  readonly #options: CompactorOptions;
  readonly #policy: CompactionPolicy;
  readonly #stop = new AbortController();
  #samples: Sample[] = [];
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;

  constructor(options: CompactorOptions) {
    this.#options = options;
    this.#policy = { ...policyDefault, ...options.policy };
  }

  start(): void {
    this.#sample();
    this.#schedule();
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("the server is stopping"));
    this.#timer?.cancel();
    await this.#running;
  }

  #schedule(): void {
    this.#timer = this.#options.clock.schedule(this.#policy.intervalMs, () => {
      this.#running = this.#compact().finally(() => {
        if (!this.#stop.signal.aborted) this.#schedule();
      });
    });
  }

  #sample(): void {
    this.#samples.push({ at: this.#options.clock.monotonic(), ...this.#options.progress() });
  }

  async #compact(): Promise<void> {
    this.#sample();
    const target = this.#target();
    if (target === undefined) return;
    try {
      await this.#options.storage.compact(target.revision, { signal: this.#stop.signal });
      this.#samples = this.#samples.filter((sample) => sample.at >= target.at);
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#options.onError(error);
    }
  }

  /** The newest sample that is old enough, or that too many bytes have followed. */
  #target(): Sample | undefined {
    const newest = this.#samples.at(-1) as Sample;
    const isDue = ({ at, bytes }: Sample) =>
      newest.at - at >= this.#policy.ageMs || newest.bytes - bytes > this.#policy.bytesMax;
    return this.#samples.findLast((sample) => isDue(sample) && sample.revision > 0);
  }
}
