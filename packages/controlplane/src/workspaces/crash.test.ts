/**
 * Goal: whatever operation of the store fails, and however often the server is started again, a workspace is either there and usable or not
 * there at all, and nothing of it is left when it was deleted.
 *
 * Method: the N-th write fails for every N, during creation and during deletion; then a server without faults starts on the same store,
 * and time goes on until it has looked after everything.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { StorageKey } from "@kcp-ts/server/storage";
import { StorageError } from "@kcp-ts/server/storage";
import { MemoryStorage } from "@kcp-ts/server/storage/memory";
import { FakeClock } from "@kcp-ts/testkit";
import { eventually, startTestControlPlane } from "../testing/index.ts";
import { kinds, phaseOf, specOf } from "./tenants.ts";

const signal = new AbortController().signal;
const noLog = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  isLevelEnabled: () => false,
};

/** Fails every write from the N-th on, as a server does that is going down; counting begins when it is told to. */
class Failing {
  readonly storage: MemoryStorage;
  #left = Number.POSITIVE_INFINITY;

  constructor(target: MemoryStorage) {
    const commit = target.commit.bind(target);
    this.storage = new Proxy(target, {
      get: (_, property) => {
        if (property === "close") return async () => {};
        if (property === "commit")
          return (...args: Parameters<typeof commit>) => this.#commit(() => commit(...args));
        const value = Reflect.get(target, property, target) as unknown;
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
  }

  failFrom(write: number): void {
    this.#left = write - 1;
  }

  #commit<Result>(commit: () => Promise<Result>): Promise<Result> {
    if (this.#left <= 0)
      return Promise.reject(new StorageError("unavailable", "the disk is on fire"));
    this.#left--;
    return commit();
  }
}

async function keys(storage: MemoryStorage): Promise<string[]> {
  const { entries } = await storage.list("/" as StorageKey, { signal, entriesMax: 100_000 });
  return entries.map(({ key }) => String(key));
}

const start = (storage: MemoryStorage, clock: FakeClock) =>
  startTestControlPlane({ storage, clock, log: noLog, controlLoops: false });

/** A store with the bootstrap content of root. */
async function bootstrapped(clock: FakeClock): Promise<MemoryStorage> {
  const storage = new MemoryStorage();
  const plane = await start(new Failing(storage).storage, clock);
  await plane.close();
  return storage;
}

const stepMs = 30_000;

describe("a server that goes down", () => {
  for (let first = 1; first <= 6; first++) {
    it(`at write ${first} of a creation leaves a usable workspace or none`, async () => {
      const clock = new FakeClock();
      const storage = await bootstrapped(clock);
      const before = (await keys(storage)).length;
      const faults = new Failing(storage);
      const broken = await start(faults.storage, clock);
      faults.failFrom(first);
      const created = await broken.client
        .resource(kinds.workspaces)
        .create({ metadata: { name: "w" } })
        .then(
          () => true,
          () => false,
        );
      await broken.close();
      await using plane = await start(storage, clock);
      const found = await plane.client.resource(kinds.workspaces).find({ name: "w" });
      assert.equal(found !== undefined, created);
      if (found === undefined) {
        await eventually(async () => {
          clock.advance(stepMs);
          assert.equal((await keys(storage)).length, before);
        });
        return;
      }
      assert.equal(phaseOf(found), "Ready");
      const namespaces = plane.clientFor("root:w").resource(kinds.namespaces);
      assert.equal((await namespaces.list({})).items.length, 2);
    });

    it(`at write ${first} of a deletion finishes it when it is back`, async () => {
      const clock = new FakeClock();
      const storage = await bootstrapped(clock);
      const whole = await start(new Failing(storage).storage, clock);
      const before = (await keys(storage)).length;
      const made = await whole.client
        .resource(kinds.workspaces)
        .create({ metadata: { name: "w" } });
      const cluster = String(specOf(made)["cluster"]);
      await whole.close();
      const faults = new Failing(storage);
      const broken = await start(faults.storage, clock);
      faults.failFrom(first);
      const isAccepted = await broken.client
        .resource(kinds.workspaces)
        .delete({ name: "w" })
        .then(
          () => true,
          () => false,
        );
      await broken.close();
      await using plane = await start(storage, clock);
      if (!isAccepted) {
        await plane.clientFor(cluster).resource(kinds.namespaces).get({ name: "default" });
        return;
      }
      await eventually(async () => {
        clock.advance(stepMs);
        assert.equal((await keys(storage)).length, before);
      });
    });
  }
});
