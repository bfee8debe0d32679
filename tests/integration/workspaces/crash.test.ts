/**
 * Goal: whatever write of the store is the last, and however often the server is started again, a
 * tenant's workspace is either there and usable or not there at all, and nothing of it is left when
 * it was deleted.
 *
 * Method: a whole control plane, its control loops included, whose N-th write fails and all that
 * follow, for every N until a run has no such write; then one without faults starts on the same
 * store, and time goes on until it has looked after everything.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { StorageKey } from "@kcp-ts/apiserver/storage";
import { StorageError } from "@kcp-ts/apiserver/storage";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { serviceAccounts, apiExportEndpointSlices as slices } from "@kcp-ts/sdk/kinds";
import { startTestControlPlane } from "@kcp-ts/testing/internal";
import { eventually, FakeClock } from "@kcp-ts/testkit";
import { admin, alice, kinds, phaseOf } from "./workspace-fixture.ts";
import { userSubject, WorkspaceRequests } from "./workspace-requests.ts";

const signal = new AbortController().signal;
const noLog = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  isDebugEnabled: false,
};

/**
 * Fails every write from the N-th on, as a server does that is going down; counting begins when it
 * is told to.
 */
class Failing {
  readonly storage: MemoryStorage;
  /** Whether a write was refused. */
  isHit = false;
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
    if (this.#left <= 0) {
      this.isHit = true;
      return Promise.reject(new StorageError("unavailable", "the disk is on fire"));
    }
    this.#left--;
    return commit();
  }
}

async function keys(storage: MemoryStorage): Promise<string[]> {
  const { entries } = await storage.list("/" as StorageKey, { signal, entriesMax: 100_000 });
  return entries.map(({ key }) => String(key));
}

const start = (storage: MemoryStorage, clock: FakeClock) =>
  startTestControlPlane({ storage, clock, log: noLog, physicalClusters: false });

/**
 * A store with what root begins with, where alice may make workspaces; nothing is left to be done
 * in it.
 */
async function prepared(clock: FakeClock): Promise<MemoryStorage> {
  const storage = new MemoryStorage();
  const plane = await start(new Failing(storage).storage, clock);
  const rules = [
    { apiGroups: ["tenancy.kcp.io"], resources: ["workspaces"], verbs: ["create", "delete"] },
  ];
  const subjects = [userSubject(alice.username)];
  await new WorkspaceRequests(plane).allow(admin, "root", "makers", { rules, subjects });
  const accounts = plane.client.resource(serviceAccounts);
  await eventually(async () => {
    clock.advance(stepMs);
    for (const namespace of ["default", "kcp-system"])
      assert.notEqual(await accounts.find({ name: "default", namespace }), undefined);
    assert.equal((await plane.client.resource(slices).list({})).items.length, 4);
  });
  await plane.close();
  return storage;
}

const stepMs = 30_000;
/** Fewer would mean that nothing was struck. */
const writesMin = 8;

const told = (pending: Promise<unknown>): Promise<boolean> =>
  pending.then(
    () => true,
    () => false,
  );

/** What the crash at one write leads to; false when there was no such write. */
type Crash = (storage: MemoryStorage, clock: FakeClock, write: number) => Promise<boolean>;

const whileCreating: Crash = async (storage, clock, write) => {
  const before = await keys(storage);
  const faults = new Failing(storage);
  const broken = await start(faults.storage, clock);
  faults.failFrom(write);
  const mine = broken.clientFor("root", alice).resource(kinds.workspaces);
  const isCreated = await told(mine.create({ metadata: { name: "w" } }));
  // What its control loops have to do for it they do before it is gone, or not at all.
  await broken.close();
  await using plane = await start(new Failing(storage).storage, clock);
  const found = await plane.clientFor("root").resource(kinds.workspaces).find({ name: "w" });
  assert.equal(found !== undefined, isCreated, `write ${write}`);
  if (found === undefined) {
    await eventually(async () => {
      clock.advance(stepMs);
      assert.deepEqual(await keys(storage), before, `write ${write}`);
    });
    return faults.isHit;
  }
  assert.equal(phaseOf(found), "Ready");
  const inside = plane.clientFor("root:w", alice);
  assert.equal((await inside.resource(kinds.namespaces).list({})).items.length, 2);
  await eventually(async () => {
    clock.advance(stepMs);
    const place = { name: "default", namespace: "default" };
    assert.notEqual(await inside.resource(serviceAccounts).find(place), undefined);
  });
  return faults.isHit;
};

const whileDeleting: Crash = async (storage, clock, write) => {
  const before = await keys(storage);
  const workload = await start(new Failing(storage).storage, clock);
  const mine = { name: "w" };
  await workload.clientFor("root", alice).resource(kinds.workspaces).create({ metadata: mine });
  await workload.close();
  const faults = new Failing(storage);
  const broken = await start(faults.storage, clock);
  faults.failFrom(write);
  const isAccepted = await told(
    broken.clientFor("root", alice).resource(kinds.workspaces).delete(mine),
  );
  // As far as it comes.
  await eventually(async () => {
    clock.advance(stepMs);
    const isGone = (await broken.client.resource(kinds.workspaces).find(mine)) === undefined;
    assert.ok(faults.isHit || isGone);
  });
  await broken.close();
  await using plane = await start(new Failing(storage).storage, clock);
  if (!isAccepted) {
    const inside = plane.clientFor("root:w", alice).resource(kinds.namespaces);
    await inside.get({ name: "default" });
    return faults.isHit;
  }
  await eventually(async () => {
    clock.advance(stepMs);
    assert.deepEqual(await keys(storage), before, `write ${write}`);
  });
  return faults.isHit;
};

describe("a server that goes down", () => {
  for (const [what, crash] of [
    ["a creation leaves a usable workspace or none", whileCreating],
    ["a deletion finishes it when it is back", whileDeleting],
  ] as const) {
    it(`at any write of ${what}`, async () => {
      let write = 1;
      for (; ; write++) {
        const clock = new FakeClock();
        if (!(await crash(await prepared(clock), clock, write))) break;
      }
      assert.ok(write > writesMin, `there were ${write - 1} writes`);
    });
  }
});
