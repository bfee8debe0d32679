/**
 * For tests: an engine on LevelDB that counts its operations, fails a given one, and can be
 * delayed.
 *
 * It also checks the store's promise to the engine: no write after a failed one until the engine
 * was reopened.
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
  readonly #location: LevelDbLocation;
  /** The number of operations so far, of all kinds, and of written batches. */
  operations = 0;
  batches = 0;
  /** The number of the operation that fails; a write fails before or after it became durable. */
  failAt = Number.POSITIVE_INFINITY;
  writeFailure: "before" | "after" = "before";
  failNextWrite = false;
  /** Called around every write; their promises are awaited. */
  beforeWrite: () => Promise<void> = async () => undefined;
  afterWrite: () => Promise<void> = async () => undefined;
  /** Broken promises of the store. */
  readonly violations: string[] = [];

  constructor(directory: string) {
    this.name = directory;
    this.#location = new LevelDbLocation(directory);
  }

  async open(): Promise<Engine> {
    if (this.failsNow()) throw new StorageError("unavailable", "the fault: open");
    return new FaultyEngine(this, await this.#location.open());
  }

  async probe(): Promise<void> {
    if (this.failsNow()) throw ioError("probe");
    await this.#location.probe();
  }

  failsNow(): boolean {
    return ++this.operations === this.failAt;
  }
}

class FaultyEngineView implements EngineView {
  protected readonly location: FaultyEngineLocation;
  readonly #view: EngineView;

  constructor(location: FaultyEngineLocation, view: EngineView) {
    this.location = location;
    this.#view = view;
  }

  async get(key: string): Promise<Buffer | undefined> {
    if (this.location.failsNow()) throw ioError("get");
    return await this.#view.get(key);
  }

  async getMany(keys: readonly string[]): Promise<(Buffer | undefined)[]> {
    if (this.location.failsNow()) throw ioError("getMany");
    return await this.#view.getMany(keys);
  }

  scan(range: EngineRange): EngineCursor {
    const { location } = this;
    const cursor = this.#view.scan(range);
    return {
      async next(pairsMax) {
        if (location.failsNow()) throw ioError("next");
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
    if (this.location.failsNow()) throw ioError("getSync");
    return this.#engine.getSync(key);
  }

  snapshot(): EngineSnapshot {
    const snapshot = this.#engine.snapshot();
    const view = new FaultyEngineView(this.location, snapshot);
    return Object.assign(view, { close: () => snapshot.close() });
  }

  async write(operations: readonly EngineOperation[]): Promise<void> {
    if (this.#broken) {
      this.location.violations.push("wrote to an engine after a write had failed");
      throw new AssertionFailed("this engine must be reopened");
    }
    this.location.batches++;
    const fails = this.location.failsNow() || this.location.failNextWrite;
    this.location.failNextWrite = false;
    if (fails) this.#broken = true;
    if (fails && this.location.writeFailure === "before") throw ioError("write");
    await this.location.beforeWrite();
    await this.#engine.write(operations);
    await this.location.afterWrite();
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
