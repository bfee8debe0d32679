/**
 * Compaction by age and size: history is kept long enough for watches and paged lists to continue,
 * and no longer.
 *
 * Samples of (time, revision, bytes) determine the revision to compact to. One timer serves the
 * whole server. Where history outlives the process, so do the samples: otherwise a server that is
 * restarted every few minutes would never find an old enough revision.
 */
import { type Clock, type Supervisor, sleep } from "@kcp-ts/machinery/base";
import type { Revision, RevisionSample, Storage } from "../storage/index.ts";

export interface CompactionPolicy {
  /** Younger history is kept, unless it is too large. */
  readonly ageMs: number;
  /** History beyond this many bytes of changes is compacted at any age. */
  readonly bytesMax: number;
  readonly intervalMs: number;
}

export interface CompactorOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly supervisor: Supervisor;
  /** `bytes` counts from the start of the process. */
  readonly progress: () => { readonly revision: Revision; readonly bytes: number };
  readonly onError: (error: unknown) => void;
  readonly policy: Partial<CompactionPolicy>;
}

const policyDefault: CompactionPolicy = { ageMs: 300_000, bytesMax: 512 << 20, intervalMs: 30_000 };

export class Compactor {
  readonly #options: CompactorOptions;
  readonly #policy: CompactionPolicy;
  readonly #stop = new AbortController();
  #samples: RevisionSample[] = [];
  /** Whether the samples of earlier processes have been loaded. */
  #isResumed = false;
  #keptRevision = -1;
  #running: Promise<void> | undefined;

  constructor(options: CompactorOptions) {
    this.#options = options;
    this.#policy = { ...policyDefault, ...options.policy };
  }

  start(): void {
    const { supervisor } = this.#options;
    const { signal } = this.#stop;
    this.#sample();
    this.#running = supervisor.runLoop("compactor", signal, (stop) => this.#loop(stop));
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("the server is stopping"));
    await this.#running;
  }

  async #loop(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(this.#options.clock, this.#policy.intervalMs, signal);
      try {
        await this.#run();
      } catch (error) {
        if (signal.aborted) return;
        this.#options.onError(error);
      }
    }
  }

  #sample(): void {
    this.#samples.push({ at: this.#options.clock.now(), ...this.#options.progress() });
  }

  async #run(): Promise<void> {
    const { storage } = this.#options;
    const { signal } = this.#stop;
    if (!this.#isResumed) {
      this.#resume((await storage.history?.revisionSamples({ signal })) ?? []);
      this.#isResumed = true;
    }
    this.#sample();
    const target = this.#target();
    if (target !== undefined) {
      await storage.compact(target.revision, { signal });
      this.#samples = this.#samples.slice(this.#samples.indexOf(target));
    }
    await this.#keep();
  }

  /** Prepends the stored samples to those since the start, as if the process had continued. */
  #resume(kept: readonly RevisionSample[]): void {
    const first = this.#samples[0] as RevisionSample;
    // A store that was restored to an earlier state has no later revisions; samples from the future
    // are ignored too.
    const known = kept.filter(({ revision }) => revision <= first.revision);
    const offset = first.bytes - (known.at(-1)?.bytes ?? 0);
    const earlier = known.map(({ at, revision, bytes }) => ({
      at: Math.min(at, first.at),
      revision,
      bytes: bytes + offset,
    }));
    this.#samples = [...earlier, ...this.#samples];
  }

  async #keep(): Promise<void> {
    const { history } = this.#options.storage;
    const { revision } = this.#samples.at(-1) as RevisionSample;
    if (history === undefined || revision === this.#keptRevision) return;
    await history.saveRevisionSamples(this.#samples, { signal: this.#stop.signal });
    this.#keptRevision = revision;
  }

  /** The newest sample that is old enough, or that too many bytes have followed. */
  #target(): RevisionSample | undefined {
    const newest = this.#samples.at(-1) as RevisionSample;
    const isDue = ({ at, bytes }: RevisionSample) =>
      newest.at - at >= this.#policy.ageMs || newest.bytes - bytes > this.#policy.bytesMax;
    const due = this.#samples.findLast((sample) => isDue(sample) && sample.revision > 0);
    if (due !== undefined) return due;
    // The store has more history than the samples cover: history before all samples is compacted.
    const storedBytes = this.#options.storage.history?.bytes() ?? 0;
    const oldest = this.#samples.find(({ revision }) => revision > 0);
    const isTold = storedBytes <= this.#policy.bytesMax || newest.at === oldest?.at;
    return isTold ? undefined : oldest;
  }
}
