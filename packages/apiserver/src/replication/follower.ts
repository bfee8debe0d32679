/**
 * Follower: keeps a store the copy of another server's, by its backup and then by its changes.
 *
 *   copying --(the backup is complete)--> following --(no renewal for leaseMs)--> lost
 *      ^------------(history is gone, or another process serves)-----|
 *
 * Revisions stay the primary's: the store numbers each write, as the primary's store did, and a
 * write that gets another revision ends in a new copy. So resourceVersions of clients hold after a
 * takeover, and their watches go on.
 */
import { type Clock, sleep } from "@kcp-ts/machinery/base";
import { readBackup } from "../backup/index.ts";
import type { Revision, SnapshotTarget, Storage } from "../storage/index.ts";
import { type Frame, FrameParser } from "./change-frames.ts";

export type FollowedStore = Storage & SnapshotTarget;

/** The server that is followed. Its calls reject when it does not answer. */
export interface Primary {
  /** The bytes of a backup. */
  backup(signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
  /** Undefined when the history after this revision is gone. */
  changes(
    after: Revision,
    signal: AbortSignal,
  ): Promise<{ readonly store: string; readonly frames: AsyncIterable<Uint8Array> } | undefined>;
}

export interface FollowerOptions {
  readonly primary: Primary;
  /** An empty store in the place of the last one, which is closed. */
  readonly openEmpty: () => Promise<FollowedStore>;
  /** The primary is lost when it has not renewed for this time. */
  readonly leaseMs: number;
  readonly clock: Clock;
  /** A copy is complete: from here on a loss of the primary ends `follow`. */
  readonly onCopied?: (revision: Revision) => void;
  /** The copy ended at an error and is tried again. */
  readonly onError: (error: unknown) => void;
}

export interface LostPrimary {
  /** Every write of the primary up to this revision is in the store, which is closed. */
  readonly revision: Revision;
  /** What the primary said last: writes between the two are lost, and those that it did not say. */
  readonly announced: Revision;
}

const retryMs = 250;
const batchWritesMax = 500;
/** Clients that were disconnected for less resume their watches after a takeover. */
const historyKeptMs = 600_000;

export class Follower {
  readonly #options: FollowerOptions;
  #store: FollowedStore | undefined;
  #storeId = "";
  #revision = 0 as Revision;
  #announced = 0 as Revision;
  #heardAtMs = 0;
  #compactable: { readonly atMs: number; readonly revision: Revision } | undefined;

  constructor(options: FollowerOptions) {
    this.#options = options;
  }

  /** The copy has every write of the primary up to here. */
  get revision(): Revision {
    return this.#revision;
  }

  /** Resolves when the primary is lost, or with undefined when the signal aborts. */
  async follow(signal: AbortSignal): Promise<LostPrimary | undefined> {
    const { clock, leaseMs, onError } = this.#options;
    try {
      while (!signal.aborted) {
        const attempt = new AbortController();
        const lapse = this.#endAtLapse(attempt);
        try {
          await this.#run(AbortSignal.any([signal, attempt.signal]));
        } catch (error) {
          if (!signal.aborted) onError(error);
        } finally {
          lapse.cancel();
        }
        if (this.#store !== undefined && clock.monotonic() - this.#heardAtMs >= leaseMs) break;
        await sleep(clock, retryMs, signal).catch(() => undefined);
      }
      if (signal.aborted) return undefined;
      return { revision: this.#revision, announced: this.#announced };
    } finally {
      await this.#store?.close();
    }
  }

  /** Ends an attempt when the lease has lapsed; a copy that is not complete has none. */
  #endAtLapse(attempt: AbortController): { cancel(): void } {
    const { clock, leaseMs } = this.#options;
    const check = () => {
      const left = this.#heardAtMs + leaseMs - clock.monotonic();
      if (this.#store !== undefined && left <= 0)
        attempt.abort(new Error(`the primary has not renewed its lease for ${leaseMs} ms`));
      else timer = clock.schedule(this.#store === undefined ? leaseMs : left, check);
    };
    let timer = clock.schedule(0, check);
    return { cancel: () => timer.cancel() };
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { primary } = this.#options;
    if (this.#store === undefined) await this.#copy(signal);
    const answer = await primary.changes(this.#revision, signal);
    if (answer === undefined || (this.#storeId !== "" && answer.store !== this.#storeId)) {
      await this.#forget();
      if (answer !== undefined) await answer.frames[Symbol.asyncIterator]().return?.();
      return;
    }
    this.#storeId = answer.store;
    const parser = new FrameParser();
    for await (const chunk of answer.frames) {
      this.#heardAtMs = this.#options.clock.monotonic();
      await this.#apply(parser.push(chunk), signal);
    }
  }

  async #copy(signal: AbortSignal): Promise<void> {
    const { primary, openEmpty, onCopied, clock } = this.#options;
    // Asked first: what there is stays while the primary does not answer.
    const bytes = await primary.backup(signal);
    const store = await openEmpty();
    try {
      const snapshot = await readBackup(bytes);
      await store.restoreSnapshot(snapshot, { signal });
      this.#revision = snapshot.revision;
      this.#announced = snapshot.revision;
    } catch (error) {
      await store.close();
      throw error;
    }
    this.#store = store;
    this.#heardAtMs = clock.monotonic();
    onCopied?.(this.#revision);
  }

  async #forget(): Promise<void> {
    const store = this.#store;
    this.#store = undefined;
    this.#storeId = "";
    this.#compactable = undefined;
    await store?.close();
  }

  async #apply(frames: readonly Frame[], signal: AbortSignal): Promise<void> {
    const writes = frames.filter((frame) => frame.kind === "write");
    for (let at = 0; at < writes.length; at += batchWritesMax)
      await this.#write(writes.slice(at, at + batchWritesMax));
    const last = frames.at(-1);
    if (last === undefined) return;
    if (last.revision > this.#announced) this.#announced = last.revision;
    await this.#compact(signal);
  }

  /** The writes share the syncs of the disk, as they did at the primary. */
  async #write(writes: readonly Extract<Frame, { kind: "write" }>[]): Promise<void> {
    const store = this.#store as FollowedStore;
    // A write that was begun is finished: it is in the store or the store is copied again.
    const { signal } = new AbortController();
    let open: Promise<void>[] = [];
    try {
      for (const { key, value, expected, revision } of writes) {
        // What is not in memory would be read first, and later writes overtake it.
        if (expected !== "absent" && store.peek?.(key) === undefined) {
          await Promise.all(open);
          open = [];
          await store.get(key, { signal });
        }
        open.push(
          store.commit({ key, value, expected }, { signal }).then((made) => {
            if (made !== revision) throw new Error(`revision ${made} instead of ${revision}`);
            this.#revision = revision;
          }),
        );
      }
      await Promise.all(open);
    } catch (error) {
      await Promise.allSettled(open);
      await this.#forget();
      throw new Error("the copy differs from the primary, and is made again", { cause: error });
    }
  }

  async #compact(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const now = clock.monotonic();
    this.#compactable ??= { atMs: now, revision: this.#revision };
    if (now - this.#compactable.atMs < historyKeptMs) return;
    const { revision } = this.#compactable;
    this.#compactable = undefined;
    await this.#store?.compact(revision, { signal });
  }
}
