/**
 * Group commit: one batch is on its way to the disk, the writes that arrive meanwhile wait and form the next
 * one.
 *
 *     commit -> queue -> evaluated in order, all that wait -> one batch, one sync -> acknowledged together
 *
 * So the cost of a sync is shared by all who wait for it, and an idle store syncs a single write at once; neither does the disk wait for a long
 * turn of the event loop to end. A conflict with what is acknowledged is answered when the write is evaluated, without the disk; one with a write of the same batch
 * when that is acknowledged, since nobody can see it before, and it may fail. After a failed batch nothing is written until recovery has found out what is on disk.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { eventLoopLimits } from "../../event-loop/index.ts";
import { StorageError } from "../errors.ts";
import type { StorageKey } from "../key.ts";
import type { Revision } from "../revision.ts";
import type { Entry, Write } from "../storage.ts";
import { BatchBuilder, type MaintenanceWrite } from "./batch.ts";
import { decodeEntry } from "./entry-record.ts";
import { newestKey } from "./layout.ts";
import { closedError, type StoreState } from "./store-state.ts";

export interface CommitQueueLimits {
  readonly queuedWritesMax: number;
  readonly queuedBytesMax: number;
}

/** A batch takes no more writes beyond either; a batch of one write may be larger. */
export const batchWritesMax = 128;
export const batchBytesMax = 4 << 20;
/** When so many wait and the disk is free, they go at once: it works while the rest of the turn's requests are heard, instead of after them. */
export const batchWritesEager = 32;
/** When so many have waited for the disk, they do not wait for the answers to those before them. */
export const batchWritesWithoutDelay = 8;

interface QueuedWrite {
  readonly write: Write;
  readonly signal: AbortSignal;
  readonly resolve: (revision: Revision) => void;
  readonly reject: (error: unknown) => void;
}

/** In conflict with a write of the same batch. */
interface RejectedWrite {
  readonly item: QueuedWrite;
  readonly error: unknown;
}

interface AcceptedWrite {
  readonly item: QueuedWrite;
  readonly revision: Revision;
}

