/**
 * Goal: a copy represents the data that it was made of, and nothing newer; in every order of
 * events, the last copy of the newest data stays.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decideVolumes, type VolumeClaim, type VolumeUser } from "./decide-volumes.ts";

const volume = {
  name: "pv-1",
  isRetained: true,
  isPortable: false,
  isAttached: false,
  storage: "handle-1",
};
const request = { id: "17", from: "a", to: "b", sinceMs: 0 };

function claim(more: Partial<VolumeClaim> = {}): VolumeClaim {
  return {
    name: "data",
    uid: "claim-uid",
    version: "20",
    isShared: false,
    dataCluster: "a",
    mayDetach: false,
    copier: { by: "hook", name: "copier" },
    request: undefined,
    copied: undefined,
    states: new Map([["a", "bound"]]),
    assigned: new Set(["a"]),
    boundIn: new Set(["a"]),
    heldIn: new Set(["a"]),
    migratedTo: new Map(),
    volumes: new Map([["a", volume]]),
    ...more,
  };
}

function part(cluster: string, more: Partial<VolumeUser> = {}): VolumeUser {
  const idle = { isDeleting: false, isStopped: true, isVolumeGateOpen: false, isFenced: false };
  return { workload: "web", cluster, replicas: 1, migrationSource: undefined, ...idle, ...more };
}

const stopped = part("a", { isVolumeGateOpen: true, isFenced: true });
const asking = part("b", { migrationSource: "a" });

function decide(one: VolumeClaim, users: readonly VolumeUser[] = [stopped, asking]) {
  const input = { claims: [one], users, visibilityOf: () => "Reachable" as const };
  return decideVolumes(input).claims.get("data") ?? assert.fail();
}

const inB = {
  assigned: new Set(["a", "b"]),
  heldIn: new Set(["a", "b"]),
  migratedTo: new Map([["b", "pv-copy"]]),
};

describe("copy of a claim", () => {
  it("a copy is requested with a new id when no Pod runs, and the data stays in the source cluster until the copy is bound", () => {
    const asked = decide(claim());
    assert.deepEqual(asked.request, { id: "20", from: "a", to: "b", sinceMs: 0 });
    assert.equal(asked.clusters.get("b")?.state, "copying");
    const copied = decide(claim({ request, copied: "pv-copy" }));
    assert.deepEqual([copied.dataCluster, copied.clusters.get("b")?.state], ["a", "binding"]);
    assert.deepEqual(copied.migrated.get("b"), { from: "a", name: "pv-copy", isCopy: true });
    const unbound = decide(claim({ request, copied: "pv-copy", ...inB }));
    assert.deepEqual([unbound.dataCluster, unbound.request], ["a", request]);
    const bound = { ...inB, boundIn: new Set(["a", "b"]) };
    const arrived = decide(claim({ request, copied: "pv-copy", ...bound }));
    assert.deepEqual([arrived.dataCluster, arrived.request], ["b", undefined]);
    assert.equal(arrived.clusters.get("b")?.state, "bound");
  });

  it("a request of another move is replaced by a new request", () => {
    for (const other of [
      { ...request, from: "c" },
      { ...request, to: "c" },
    ]) {
      const again = decide(claim({ request: other, copied: "pv-copy" }));
      assert.equal(again.request?.id, "20");
      assert.equal(again.clusters.get("b")?.state, "copying");
    }
  });

  it("a copy is invalid when the workload runs again, and continues when its cluster is only late with its report", () => {
    const known = claim({ request, copied: "pv-copy" });
    const isStopped = false;
    const late = decide(known, [
      part("a", { isVolumeGateOpen: true, isFenced: true, isStopped }),
      asking,
    ]);
    assert.equal(late.request?.id, "17");
    const running = decide(known, [part("a", { isVolumeGateOpen: true, isStopped }), asking]);
    assert.equal(running.request, undefined);
    const calledOff = decide(known, [stopped]);
    assert.equal(calledOff.request, undefined);
  });

  it("a copy that remains of an earlier move is deleted before another is requested, and no workload is stopped meanwhile", () => {
    const left = claim({ ...inB, boundIn: new Set(["a", "b"]) });
    const input = {
      claims: [left],
      users: [stopped, asking],
      visibilityOf: () => "Reachable" as const,
    };
    const { claims, users } = decideVolumes(input);
    const { request: none, clusters, assigned } = claims.get("data") ?? assert.fail();
    assert.deepEqual([none, clusters.get("b")?.state], [undefined, "releasing"]);
    assert.deepEqual([...assigned], ["a"]);
    assert.equal(users.get(stopped)?.isFenced, false);
  });

  it("a copy is not deleted where the data may be, before the cluster that has the data reports it", () => {
    const unheard = claim({ ...inB, boundIn: new Set() });
    const { assigned, clusters } = decide(unheard);
    assert.deepEqual([...assigned].sort(), ["a", "b"]);
    assert.notEqual(clusters.get("b")?.state, "releasing");
  });

  it("the source of a copy stays until the workload has started with the copy", () => {
    const moved = claim({
      ...inB,
      dataCluster: "b",
      boundIn: new Set(["a", "b"]),
      states: new Map([
        ["a", "bound"],
        ["b", "bound"],
      ]),
    });
    const state = (hasStarted: boolean) =>
      decide(moved, [
        part("b", { isVolumeGateOpen: true, isStopped: false, hasStarted }),
      ]).clusters.get("a")?.state;
    assert.deepEqual([state(false), state(true)], ["bound", "releasing"]);
  });

  it("a copy is rejected where the volumes of the source cluster are not observed", () => {
    const users = [stopped, asking];
    const input = { claims: [claim()], users, visibilityOf: () => "Reachable" as const };
    const { claims } = decideVolumes({ ...input, showsVolumes: (name) => name !== "a" });
    assert.equal(claims.get("data")?.clusters.get("b")?.reason, "VolumeNotSynced");
  });
});

describe("volume that is detached for another cluster", () => {
  it("a detached volume is not confused with a remaining volume of earlier storage", () => {
    const other = { ...volume, isPortable: true, storage: "handle-0" };
    const own = { ...volume, isPortable: true };
    const left = claim({
      copier: undefined,
      mayDetach: true,
      ...inB,
      boundIn: new Set(["a", "b"]),
      volumes: new Map([
        ["a", own],
        ["b", other],
      ]),
    });
    assert.equal(decide(left).clusters.get("b")?.state, "releasing");
    const same = new Map([
      ["a", own],
      ["b", own],
    ]);
    assert.equal(decide({ ...left, volumes: same }).dataCluster, "b");
  });
});
