/** Goal: a copy stands for the data it was made of, and for nothing newer; whatever comes between, the last copy of the newest data stays. */
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
    home: "a",
    mayDetach: false,
    copier: { by: "hook", name: "copier" },
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
  const idle = { isGoing: false, isStopped: true, isOpened: false, isFenced: false };
  return { whole: "web", cluster, replicas: 1, takesOverFrom: undefined, ...idle, ...more };
}

const stopped = part("a", { isOpened: true, isFenced: true });
const asking = part("b", { takesOverFrom: "a" });

function decide(one: VolumeClaim, parts: readonly VolumeUser[] = [stopped, asking]) {
  const input = { claims: [one], parts, sight: () => "seen" as const };
  return decideVolumes(input).claims.get("data") ?? assert.fail();
}

const inB = {
  assigned: new Set(["a", "b"]),
  heldIn: new Set(["a", "b"]),
  broughtTo: new Map([["b", "pv-copy"]]),
};

describe("a copy of a claim", () => {
  it("is asked for under an id of its own when nothing runs, and the data stays where it is until it is bound", () => {
    const asked = decide(claim());
    assert.deepEqual(asked.request, { id: "20", from: "a", to: "b", sinceMs: 0 });
    assert.equal(asked.places.get("b")?.state, "copying");
    const copied = decide(claim({ request, copied: "pv-copy" }));
    assert.deepEqual([copied.home, copied.places.get("b")?.state], ["a", "binding"]);
    assert.deepEqual(copied.brought.get("b"), { from: "a", name: "pv-copy", isCopy: true });
    const unbound = decide(claim({ request, copied: "pv-copy", ...inB }));
    assert.deepEqual([unbound.home, unbound.request], ["a", request]);
    const bound = { ...inB, boundIn: new Set(["a", "b"]) };
    const arrived = decide(claim({ request, copied: "pv-copy", ...bound }));
    assert.deepEqual([arrived.home, arrived.request], ["b", undefined]);
    assert.equal(arrived.places.get("b")?.state, "bound");
  });

  it("that was asked for by another journey is asked for anew", () => {
    for (const other of [
      { ...request, from: "c" },
      { ...request, to: "c" },
    ]) {
      const again = decide(claim({ request: other, copied: "pv-copy" }));
      assert.equal(again.request?.id, "20");
      assert.equal(again.places.get("b")?.state, "copying");
    }
  });

  it("is void when the workload runs again, and goes on when its cluster is only behind with telling", () => {
    const known = claim({ request, copied: "pv-copy" });
    const isStopped = false;
    const late = decide(known, [part("a", { isOpened: true, isFenced: true, isStopped }), asking]);
    assert.equal(late.request?.id, "17");
    const running = decide(known, [part("a", { isOpened: true, isStopped }), asking]);
    assert.equal(running.request, undefined);
    const calledOff = decide(known, [stopped]);
    assert.equal(calledOff.request, undefined);
  });

  it("that is left of an earlier move goes before another is asked for, and nothing is stopped meanwhile", () => {
    const left = claim({ ...inB, boundIn: new Set(["a", "b"]) });
    const input = { claims: [left], parts: [stopped, asking], sight: () => "seen" as const };
    const { claims, parts } = decideVolumes(input);
    const { request: none, places, assigned } = claims.get("data") ?? assert.fail();
    assert.deepEqual([none, places.get("b")?.state], [undefined, "releasing"]);
    assert.deepEqual([...assigned], ["a"]);
    assert.equal(parts.get(stopped)?.isFenced, false);
  });

  it("is not taken away where the data may be, before the cluster that has it says so", () => {
    const unheard = claim({ ...inB, boundIn: new Set() });
    const { assigned, places } = decide(unheard);
    assert.deepEqual([...assigned].sort(), ["a", "b"]);
    assert.notEqual(places.get("b")?.state, "releasing");
  });

  it("keeps what it was made of until the workload has begun with it", () => {
    const moved = claim({
      ...inB,
      home: "b",
      boundIn: new Set(["a", "b"]),
      states: new Map([
        ["a", "bound"],
        ["b", "bound"],
      ]),
    });
    const state = (hasStarted: boolean) =>
      decide(moved, [part("b", { isOpened: true, isStopped: false, hasStarted })]).places.get("a")
        ?.state;
    assert.deepEqual([state(false), state(true)], ["bound", "releasing"]);
  });

  it("is not waited for where volumes of the cluster that has the data cannot be seen", () => {
    const parts = [stopped, asking];
    const input = { claims: [claim()], parts, sight: () => "seen" as const };
    const { claims } = decideVolumes({ ...input, showsVolumes: (name) => name !== "a" });
    assert.equal(claims.get("data")?.places.get("b")?.reason, "VolumeUnknown");
  });
});

describe("a volume that is detached for another cluster", () => {
  it("is not taken for the one that is left there of earlier storage", () => {
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
    assert.equal(decide(left).places.get("b")?.state, "releasing");
    const same = new Map([
      ["a", own],
      ["b", own],
    ]);
    assert.equal(decide({ ...left, volumes: same }).home, "b");
  });
});
