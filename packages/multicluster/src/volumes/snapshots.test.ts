/** Goal: a snapshot carries a claim only where everything that it needs is declared and there, every step is found again by what exists, and one that does not come is given up. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  decideVolumes,
  type VolumeClaim,
  type VolumesInput,
  type VolumeUser,
} from "./decide-volumes.ts";
import type { StoredObject } from "./objects.ts";
import { volumeClaimOf } from "./read-facts.ts";
import { obsoleteSnapshots, snapshotName, snapshotStep } from "./snapshot-steps.ts";
import { type ClusterStorage, domainsIn, snapshotTransferOf } from "./snapshot-way.ts";

const driver = "csi.example.com";
const storage: ClusterStorage = {
  domains: new Map([[driver, "lab"]]),
  classes: [{ name: "fast", provisioner: driver, isDefault: false, waitsForConsumer: false }],
  snapshotClasses: [
    { name: "plain", driver, isDefault: false, isRetained: true },
    { name: "thrown", driver, isDefault: true, isRetained: false },
  ],
};
const volume = {
  ...{ name: "pv-1", isRetained: false, isPortable: true, isAttached: false },
  ...{ storage: "handle-1", driver },
};

function claim(more: Partial<VolumeClaim> = {}): VolumeClaim {
  return {
    ...{ name: "data", uid: "u1", version: "20", isShared: false, home: "a", mayDetach: false },
    ...{ storageClass: "fast", copier: { by: "snapshot" as const }, request: undefined },
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

const journey = { home: "a", destination: "b" };
const way = (one: VolumeClaim, b: ClusterStorage | undefined = storage, a = storage) => {
  const found = snapshotTransferOf(one, journey, { storageOf: (name) => (name === "a" ? a : b) });
  return found !== undefined && "driver" in found ? found : found?.reason;
};

describe("the way of a snapshot", () => {
  it("leads by classes that keep snapshots, where driver and domain are the same", () => {
    const found = way(claim());
    assert.deepEqual(typeof found === "object" && [found.from.name, found.to.name], [
      "plain",
      "plain",
    ]);
  });

  const gaps: [reason: string, found: ReturnType<typeof way>][] = [
    ["SnapshotsUnknown", snapshotReason(undefined)],
    ["SnapshotDomain", way(claim(), { ...storage, domains: new Map() })],
    ["SnapshotDomain", way(claim(), { ...storage, domains: new Map([[driver, "cloud"]]) })],
    ["SnapshotClass", way(claim(), { ...storage, snapshotClasses: [] })],
    ["StorageClass", way(claim(), { ...storage, classes: [] })],
    ["StorageClass", way(claim({ storageClass: undefined }))],
    ["NotPortable", way(claim({ volumes: new Map([["a", { ...volume, driver: undefined }]]) }))],
  ];
  function snapshotReason(b: undefined) {
    const known = { storageOf: (name: string) => (name === "a" ? storage : b) };
    const found = snapshotTransferOf(claim(), journey, known);
    return found !== undefined && "reason" in found ? found.reason : undefined;
  }
  for (const [index, [reason, found]] of gaps.entries())
    it(`ends before anything stops with ${reason} (${index + 1})`, () =>
      assert.equal(found, reason));

  it("is declared by driver on the SyncTarget", () => {
    assert.deepEqual(
      [...domainsIn("a.example.com=lab, b=x=y,,c")],
      [
        ["a.example.com", "lab"],
        ["b", "x=y"],
      ],
    );
  });
});

describe("the steps of a snapshot", () => {
  const request = { id: "17", from: "a", to: "b", sinceMs: 0 };
  const object: StoredObject = { metadata: { name: "data", namespace: "n", uid: "u1" } } as never;
  const named = (cluster: string, status: object = {}, id = "17"): StoredObject =>
    ({
      metadata: {
        name: snapshotName("u1", { id }, cluster),
        annotations: { "workloads.kcp.io/snapshot-for": id },
      },
      status,
    }) as never;
  const ready = { readyToUse: true, boundVolumeSnapshotContentName: "content-1" };
  const content = { metadata: { name: "c" }, status: { snapshotHandle: "h-1" } } as never;
  const step = (snapshots: StoredObject[], contents: StoredObject[] = []) =>
    snapshotStep(request, object, { snapshots, contents, contentIn: () => content });

  it("go from one to the next by what there is, whoever made it", () => {
    assert.equal(step([]).to, "take");
    assert.equal(step([named("a")]).to, "wait");
    const unknown = { contents: [], contentIn: () => undefined };
    assert.equal(
      snapshotStep(request, object, { ...unknown, snapshots: [named("a", ready)] }).to,
      "wait",
    );
    const offer = step([named("a", ready)]);
    assert.deepEqual(offer.to === "offer" && offer.handle, "h-1");
    // A content without its snapshot, or the other way round, is made whole.
    assert.equal(step([named("a", ready), named("b")]).to, "offer");
    assert.equal(step([named("a", ready)], [named("b")]).to, "offer");
    assert.equal(step([named("a", ready), named("b")], [named("b")]).to, "wait");
    assert.equal(step([named("a", ready), named("b", ready)], [named("b")]).to, "bind");
  });

  it("do not take the snapshot of an earlier request for this one, which is left over", () => {
    const old = named("a", ready, "12");
    assert.equal(step([old]).to, "take");
    assert.deepEqual(obsoleteSnapshots([old, named("a")], request), [old]);
    assert.deepEqual(obsoleteSnapshots([named("a")], undefined), [named("a")]);
  });

  it("say what the cluster says", () => {
    const failed = step([named("a", { error: { message: "no room" } })]);
    const { reason, message } = failed.to === "wait" ? failed.progress : assert.fail();
    assert.equal(reason, "SnapshotError");
    assert.match(message, /in a: no room$/);
  });
});

describe("a snapshot that does not come", () => {
  const parts: readonly VolumeUser[] = ["a", "b"].map((cluster) => ({
    ...{ whole: "web", cluster, replicas: 1, isGoing: false, isStopped: true },
    takesOverFrom: cluster === "b" ? "a" : undefined,
    isOpened: cluster === "a",
    isFenced: cluster === "a",
  }));
  const progress = { reason: "SnapshotError", message: "no room" };
  const request = { id: "17", from: "a", to: "b", sinceMs: 1000 };
  const decide = (one: VolumeClaim, nowMs: number) => {
    const known = { sight: () => "seen" as const, storageOf: () => storage };
    const input: VolumesInput = { claims: [one], parts, ...known, nowMs, copyPatienceMs: 5000 };
    const { claims, parts: decided } = decideVolumes(input);
    const { places, request: next } = claims.get("data") ?? assert.fail();
    const [source] = parts;
    return {
      place: places.get("b"),
      next,
      isFenced: decided.get(source as VolumeUser)?.isFenced,
    };
  };

  it("is waited for with the reason, then given up: the workload starts again where its data is", () => {
    const waiting = decide(claim({ request, progress }), 5999);
    assert.deepEqual([waiting.place?.state, waiting.isFenced], ["copying", true]);
    assert.equal(waiting.place?.message, "no room");
    const late = decide(claim({ request, progress }), 6000);
    assert.deepEqual([late.place?.state, late.place?.reason], ["refused", "SnapshotFailed"]);
    assert.equal(late.isFenced, false);
    assert.match(late.place?.message ?? "", /no room; to try again, remove the annotation/);
    // That stays so, whatever else is seen, until somebody says otherwise.
    const failed = late.next ?? assert.fail();
    const still = decide(claim({ request: failed }), 6001);
    assert.deepEqual([still.place?.reason, still.next], ["SnapshotFailed", failed]);
    assert.equal(decide(claim(), 6002).place?.state, "copying");
  });

  it("is read off the claim as it was written, and no other copier's request is", () => {
    const at = (hook?: string) => {
      const annotations = {
        "workloads.kcp.io/volume-move": "snapshot",
        "workloads.kcp.io/volume-copy": JSON.stringify({
          ...(hook === undefined ? {} : { hook }),
          ...{ id: "17", from: "a", to: "b", since: "1970-01-01T00:00:01.000Z" },
        }),
      };
      const object = { metadata: { name: "data", annotations } } as never;
      return volumeClaimOf(object, [], { name: "data", namespaceIn: () => undefined }).request;
    };
    assert.deepEqual(at(), request);
    assert.equal(at("copier"), undefined);
  });
});
