/**
 * Recovers the store after a failed batch: a full disk, an I/O error, a read-only file system.
 *
 * After a failed sync LevelDB rejects all writes; after a failed append it would continue after
 * half a record. Neither engine may be used again, and only reopening reveals whether the batch is
 * on disk. So recovery waits, probes whether the disk accepts writes, reopens, compares the
 * counters with those before and after the batch, and continues from there. Until then the old
 * engine serves reads where it can, and health reports why writes fail.
 */
import { type Clock, sleep } from "@kcp-ts/machinery/base";
import { isStorageError } from "../errors.ts";
import type { Batch } from "./batch.ts";
import { corruptError } from "./corrupt-error.ts";
import type { Engine, EngineLocation } from "./engine.ts";
import { moveKey } from "./layout.ts";
import { encodeMeta, type Meta } from "./meta.ts";
import { encodeMoveRecord } from "./move-records.ts";
import { readStore } from "./open-store.ts";
import type { StoreState } from "./store-state.ts";

export const firstRetryDelayMs = 100;
export const retryDelayMsMax = 2000;

export class Recovery {
  readonly #state: StoreState;
  readonly #home: EngineLocation;
  readonly #clock: Clock;
  readonly #log: (message: string) => void;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;

  constructor(
    state: StoreState,
    home: EngineLocation,
    clock: Clock,
    log: (message: string) => void,
  ) {
    this.#state = state;
    this.#home = home;
    this.#clock = clock;
    this.#log = log;
  }

  /** From now on writes are rejected, until the store is recovered. */
  start(failure: unknown): void {
    this.#report("writing to", failure);
    this.#running ??= this.#run();
  }

  /** Resolves when no attempt is in flight. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    for (let delayMs = firstRetryDelayMs; !signal.aborted; ) {
      try {
        await sleep(this.#clock, delayMs, signal);
        await this.#attempt();
        this.#running = undefined;
        this.#state.fault = undefined;
        this.#log(`the data in ${this.#state.directory} can be written again`);
        return;
      } catch (error) {
        if (signal.aborted) return;
        delayMs = Math.min(delayMs * 2, retryDelayMsMax);
        this.#report("reopening", error);
        // Recovery cannot repair damage, and reopening again could make it worse.
        if (isStorageError(error, "corrupt")) return;
      }
    }
  }

  async #attempt(): Promise<void> {
    await this.#home.probe();
    await this.#state.takeEngine()?.close();
    const engine = await this.#home.open();
    try {
      const meta = await readStore(engine, this.#state.directory);
      await this.#resolveBatch(engine, meta);
    } catch (error) {
      await engine.close();
      throw error;
    }
    this.#state.setEngine(engine);
  }

  /**
   * The batch of unknown outcome is on disk completely or not at all; if it is, it is acknowledged,
   * and watches get its changes.
   */
  async #resolveBatch(engine: Engine, found: Meta): Promise<void> {
    const batch = this.#state.inFlight;
    if (batch !== undefined && sameMeta(found, batch.meta) && (await isOnDisk(engine, batch))) {
      this.#state.clearCaches();
      this.#state.acknowledge(batch);
      return;
    }
    if (sameMeta(found, this.#state.meta)) {
      this.#state.clearCaches();
      this.#state.inFlight = undefined;
      return;
    }
    throw corruptError(
      this.#state.directory,
      `it is at revision ${found.revision}, this process left it at ${this.#state.meta.revision}: another process has written to it`,
    );
  }

  #report(doing: string, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    const message = isStorageError(error, "corrupt")
      ? reason
      : `${doing} ${this.#state.directory} failed: ${reason}. Writes are refused until the disk takes them: check free space and permissions there`;
    if (message !== this.#state.fault?.message) this.#log(message);
    this.#state.fault = { message };
  }
}

/** The counters alone do not say it: the record of a move may be all that a batch changes. */
async function isOnDisk(engine: Engine, { history, move }: Batch): Promise<boolean> {
  if (history !== undefined)
    return (await engine.get(history.key))?.equals(history.record) === true;
  if (move === undefined) return true;
  const record = await engine.get(moveKey(move.cluster));
  if (record === undefined || move.record === undefined) return record === move.record;
  return record.equals(encodeMoveRecord(move.record));
}

function sameMeta(a: Meta, b: Meta): boolean {
  return encodeMeta(a).equals(encodeMeta(b));
}
