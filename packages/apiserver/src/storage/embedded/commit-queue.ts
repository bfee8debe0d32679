/**
 * Group commit: while one batch is written to the disk, arriving writes are queued for the next
 * batch.
 *
 *     commit -> queue -> all queued writes evaluated in order -> one batch, one sync -> acknowledged together
 *
 * So all queued writes share the cost of a sync, and an idle store syncs a single write at once;
 * nor does the disk wait for a long turn of the event loop to end. A conflict with the acknowledged
 * state is rejected when the write is evaluated, without the disk; a conflict with a write of the
 * same batch when that write is acknowledged, since it is invisible before, and may fail. After a
 * failed batch nothing is written until recovery has read the state on disk.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { eventLoopLimits } from "../../event-loop/index.ts";
import { StorageError } from "../errors.ts";
import type { StorageKey } from "../key.ts";
import type { Revision } from "../revision.ts";
import type { Entry, Write } from "../storage.ts";
import { type Batch, BatchBuilder, type MaintenanceWrite } from "./batch.ts";
import { decodeEntry } from "./entry-record.ts";
import { newestKey } from "./layout.ts";
import { closedError, type StoreState } from "./store-state.ts";

export interface CommitQueueLimits {
  readonly queuedWritesMax: number;
  readonly queuedBytesMax: number;
}

/** A batch accepts no more writes beyond either limit; a batch of one write may be larger. */
export const batchWritesMax = 128;
export const batchBytesMax = 4 << 20;
/**
 * With this many queued writes and an idle disk, the batch starts at once: the disk works while the
 * other requests of the turn are processed, instead of after them.
 */
export const batchWritesEager = 32;
/** With this many queued writes, the next batch starts before the responses of the last one. */
export const batchWritesWithoutDelay = 8;

interface QueuedWrite {
  readonly write: Write;
  readonly signal: AbortSignal;
  readonly resolve: (revision: Revision) => void;
  readonly reject: (error: unknown) => void;
}

/** A write in conflict with a write of the same batch. */
interface RejectedWrite {
  readonly item: QueuedWrite;
  readonly error: unknown;
}

interface AcceptedWrite {
  readonly item: QueuedWrite;
  readonly revision: Revision;
}

interface QueuedMaintenance {
  readonly maintenance: MaintenanceWrite;
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
  #queuedMaintenance: QueuedMaintenance[] = [];
  /** Durable writes that are not acknowledged yet. */
  readonly #unacknowledged: AcceptedWrite[] = [];
  #scheduled = false;
  #draining = false;
  #writingSince: number | undefined;
  #drained: (() => void) | undefined;

  /** `onFailure` is called when a batch failed and its outcome is unknown. */
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