interface QueuedMaintenance {
  readonly upkeep: MaintenanceWrite;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export class CommitQueue {
  readonly #state: StoreState;
  readonly #limits: CommitQueueLimits;
  readonly #clock: Clock;
  readonly #onFailure: (error: unknown) => void;
  #writes: QueuedWrite[] = [];
  #writeBytes = 0;
  #upkeeps: QueuedMaintenance[] = [];
  /** Durable, and their writers do not know yet. */
  readonly #untold: AcceptedWrite[] = [];
  #scheduled = false;
  #draining = false;
  #writingSince: number | undefined;
  #drained: (() => void) | undefined;

  /** `onFailure` is told when a batch failed and its outcome is unknown. */
  constructor(
    state: StoreState,
    limits: CommitQueueLimits,
    clock: Clock,
    onFailure: (error: unknown) => void,
  ) {
    this.#state = state;
    this.#limits = limits;
    this.#clock = clock;
    this.#onFailure = onFailure;
  }

  commit(write: Write, signal: AbortSignal): Promise<Revision> {
    const bytes = writeBytes(write);
    const { queuedWritesMax, queuedBytesMax } = this.#limits;
    if (this.#draining) return Promise.reject(closedError());
    if (this.#state.fault !== undefined) return Promise.reject(this.#state.unavailable());
    if (this.#state.restoring)
      return Promise.reject(new StorageError("unavailable", "a backup is being restored"));
    if (
      this.#writes.length >= queuedWritesMax ||
      (this.#writeBytes + bytes > queuedBytesMax && this.#writes.length > 0)
    ) {
      const message = `${this.#writes.length} writes with ${this.#writeBytes} bytes wait for the disk already, the limits are ${queuedWritesMax} and ${queuedBytesMax}`;
      return Promise.reject(new StorageError("unavailable", message));
    }
    return new Promise((resolve, reject) => {
      this.#writes.push({ write, signal, resolve, reject });
      this.#writeBytes += bytes;
      if (this.#writes.length >= batchWritesEager && this.#state.inFlight === undefined)
        void this.#flush();
      else this.#schedule();
    });
  }

  /** Resolves when the work is durable. */
  upkeep(upkeep: MaintenanceWrite): Promise<void> {
    if (this.#draining) return Promise.reject(closedError());
    if (this.#state.fault !== undefined) return Promise.reject(this.#state.unavailable());
    return new Promise((resolve, reject) => {
      this.#upkeeps.push({ upkeep, resolve, reject });
      this.#schedule();
    });
  }

  /** Takes no more, and resolves when all that waits has an answer. */
  drain(): Promise<void> {
    this.#draining = true;
    if (this.isIdle()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#drained = resolve;
    });
  }

  /** How long the disk has been busy with one batch. */
  writingForMs(): number {
    return this.#writingSince === undefined ? 0 : this.#clock.monotonic() - this.#writingSince;
  }

  /** The next turn, not now: what arrives in this turn shares the batch, unless that is many. Never beside a batch in flight. */
  #schedule(): void {
    if (this.#scheduled || this.#state.inFlight !== undefined) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#state.inFlight === undefined) void this.#flush();
    });
  }

  async #flush(): Promise<void> {
    if (this.#state.fault !== undefined) return;
    this.#state.absent.readDue(() => this.#state.engine);
    const builder = new BatchBuilder(this.#state.meta, (key) => this.#lookup(key));
    const { accepted, refused } = this.#evaluate(builder);
    const upkeep = this.#upkeeps.shift();
    if (accepted.length === 0 && upkeep === undefined) {
      this.#afterBatch();
      return;
    }
    const batch = builder.finish(upkeep?.upkeep);
    this.#state.inFlight = batch;
    this.#writingSince = this.#clock.monotonic();
    try {
      await this.#state.engine.write(batch.operations);
    } catch (error) {
      this.#fail(error, [...accepted, ...refused], upkeep);
      return;
    } finally {
      this.#writingSince = undefined;
    }
    this.#state.acknowledge(batch);
    for (const { item, error } of refused) item.reject(error);
    upkeep?.resolve();
    // The disk first: it works while the answers are made.
    if (this.#writes.length >= batchWritesWithoutDelay) void this.#flush();
    this.#tell(accepted);
    this.#afterBatch();
  }

  /** Acknowledges in the order of the writes, some of them in later turns. */
  #tell(accepted: readonly AcceptedWrite[]): void {
    const isBehind = this.#untold.length > 0;
    for (const each of accepted) this.#untold.push(each);
    if (!isBehind) this.#tellSome();
  }

  readonly #tellSome = (): void => {
    for (const { item, revision } of this.#untold.splice(0, eventLoopLimits.acknowledgedPerTurnMax))
      item.resolve(revision);
    if (this.#untold.length > 0) setImmediate(this.#tellSome);
    else if (this.isIdle()) this.#drained?.();
  };

  /** Takes writes off the queue until the batch is full. */
  #evaluate(builder: BatchBuilder): {
    accepted: readonly AcceptedWrite[];
    refused: readonly RejectedWrite[];
  } {
    const accepted: AcceptedWrite[] = [];
    const refused: RejectedWrite[] = [];
    let taken = 0;
    while (
      taken < this.#writes.length &&
      builder.writes < batchWritesMax &&
      builder.bytes < batchBytesMax
    ) {
      const item = this.#writes[taken++] as QueuedWrite;
      this.#writeBytes -= writeBytes(item.write);
      if (item.signal.aborted) {
        item.reject(item.signal.reason);
        continue;
      }
      try {
        accepted.push({ item, revision: builder.add(item.write) });
        if (item.write.expected === "absent") this.#state.absent.noteCreate(item.write.key);
      } catch (thrown) {
        const error = this.#state.storageError(thrown);
        if (builder.changes(item.write.key)) refused.push({ item, error });
        else item.reject(error);
      }
    }
    this.#writes = this.#writes.slice(taken);
    return { accepted, refused };
  }

  /** No batch is in flight here, so the engine shows the acknowledged state. */
  #lookup(key: StorageKey): Entry | undefined {
    const { absent, cache, engine, where } = this.#state;
    if (absent.has(key)) return undefined;
    const cached = cache.get(key);
    if (cached !== undefined) return cached;
    const record = engine.getSync(newestKey(key));
    if (record !== undefined) return decodeEntry(key, record, where);
    absent.noteMiss(key);
    return undefined;
  }

  #afterBatch(): void {
    if (this.#writes.length > 0 || this.#upkeeps.length > 0) this.#schedule();
    else if (this.isIdle()) this.#drained?.();
  }

  /** Nothing waits and nothing is on its way. */
  isIdle(): boolean {
    return (
      this.#writes.length === 0 &&
      this.#upkeeps.length === 0 &&
      this.#untold.length === 0 &&
      (this.#state.inFlight === undefined || this.#state.fault !== undefined)
    );
  }

  #fail(
    error: unknown,
    batch: readonly { readonly item: QueuedWrite }[],
    upkeep: QueuedMaintenance | undefined,
  ): void {
    this.#onFailure(error);
    const unavailable = this.#state.unavailable(error);
    for (const { item } of batch) item.reject(unavailable);
    upkeep?.reject(unavailable);
    for (const item of this.#writes) item.reject(unavailable);
    for (const item of this.#upkeeps) item.reject(unavailable);
    this.#writes = [];
    this.#writeBytes = 0;
    this.#upkeeps = [];
    this.#drained?.();
  }
}

export function writeBytes(write: Write): number {
  return write.key.length + (write.value === "delete" ? 0 : write.value.length);
}
