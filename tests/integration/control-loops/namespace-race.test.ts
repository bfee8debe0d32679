/**
 * Goal: a create that races with the deletion of its namespace either fails or is cleared away with
 * it: no object is left in a namespace that is gone. Method: seeded writers against a live server
 * with its loops; requests are held at random points between admission and the store.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AdmissionPlugin } from "@kcp-ts/apiserver";
import type { Storage, Write } from "@kcp-ts/apiserver/storage";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import { SeededRandom } from "@kcp-ts/testkit";
import { ControllersFixture, eventually, observationPeriod } from "./controllers-fixture.ts";

const writers = 8;

describe("creates that race with the deletion of their namespace", () => {
  for (let seed = 1; seed <= 8; seed++) {
    it(`leave nothing behind (seed ${seed})`, async () => {
      const random = new SeededRandom(seed);
      const plane = await ControllersFixture.start(slowStorage(random.fork()), [
        slowAdmission(random.fork()),
      ]);
      try {
        plane.startControllers();
        for (let round = 0; round < 6; round++) await race(plane, random, `round-${round}`);
      } finally {
        await plane.close();
      }
    });
  }
});

async function race(
  fixture: ControllersFixture,
  random: SeededRandom,
  namespace: string,
): Promise<void> {
  const tenant = fixture.in("a");
  await tenant.namespace(namespace);
  let isOver = false;
  const write = async (writer: number) => {
    for (let i = 0; !isOver; i++) {
      try {
        await tenant.configMap(`w${writer}-${i}`, { namespace });
      } catch (error) {
        if (isStatusError(error, "Forbidden") || isStatusError(error, "NotFound")) continue;
        throw error;
      } finally {
        await sleep(systemClock, random.integer(3));
      }
    }
  };
  const writing = Array.from({ length: writers }, (_, writer) => write(writer));
  await sleep(systemClock, random.integer(10));
  await tenant.namespaces.delete({ name: namespace });
  await eventually(async () => (await tenant.namespaces.find({ name: namespace })) === undefined);
  isOver = true;
  await Promise.all(writing);
  await observationPeriod();
  assert.deepEqual((await tenant.configMaps.list({ namespace })).items, [], namespace);
  assert.deepEqual((await tenant.serviceAccounts.list({ namespace })).items, [], namespace);
}

/** As a webhook would: an object that was let in takes its time before it gets to the store. */
function slowAdmission(random: SeededRandom): AdmissionPlugin {
  return {
    name: "Slow",
    validate: async ({ operation, resource }) => {
      const isHeld = operation === "CREATE" && resource === "configmaps" && random.chance(0.5);
      if (isHeld) await sleep(systemClock, random.integer(60));
    },
  };
}

/**
 * Commits take their time, as a disk does, and keep their order; each is acknowledged when it is
 * done.
 */
function slowStorage(random: SeededRandom): Storage {
  const storage = new MemoryStorage();
  const commit = storage.commit.bind(storage);
  let last: Promise<unknown> = Promise.resolve();
  const inOrder = async (write: Write, options: Parameters<Storage["commit"]>[1]) => {
    const before = last;
    const done = (async () => {
      await before.catch(() => undefined);
      await sleep(systemClock, random.integer(4));
      return commit(write, options);
    })();
    last = done;
    return done;
  };
  return Object.assign(storage, { commit: inOrder });
}
