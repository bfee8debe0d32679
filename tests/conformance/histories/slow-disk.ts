/** A disk that takes its time: writes become durable late, and are acknowledged later still. */
import {
  type Engine,
  type EngineLocation,
  LevelDbLocation,
} from "@kcp-ts/apiserver/storage/embedded";
import { sleep, systemClock } from "@kcp-ts/machinery/base";

export class SlowDisk implements EngineLocation {
  readonly name: string;
  readonly #home: LevelDbLocation;
  /** Before a write, and again behind it. */
  delayMs = 0;

  constructor(directory: string) {
    this.name = directory;
    this.#home = new LevelDbLocation(directory);
  }

  probe(): Promise<void> {
    return this.#home.probe();
  }

  async open(): Promise<Engine> {
    const engine = await this.#home.open();
    return {
      get: (key) => engine.get(key),
      getMany: (keys) => engine.getMany(keys),
      getSync: (key) => engine.getSync(key),
      scan: (range) => engine.scan(range),
      snapshot: () => engine.snapshot(),
      flush: () => engine.flush(),
      close: () => engine.close(),
      write: async (operations) => {
        await this.#wait();
        await engine.write(operations);
        await this.#wait();
      },
    };
  }

  async #wait(): Promise<void> {
    if (this.delayMs > 0) await sleep(systemClock, this.delayMs);
  }
}
