/**
 * Goal: a snapshot moves a claim only where all prerequisites are declared and present, every step
 * is found again from the existing objects, and a snapshot that does not finish is given up.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  decideVolumes,
  type VolumeClaim,
  type VolumesInput,
  type VolumeUser,
} from "./decide-volumes.ts";
import type { StoredObject } from "./objects.ts";
import { volumeClaimOf } from "./read-claims.ts";
import { obsoleteSnapshots, snapshotName, snapshotStep } from "./snapshot-steps.ts";
import { type ClusterStorage, domainsIn, snapshotTransferOf } from "./snapshot-transfer.ts";

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
  name: "pv-1",
  isRetained: false,
  isPortable: true,
  isAttached: false,
  storage: "handle-1",
  driver,
};

function claim(more: Partial<VolumeClaim> = {}): VolumeClaim {
  return {
    name: "data",
    uid: "u1",
    version: "20",
    isShared: false,
    dataCluster: "a",
    mayDetach: false,
    storageClass: "fast",
    copier: { by: "snapshot" as const },
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

const journey = { source: "a", destination: "b" };
const way = (one: VolumeClaim, b: ClusterStorage | undefined = storage, a = storage) => {
  const found = snapshotTransferOf(one, journey, { storageOf: (name) => (name === "a" ? a : b) });
  return found !== undefined && "driver" in found ? found : found?.reason;
};

describe("snapshot transfer between clusters", () => {
  it("a transfer uses classes that retain snapshots, with the same driver and domain", () => {
    const found = way(claim());
    assert.deepEqual(typeof found === "object" && [found.from.name, found.to.name], [
      "plain",
      "plain",
    ]);
  });

  const gaps: [reason: string, found: ReturnType<typeof way>][] = [
    ["SnapshotsNotSynced", snapshotReason(undefined)],
    ["SnapshotDomainMismatch", way(claim(), { ...storage, domains: new Map() })],
    ["SnapshotDomainMismatch", way(claim(), { ...storage, domains: new Map([[driver, "cloud"]]) })],
    ["NoSnapshotClass", way(claim(), { ...storage, snapshotClasses: [] })],
    ["IncompatibleStorageClass", way(claim(), { ...storage, classes: [] })],
    ["IncompatibleStorageClass", way(claim({ storageClass: undefined }))],
    [
      "VolumeNotMovable",
      way(claim({ volumes: new Map([["a", { ...volume, driver: undefined }]]) })),
    ],
  ];
  function snapshotReason(b: undefined) {
    const known = { storageOf: (name: string) => (name === "a" ? storage : b) };
    const found = snapshotTransferOf(claim(), journey, known);
    return found !== undefined && "reason" in found ? found.reason : undefined;
  }
  for (const [index, [reason, found]] of gaps.entries())
    it(`a transfer is rejected before any workload stops with ${reason} (${index + 1})`, () =>
      assert.equal(found, reason));

  it("snapshot support is declared for each driver on the SyncTarget", () => {
    assert.deepEqual(
      [...domainsIn("a.example.com=lab, b=x=y,,c")],
      [
        ["a.example.com", "lab"],
        ["b", "x=y"],
      ],
    );
  });
});

describe("steps of a snapshot", () => {
  const request = { id: "17", from: "a", to: "b", sinceMs: 0 };
  const object: StoredObject = { metadata: { name: "data", namespace: "n", uid: "u1" } } as never;
  const named = (cluster: string, status: object = {}, id = "17"): StoredObject =>
    ({
      metadata: {
        name: snapshotName("u1", { id }, cluster),
        annotations: { "workload.kcp.io/snapshot-request": id },
      },
      status,
    }) as never;
  const ready = { readyToUse: true, boundVolumeSnapshotContentName: "content-1" };
  const content = { metadata: { name: "c" }, status: { snapshotHandle: "h-1" } } as never;
  const step = (snapshots: StoredObject[], contents: StoredObject[] = []) =>
    snapshotStep(request, object, { snapshots, contents, contentIn: () => content });

  it("each step follows from the existing objects, whichever controller created them", () => {
    assert.equal(step([]).to, "take");
    assert.equal(step([named("a")]).to, "wait");
    const unknown = { contents: [], contentIn: () => undefined };
    assert.equal(
      snapshotStep(request, object, { ...unknown, snapshots: [named("a", ready)] }).to,
      "wait",
    );
    const offer = step([named("a", ready)]);
    assert.deepEqual(offer.to === "offer" && offer.handle, "h-1");
    // A content without its snapshot, or a snapshot without its content, is completed.
    assert.equal(step([named("a", ready), named("b")]).to, "offer");
    assert.equal(step([named("a", ready)], [named("b")]).to, "offer");
    assert.equal(step([named("a", ready), named("b")], [named("b")]).to, "wait");
    assert.equal(step([named("a", ready), named("b", ready)], [named("b")]).to, "bind");
  });

  it("the snapshot of an earlier request is not used, and is obsolete", () => {
    const old = named("a", ready, "12");
    assert.equal(step([old]).to, "take");
    assert.deepEqual(obsoleteSnapshots([old, named("a")], request), [old]);
    assert.deepEqual(obsoleteSnapshots([named("a")], undefined), [named("a")]);
  });

  it("an error of the cluster is reported", () => {
    const failed = step([named("a", { error: { message: "no room" } })]);
    const { reason, message } = failed.to === "wait" ? failed.progress : assert.fail();
    assert.equal(reason, "SnapshotError");
    assert.match(message, /in a: no room$/);
  });
});

describe("snapshot that does not finish", () => {
  const users: readonly VolumeUser[] = ["a", "b"].map((cluster) => ({
    workload: "web",
    cluster,
    replicas: 1,
    isDeleting: false,
    isStopped: true,
    migrationSource: cluster === "b" ? "a" : undefined,
    isVolumeGateOpen: cluster === "a",
    isFenced: cluster === "a",
  }));
  const progress = { reason: "SnapshotError", message: "no room" };
  const request = { id: "17", from: "a", to: "b", sinceMs: 1000 };
  const decide = (one: VolumeClaim, nowMs: number) => {
    const known = { visibilityOf: () => "Reachable" as const, storageOf: () => storage };
    const input: VolumesInput = { claims: [one], users, ...known, nowMs, copyTimeoutMs: 5000 };
    const { claims, users: decided } = decideVolumes(input);
    const { clusters, request: next } = claims.get("data") ?? assert.fail();
    const [source] = users;
    return {
      place: clusters.get("b"),
      next,
      isFenced: decided.get(source as VolumeUser)?.isFenced,
    };
  };

  it("the transfer waits with a reason, then fails, and the workload starts again in the cluster that has its data", () => {
    const waiting = decide(claim({ request, progress }), 5999);
    assert.deepEqual([waiting.place?.state, waiting.isFenced], ["copying", true]);
    assert.equal(waiting.place?.message, "no room");
    const late = decide(claim({ request, progress }), 6000);
    assert.deepEqual([late.place?.state, late.place?.reason], ["refused", "SnapshotFailed"]);
    assert.equal(late.isFenced, false);
    assert.match(late.place?.message ?? "", /no room; to try again, remove the annotation/);
    // The failure stays, in every observed state, until a user changes the request.
    const failed = late.next ?? assert.fail();
    const still = decide(claim({ request: failed }), 6001);
    assert.deepEqual([still.place?.reason, still.next], ["SnapshotFailed", failed]);
    assert.equal(decide(claim(), 6002).place?.state, "copying");
  });

  it("a request is read from the claim as it was written, and a request to another copier is ignored", () => {
    const at = (hook?: string) => {
      const annotations = {
        "workload.kcp.io/volume-migration": "snapshot",
        "workload.kcp.io/volume-copy-request": JSON.stringify({
          ...(hook === undefined ? {} : { hook }),
          id: "17",
          from: "a",
          to: "b",
          since: "1970-01-01T00:00:01.000Z",
        }),
      };
      const object = { metadata: { name: "data", annotations } } as never;
      return volumeClaimOf(object, [], { name: "data", namespaceIn: () => undefined }).request;
    };
    assert.deepEqual(at(), request);
    assert.equal(at("copier"), undefined);
  });
});
