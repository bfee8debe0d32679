/**
 * Goal: in every order of events, a volume that cannot be shared is never attached twice, no claim
 * is lost, and a rejected move stops no workload.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SeededRandom } from "@kcp-ts/testkit";
import type { ClaimState } from "./claim-machine.ts";
import { decideVolumes, type Volume, type VolumeClaim, type VolumeUser } from "./decide-volumes.ts";
import { SimulatedVolumes } from "./test-support/simulated-volumes.ts";

const volume: Volume = {
  name: "pv-1",
  isRetained: true,
  isPortable: true,
  isAttached: false,
  storage: "handle-1",
};

function claim(more: Partial<VolumeClaim> = {}): VolumeClaim {
  return {
    name: "data",
    isShared: false,
    dataCluster: "a",
    mayDetach: true,
    uid: "claim-uid",
    version: "17",
    copier: undefined,
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
  return {
    workload: "web",
    cluster,
    replicas: 1,
    isDeleting: false,
    isStopped: false,
    migrationSource: undefined,
    isVolumeGateOpen: false,
    isFenced: false,
    ...more,
  };
}

const seen = () => "Reachable" as const;
const states = (a: ClaimState, b: ClaimState) => new Map([...Object.entries({ a, b })]);

describe("decisions about PersistentVolumeClaims", () => {
  const there = part("a", { isVolumeGateOpen: true });
  const asking = part("b", { migrationSource: "a", isStopped: true });

  it("a new claim is bound in the cluster with the most replicas, and nowhere else", () => {
    const fresh = claim({
      dataCluster: undefined,
      assigned: new Set(),
      boundIn: new Set(),
      volumes: new Map(),
      states: new Map(),
    });
    const [few, most] = [part("a"), part("b", { replicas: 2 })];
    const first = decideVolumes({ claims: [fresh], users: [few, most], visibilityOf: seen });
    assert.equal(first.dataCluster, "b");
    assert.deepEqual([...(first.claims.get("data")?.openedIn ?? [])], ["b"]);
    const settled = { ...fresh, dataCluster: "b", assigned: new Set(["b"]) };
    const second = decideVolumes({ claims: [settled], users: [few, most], visibilityOf: seen });
    assert.deepEqual(second.users.get(most), { isFenced: false, isVolumeGateOpen: true });
    assert.deepEqual(second.users.get(few), { isFenced: false, isVolumeGateOpen: false });
  });

  it("a claim that cannot be shared moves in steps: stopped, detached, bound, started", () => {
    const steps = (one: VolumeClaim, ...users: VolumeUser[]) => {
      const { claims, users: decided } = decideVolumes({
        claims: [one],
        users,
        visibilityOf: seen,
      });
      const { dataCluster: home, clusters, migrated } = claims.get("data") ?? assert.fail();
      const [a, b] = users.map((each) => decided.get(each));
      return { home, state: clusters.get("b")?.state, a, b, brought: [...migrated.keys()] };
    };
    const closed = { isFenced: false, isVolumeGateOpen: false };
    const fenced = { isFenced: true, isVolumeGateOpen: true };
    const stopped = part("a", { isVolumeGateOpen: true, isStopped: true });
    const attached = claim({ volumes: new Map([["a", { ...volume, isAttached: true }]]) });
    assert.deepEqual(steps(attached, there, asking), {
      home: "a",
      state: "fencing",
      a: fenced,
      b: closed,
      brought: [],
    });
    assert.deepEqual(steps(attached, stopped, asking), {
      home: "a",
      state: "detaching",
      a: fenced,
      b: closed,
      brought: [],
    });
    assert.deepEqual(steps(claim(), stopped, asking), {
      home: "b",
      state: "binding",
      a: fenced,
      b: closed,
      brought: ["b"],
    });
    const arrived = claim({
      dataCluster: "b",
      assigned: new Set(["a", "b"]),
      migratedTo: new Map([["b", "kcp-1"]]),
      states: new Map([["b", "binding"]]),
    });
    assert.deepEqual(steps(arrived, stopped, asking), {
      home: "b",
      state: "binding",
      a: fenced,
      b: closed,
      brought: [],
    });
    // The source cluster reports nothing for a moment: its claim now has another name.
    const unheard = { ...arrived, boundIn: new Set<string>(), states: states("bound", "binding") };
    assert.deepEqual(steps(unheard, stopped, asking).brought, []);
    const bound = { ...arrived, boundIn: new Set(["a", "b"]) };
    assert.deepEqual(steps(bound, stopped, asking), {
      home: "b",
      state: "bound",
      a: fenced,
      b: { isFenced: false, isVolumeGateOpen: true },
      brought: [],
    });
    // The claim stays in the source cluster until no workload uses it there.
    const left = (...users: VolumeUser[]) =>
      decideVolumes({ claims: [bound], users, visibilityOf: seen })
        .claims.get("data")
        ?.clusters.get("a")?.state;
    assert.deepEqual([left(stopped, asking), left(asking)], ["bound", "releasing"]);
  });

  const refusals: [reason: string, one: VolumeClaim][] = [
    ["IncompatibleAccessMode", claim({ mayDetach: false })],
    [
      "IncompatibleReclaimPolicy",
      claim({ volumes: new Map([["a", { ...volume, isRetained: false }]]) }),
    ],
    ["VolumeNotMovable", claim({ volumes: new Map([["a", { ...volume, isPortable: false }]]) })],
  ];
  for (const [reason, one] of refusals) {
    it(`a move is rejected with ${reason} before anything stops, with what to do`, () => {
      const { claims, users, dataCluster } = decideVolumes({
        claims: [one],
        users: [there, asking],
        visibilityOf: seen,
      });
      const found = claims.get("data")?.clusters.get("b");
      assert.deepEqual([found?.state, found?.reason, dataCluster], ["refused", reason, "a"]);
      assert.match(found?.message ?? "", /claim data/);
      assert.deepEqual(users.get(there), { isFenced: false, isVolumeGateOpen: true });
    });
  }

  it("a move of an unobserved volume is rejected with a next step", () => {
    const showsVolumes = (name: string) => name === "a";
    const input = { claims: [claim()], users: [there, asking], visibilityOf: seen, showsVolumes };
    const { claims, users } = decideVolumes(input);
    assert.equal(claims.get("data")?.clusters.get("b")?.reason, "VolumeNotSynced");
    assert.equal(users.get(there)?.isFenced, false);
  });

  it("a move to an unregistered cluster is rejected before any workload stops, also when the data is copied", () => {
    const visibilityOf = (name: string) =>
      name === "b" ? ("Unregistered" as const) : ("Reachable" as const);
    const stopped = part("a", { isVolumeGateOpen: true, isStopped: true });
    for (const one of [claim(), claim({ copier: { by: "hook", name: "copy" } })]) {
      const { claims, users, dataCluster } = decideVolumes({
        claims: [one],
        users: [stopped, asking],
        visibilityOf,
      });
      const found = claims.get("data") ?? assert.fail();
      const { state, reason } = found.clusters.get("b") ?? assert.fail();
      assert.deepEqual([state, reason, dataCluster], ["refused", "ClusterUnregistered", "a"]);
      assert.deepEqual([found.dataCluster, found.request], ["a", undefined]);
      assert.equal(users.get(stopped)?.isFenced, false);
    }
  });

  it("all claims of a workload move, or none", () => {
    const other = claim({ name: "logs", mayDetach: false });
    const { claims, users } = decideVolumes({
      claims: [claim(), other],
      users: [there, asking],
      visibilityOf: seen,
    });
    assert.equal(claims.get("data")?.clusters.get("b")?.state, "refused");
    assert.equal(users.get(there)?.isFenced, false);
  });

  it("a shared volume is bound in the new cluster as well, and released in the old cluster when no workload uses it there", () => {
    const shared = claim({ isShared: true, mayDetach: false });
    const beside = decideVolumes({ claims: [shared], users: [there, asking], visibilityOf: seen });
    const { from, isCopy } = beside.claims.get("data")?.migrated.get("b") ?? assert.fail();
    assert.deepEqual([from, isCopy], ["a", false]);
    assert.deepEqual(beside.users.get(there), { isFenced: false, isVolumeGateOpen: true });
    assert.equal(beside.dataCluster, undefined);
    const both = { ...shared, assigned: new Set(["a", "b"]), boundIn: new Set(["a", "b"]) };
    const { dataCluster, clusters } =
      decideVolumes({ claims: [both], users: [asking], visibilityOf: seen }).claims.get("data") ??
      assert.fail();
    assert.deepEqual(
      [dataCluster, clusters.get("a")?.state, clusters.get("b")?.state],
      ["b", "releasing", "bound"],
    );
  });

  it("a shareable volume that no other cluster can reach pins all of its workloads", () => {
    const local = { ...volume, isPortable: false };
    const shared = claim({ isShared: true, volumes: new Map([["a", local]]) });
    for (const users of [[there], [there, part("b")]])
      assert.equal(decideVolumes({ claims: [shared], users, visibilityOf: seen }).dataCluster, "a");
    const hidden = { claims: [claim({ isShared: true })], users: [there], visibilityOf: seen };
    assert.equal(decideVolumes({ ...hidden, showsVolumes: () => false }).dataCluster, "a");
    assert.equal(decideVolumes(hidden).dataCluster, undefined);
  });

  it("no volume is moved out of an Unreachable cluster", () => {
    const visibilityOf = (name: string) =>
      name === "a" ? ("Unreachable" as const) : ("Reachable" as const);
    const { claims, users } = decideVolumes({
      claims: [claim()],
      users: [there, asking],
      visibilityOf,
    });
    assert.equal(claims.get("data")?.clusters.get("b")?.state, "frozen");
    assert.deepEqual(users.get(asking), { isFenced: false, isVolumeGateOpen: false });
  });
});

describe("seeded histories of volumes", () => {
  const histories = Number(process.env["KCP_VOLUME_HISTORIES"] ?? 2000);
  it(`histories of volume moves, ${histories} of them: nothing is attached twice, no claim is lost, no refusal stops anything, and all settle`, () => {
    for (let seed = 1; seed <= histories; seed++) {
      const world = new SimulatedVolumes(new SeededRandom(seed));
      try {
        for (let step = 0; step < 120; step++) world.step();
        world.runUntilStable();
      } catch (error) {
        assert.fail(`seed ${seed}\n${world.history.slice(-40).join("\n")}\n${String(error)}`);
      }
    }
  });
});
