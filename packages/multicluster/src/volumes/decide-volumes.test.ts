/** Goal: whatever happens in whatever order, a volume that cannot be shared is never attached twice, no claim is lost, and a refusal stops nothing. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SeededRandom } from "@kcp-ts/testkit";
import type { ClaimState } from "./claim-machine.ts";
import { decideVolumes, type Volume, type VolumeClaim, type VolumeUser } from "./decide-volumes.ts";
import { SimulatedVolumes } from "./test-support/world.ts";

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
    home: "a",
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
    broughtTo: new Map(),
    volumes: new Map([["a", volume]]),
    ...more,
  };
}

function part(cluster: string, more: Partial<VolumeUser> = {}): VolumeUser {
  return {
    whole: "web",
    cluster,
    replicas: 1,
    isGoing: false,
    isStopped: false,
    takesOverFrom: undefined,
    isOpened: false,
    isFenced: false,
    ...more,
  };
}

const seen = () => "seen" as const;
const states = (a: ClaimState, b: ClaimState) => new Map([...Object.entries({ a, b })]);

describe("what becomes of claims", () => {
  const there = part("a", { isOpened: true });
  const asking = part("b", { takesOverFrom: "a", isStopped: true });

  it("a new one gets its data where most replicas are, and nowhere else", () => {
    const fresh = claim({
      home: undefined,
      assigned: new Set(),
      boundIn: new Set(),
      volumes: new Map(),
      states: new Map(),
    });
    const [few, most] = [part("a"), part("b", { replicas: 2 })];
    const first = decideVolumes({ claims: [fresh], parts: [few, most], sight: seen });
    assert.equal(first.tie, "b");
    assert.deepEqual([...(first.claims.get("data")?.opened ?? [])], ["b"]);
    const settled = { ...fresh, home: "b", assigned: new Set(["b"]) };
    const second = decideVolumes({ claims: [settled], parts: [few, most], sight: seen });
    assert.deepEqual(second.parts.get(most), { isFenced: false, isOpened: true });
    assert.deepEqual(second.parts.get(few), { isFenced: false, isOpened: false });
  });

  it("one that cannot be shared moves in steps: stopped, detached, bound, started", () => {
    const steps = (one: VolumeClaim, ...parts: VolumeUser[]) => {
      const { claims, parts: decided } = decideVolumes({ claims: [one], parts, sight: seen });
      const { home, places, brought } = claims.get("data") ?? assert.fail();
      const [a, b] = parts.map((each) => decided.get(each));
      return { home, state: places.get("b")?.state, a, b, brought: [...brought.keys()] };
    };
    const closed = { isFenced: false, isOpened: false };
    const fenced = { isFenced: true, isOpened: true };
    const stopped = part("a", { isOpened: true, isStopped: true });
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
      home: "b",
      assigned: new Set(["a", "b"]),
      broughtTo: new Map([["b", "kcp-1"]]),
      states: new Map([["b", "binding"]]),
    });
    assert.deepEqual(steps(arrived, stopped, asking), {
      home: "b",
      state: "binding",
      a: fenced,
      b: closed,
      brought: [],
    });
    // What it left says nothing for a moment: it is asked for by another name from now on.
    const unheard = { ...arrived, boundIn: new Set<string>(), states: states("bound", "binding") };
    assert.deepEqual(steps(unheard, stopped, asking).brought, []);
    const bound = { ...arrived, boundIn: new Set(["a", "b"]) };
    assert.deepEqual(steps(bound, stopped, asking), {
      home: "b",
      state: "bound",
      a: fenced,
      b: { isFenced: false, isOpened: true },
      brought: [],
    });
    // The claim stays in the cluster that it left until no workload is there.
    const left = (...parts: VolumeUser[]) =>
      decideVolumes({ claims: [bound], parts, sight: seen })
        .claims.get("data")
        ?.places.get("a")?.state;
    assert.deepEqual([left(stopped, asking), left(asking)], ["bound", "releasing"]);
  });

  const refusals: [reason: string, one: VolumeClaim][] = [
    ["AccessMode", claim({ mayDetach: false })],
    ["ReclaimPolicy", claim({ volumes: new Map([["a", { ...volume, isRetained: false }]]) })],
    ["NotPortable", claim({ volumes: new Map([["a", { ...volume, isPortable: false }]]) })],
  ];
  for (const [reason, one] of refusals) {
    it(`a move is refused by ${reason} before anything stops, with what to do`, () => {
      const { claims, parts, tie } = decideVolumes({
        claims: [one],
        parts: [there, asking],
        sight: seen,
      });
      const found = claims.get("data")?.places.get("b");
      assert.deepEqual([found?.state, found?.reason, tie], ["refused", reason, "a"]);
      assert.match(found?.message ?? "", /claim data/);
      assert.deepEqual(parts.get(there), { isFenced: false, isOpened: true });
    });
  }

  it("a move of what cannot be seen is refused with what to do", () => {
    const showsVolumes = (name: string) => name === "a";
    const input = { claims: [claim()], parts: [there, asking], sight: seen, showsVolumes };
    const { claims, parts } = decideVolumes(input);
    assert.equal(claims.get("data")?.places.get("b")?.reason, "VolumeUnknown");
    assert.equal(parts.get(there)?.isFenced, false);
  });

  it("a move to a cluster that has left is refused before anything stops, also of what is copied", () => {
    const sight = (name: string) => (name === "b" ? ("gone" as const) : ("seen" as const));
    const stopped = part("a", { isOpened: true, isStopped: true });
    for (const one of [claim(), claim({ copier: { by: "hook", name: "copy" } })]) {
      const { claims, parts, tie } = decideVolumes({
        claims: [one],
        parts: [stopped, asking],
        sight,
      });
      const found = claims.get("data") ?? assert.fail();
      const { state, reason } = found.places.get("b") ?? assert.fail();
      assert.deepEqual([state, reason, tie], ["refused", "NotRegistered", "a"]);
      assert.deepEqual([found.home, found.request], ["a", undefined]);
      assert.equal(parts.get(stopped)?.isFenced, false);
    }
  });

  it("all claims of a workload move, or none", () => {
    const other = claim({ name: "logs", mayDetach: false });
    const { claims, parts } = decideVolumes({
      claims: [claim(), other],
      parts: [there, asking],
      sight: seen,
    });
    assert.equal(claims.get("data")?.places.get("b")?.state, "refused");
    assert.equal(parts.get(there)?.isFenced, false);
  });

  it("what can be shared is bound beside, and the old place is released when nobody is there", () => {
    const shared = claim({ isShared: true, mayDetach: false });
    const beside = decideVolumes({ claims: [shared], parts: [there, asking], sight: seen });
    const { from, isCopy } = beside.claims.get("data")?.brought.get("b") ?? assert.fail();
    assert.deepEqual([from, isCopy], ["a", false]);
    assert.deepEqual(beside.parts.get(there), { isFenced: false, isOpened: true });
    assert.equal(beside.tie, undefined);
    const both = { ...shared, assigned: new Set(["a", "b"]), boundIn: new Set(["a", "b"]) };
    const { home, places } =
      decideVolumes({ claims: [both], parts: [asking], sight: seen }).claims.get("data") ??
      assert.fail();
    assert.deepEqual(
      [home, places.get("a")?.state, places.get("b")?.state],
      ["b", "releasing", "bound"],
    );
  });

  it("what could be shared, but no other cluster can reach, ties its workloads, whoever asks for it", () => {
    const local = { ...volume, isPortable: false };
    const shared = claim({ isShared: true, volumes: new Map([["a", local]]) });
    for (const parts of [[there], [there, part("b")]])
      assert.equal(decideVolumes({ claims: [shared], parts, sight: seen }).tie, "a");
    const hidden = { claims: [claim({ isShared: true })], parts: [there], sight: seen };
    assert.equal(decideVolumes({ ...hidden, showsVolumes: () => false }).tie, "a");
    assert.equal(decideVolumes(hidden).tie, undefined);
  });

  it("of a cluster that cannot be seen nothing is taken", () => {
    const sight = (name: string) => (name === "a" ? ("lost" as const) : ("seen" as const));
    const { claims, parts } = decideVolumes({ claims: [claim()], parts: [there, asking], sight });
    assert.equal(claims.get("data")?.places.get("b")?.state, "frozen");
    assert.deepEqual(parts.get(asking), { isFenced: false, isOpened: false });
  });
});

describe("seeded histories of volumes", () => {
  const histories = Number(process.env["KCP_VOLUME_HISTORIES"] ?? 2000);
  it(`${histories} of them: nothing is attached twice, no claim is lost, no refusal stops anything, and all settle`, () => {
    for (let seed = 1; seed <= histories; seed++) {
      const world = new SimulatedVolumes(new SeededRandom(seed));
      try {
        for (let step = 0; step < 120; step++) world.step();
        world.settle();
      } catch (error) {
        assert.fail(`seed ${seed}\n${world.history.slice(-40).join("\n")}\n${String(error)}`);
      }
    }
  });
});