  /** Resolves when the maintenance write is durable. */
  maintenance(maintenance: MaintenanceWrite): Promise<void> {
    if (this.#draining) return Promise.reject(closedError());
    if (this.#state.fault !== undefined) return Promise.reject(this.#state.unavailable());
    return new Promise((resolve, reject) => {
      this.#queuedMaintenance.push({ maintenance, resolve, reject });
      this.#schedule();
    });
  }

  /** Accepts no more writes, and resolves when all queued writes have a result. */
  drain(): Promise<void> {
    this.#draining = true;
    if (this.isIdle()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#drained = resolve;
    });
  }

  /** The duration of the batch in flight. */
  batchDurationMs(): number {
    return this.#writingSince === undefined ? 0 : this.#clock.monotonic() - this.#writingSince;
  }

  /**
   * Flushes in the next turn: writes of this turn share the batch, unless they are many. Never
   * beside a batch in flight.
   */
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
    this.#state.negativeLookups.loadDueCollections(() => this.#state.engine);
    const builder = new BatchBuilder(
      this.#state.meta,
      (key) => this.#lookup(key),
      (entry) => this.#state.moves.versionOf(entry),
    );
    const { accepted, refused } = this.#evaluate(builder);
    const upkeep = this.#queuedMaintenance.shift();
    if (accepted.length === 0 && upkeep === undefined) {
      this.#afterBatch();
      return;
    }
    const batch = this.#finish(builder, [...accepted, ...refused], upkeep);
    if (batch === undefined) return;
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
    // The next batch first: the disk works while the responses are encoded.
    if (this.#writes.length >= batchWritesWithoutDelay) void this.#flush();
    this.#acknowledge(accepted);
    this.#afterBatch();
  }

  /** The batch; undefined when its maintenance cannot be made: then nothing of it is written. */
  #finish(
    builder: BatchBuilder,
    writes: readonly { readonly item: QueuedWrite }[],
    upkeep: QueuedMaintenance | undefined,
  ): Batch | undefined {
    try {
      return builder.finish(upkeep?.maintenance);
    } catch (error) {
      upkeep?.reject(error);
      for (const { item } of writes) item.reject(this.#state.unavailable(error));
      this.#afterBatch();
      return undefined;
    }
  }

  /** Acknowledges in the order of the writes, some of them in later turns. */
  #acknowledge(accepted: readonly AcceptedWrite[]): void {
    const isBehind = this.#unacknowledged.length > 0;
    for (const each of accepted) this.#unacknowledged.push(each);
    if (!isBehind) this.#acknowledgeSome();
  }

  readonly #acknowledgeSome = (): void => {
    for (const { item, revision } of this.#unacknowledged.splice(
      0,
      eventLoopLimits.acknowledgedPerTurnMax,
    ))
      item.resolve(revision);
    if (this.#unacknowledged.length > 0) setImmediate(this.#acknowledgeSome);
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
        this.#state.moves.checkWrite(item.write.key);
        accepted.push({ item, revision: builder.add(item.write) });
        if (item.write.expected === "absent")
          this.#state.negativeLookups.noteCreate(item.write.key);
      } catch (thrown) {
        const error = this.#state.storageError(thrown);
        if (builder.changes(item.write.key)) refused.push({ item, error });
        else item.reject(error);
      }
    }
    this.#writes = this.#writes.slice(taken);
    return { accepted, refused };
  }

  /** No batch is in flight here, so the engine has the acknowledged state. */
  #lookup(key: StorageKey): Entry | undefined {
    const { negativeLookups, cache, engine, directory } = this.#state;
    if (negativeLookups.isAbsent(key)) return undefined;
    const cached = cache.get(key);
    if (cached !== undefined) return cached;
    const record = engine.getSync(newestKey(key));
    if (record !== undefined) return decodeEntry(key, record, directory);
    negativeLookups.noteMiss(key);
    return undefined;
  }

  #afterBatch(): void {
    if (this.#writes.length > 0 || this.#queuedMaintenance.length > 0) this.#schedule();
    else if (this.isIdle()) this.#drained?.();
  }

  /** Whether no write is queued or in flight. */
  isIdle(): boolean {
    return (
      this.#writes.length === 0 &&
      this.#queuedMaintenance.length === 0 &&
      this.#unacknowledged.length === 0 &&
      (this.#state.inFlight === undefined || this.#state.fault !== undefined)
    );
  }

  #fail(
    error: unknown,
    batch: readonly { readonly item: QueuedWrite }[],
    maintenance: QueuedMaintenance | undefined,
  ): void {
    this.#onFailure(error);
    const unavailable = this.#state.unavailable(error);
    for (const { item } of batch) item.reject(unavailable);
    maintenance?.reject(unavailable);
    for (const item of this.#writes) item.reject(unavailable);
    for (const item of this.#queuedMaintenance) item.reject(unavailable);
    this.#writes = [];
    this.#writeBytes = 0;
    this.#queuedMaintenance = [];
    this.#drained?.();
  }
}

export function writeBytes(write: Write): number {
  return write.key.length + (write.value === "delete" ? 0 : write.value.length);
}
