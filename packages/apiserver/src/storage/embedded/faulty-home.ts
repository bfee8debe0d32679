/**
 * For tests: an engine on LevelDB that counts its operations, fails the one it is told to, and can be held
 * up.
 *
 * It also checks the promise the store makes to the engine: no write after a failed one until the engine was
 * reopened.
 */
import { AssertionFailed } from "@kcp-ts/machinery/base";
import { StorageError } from "../errors.ts";
import type {
  Engine,
  EngineCursor,
  EngineLocation,
  EngineOperation,
  EngineRange,
  EngineSnapshot,
  EngineView,
} from "./engine.ts";
import { LevelDbLocation } from "./level-engine.ts";

export class FaultyEngineLocation implements EngineLocation {
  readonly name: string;
  readonly #home: LevelDbLocation;
  /** Operations so far, of all kinds, and batches written. */
  operations = 0;
  batches = 0;
  /** The number of the operation that fails; a write fails before or after it became durable. */
  failAt = Number.POSITIVE_INFINITY;
  writeFailure: "before" | "after" = "before";
  failNextWrite = false;
  /** Called around every write; what they return is waited for. */
  beforeWrite: () => Promise<void> = async () => undefined;
  afterWrite: () => Promise<void> = async () => undefined;
  /** Broken promises of the store. */
  readonly violations: string[] = [];

  constructor(directory: string) {
    this.name = directory;
    this.#home = new LevelDbLocation(directory);
  }

  async open(): Promise<Engine> {
    if (this.failsNow()) throw new StorageError("unavailable", "the fault: open");
    return new FaultyEngine(this, await this.#home.open());
  }

  async probe(): Promise<void> {
    if (this.failsNow()) throw ioError("probe");
    await this.#home.probe();
  }

  failsNow(): boolean {
    return ++this.operations === this.failAt;
  }
}

class FaultyEngineView implements EngineView {
  protected readonly home: FaultyEngineLocation;
  readonly #view: EngineView;

  constructor(home: FaultyEngineLocation, view: EngineView) {
    this.home = home;
    this.#view = view;
  }

  async get(key: string): Promise<Buffer | undefined> {
    if (this.home.failsNow()) throw ioError("get");
    return await this.#view.get(key);
  }

  async getMany(keys: readonly string[]): Promise<(Buffer | undefined)[]> {
    if (this.home.failsNow()) throw ioError("getMany");
    return await this.#view.getMany(keys);
  }

  scan(range: EngineRange): EngineCursor {
    const { home } = this;
    const cursor = this.#view.scan(range);
    return {
      async next(pairsMax) {
        if (home.failsNow()) throw ioError("next");
        return await cursor.next(pairsMax);
      },
      close: () => cursor.close(),
    };
  }
}

class FaultyEngine extends FaultyEngineView implements Engine {
  readonly #engine: Engine;
  #broken = false;

  constructor(home: FaultyEngineLocation, engine: Engine) {
    super(home, engine);
    this.#engine = engine;
  }

  getSync(key: string): Buffer | undefined {
    if (this.home.failsNow()) throw ioError("getSync");
    return this.#engine.getSync(key);
  }

  snapshot(): EngineSnapshot {
    const snapshot = this.#engine.snapshot();
    const view = new FaultyEngineView(this.home, snapshot);
    return Object.assign(view, { close: () => snapshot.close() });
  }

  async write(operations: readonly EngineOperation[]): Promise<void> {
    if (this.#broken) {
      this.home.violations.push("wrote to an engine after a write had failed");
      throw new AssertionFailed("this engine must be reopened");
    }
    this.home.batches++;
    const fails = this.home.failsNow() || this.home.failNextWrite;
    this.home.failNextWrite = false;
    if (fails) this.#broken = true;
    if (fails && this.home.writeFailure === "before") throw ioError("write");
    await this.home.beforeWrite();
    await this.#engine.write(operations);
    await this.home.afterWrite();
    if (fails) throw ioError("write");
  }

  flush(): Promise<void> {
    return this.#engine.flush();
  }

  close(): Promise<void> {
    return this.#engine.close();
  }
}

function ioError(operation: string): Error {
  return Object.assign(new Error(`the fault: ${operation}`), { code: "EIO" });
}
