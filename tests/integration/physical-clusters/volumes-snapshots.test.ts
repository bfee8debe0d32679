/**
 * Goal: where two clusters share snapshots, a workload takes its data along as one; whatever fails
 * on the way, the data stays, and the workload comes back to it.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import { planChange, readSnapshot, syncTargets, withDrainedTarget } from "@kcp-ts/multicluster";
import {
  volumeSnapshotContents as contents,
  volumeSnapshotClasses as snapshotClasses,
  volumeSnapshots as snapshots,
  storageClasses,
} from "@kcp-ts/sdk/kinds";
import { eventually } from "./fixture.ts";
import {
  claims,
  data,
  VolumeFixture,
  type VolumeFixtureOptions,
  volumes,
} from "./volume-fixture.ts";

const kinds = [
  "volumesnapshots.snapshot.storage.k8s.io",
  "volumesnapshotcontents.snapshot.storage.k8s.io",
  "volumesnapshotclasses.snapshot.storage.k8s.io",
  "storageclasses.storage.k8s.io",
];
const bySnapshot = { "workload.kcp.io/volume-migration": "snapshot" };
const domain = { "workload.kcp.io/snapshot-domains": "snap.sim.kcp.io=lab" };

async function started(t: TestContext, ways: VolumeFixtureOptions = {}): Promise<VolumeFixture> {
  const stage = await VolumeFixture.start(t, kinds, { snapshots: true }, ways);
  await stage.apply(["ReadWriteOnce"], bySnapshot, "snap");
  return stage;
}

async function declare(fixture: VolumeFixture, annotations: object = domain): Promise<void> {
  const patch = { metadata: { annotations: { ...annotations } } };
  for (const name of fixture.clusters.keys())
    await fixture.client.resource(syncTargets).patch({ name }, { type: "merge", patch });
}

function physical(fixture: VolumeFixture, cluster: string) {
  return (fixture.clusters.get(cluster) ?? assert.fail()).client;
}

/** In the order in which they come, each with the next way out. */
async function untilRefused(
  fixture: VolumeFixture,
  cluster: string,
  reason: string,
): Promise<string> {
  return eventually(async () => {
    const said = await fixture.volumeStatusOf(cluster);
    assert.deepEqual([said.state, said.reason], ["refused", reason]);
    return said.message ?? "";
  });
}

describe("volumes that are snapshotted", () => {
  it("are refused before anything stops, then taken along as a snapshot that stays", async (t) => {
    const stage = await started(t);
    const [home, other] = await stage.untilBound();
    const [handle = ""] = (await stage.handles())[home] ?? [];
    const plan = async () => {
      const clusterSet = await readSnapshot({ client: stage.client });
      const gracePeriods = { unreachableAfterMs: 60_000, recoveryMs: 0 };
      const { moves } = planChange(clusterSet, withDrainedTarget(home), {
        gracePeriods,
        nowMs: systemClock.now(),
      });
      return moves.flatMap(({ rejectedBy: refused }) => refused.map(({ reason }) => reason));
    };
    const there = physical(stage, other);
    await there.resource(storageClasses).delete({ name: "snap" });
    // A plan says so before anybody asks.
    assert.deepEqual(await plan(), ["SnapshotDomainMismatch"]);
    await declare(stage);
    await eventually(async () => assert.deepEqual(await plan(), ["IncompatibleStorageClass"]));
    await declare(stage, { "workload.kcp.io/snapshot-domains": null });
    await stage.empty(home);
    assert.match(
      await untilRefused(stage, other, "SnapshotDomainMismatch"),
      /snapshot-domains=snap\.sim/,
    );
    await declare(stage);
    assert.match(
      await untilRefused(stage, other, "IncompatibleStorageClass"),
      /has no StorageClass snap/,
    );
    const snap = { metadata: { name: "snap" }, provisioner: "snap.sim.kcp.io" };
    const waiting = { ...snap, volumeBindingMode: "WaitForFirstConsumer" };
    await there.resource(storageClasses).create(waiting as never);
    await eventually(async () =>
      assert.match(
        (await stage.volumeStatusOf(other)).message ?? "",
        /volumeBindingMode Immediate/,
      ),
    );
    assert.equal((await stage.ready())[`web--${home}`], "2/2");

    const immediate = { volumeBindingMode: "Immediate" };
    await there
      .resource(storageClasses)
      .patch({ name: "snap" }, { type: "merge", patch: immediate as never });
    await stage.until({ web: "2/2", [`web--${other}`]: "2/2" });
    await eventually(async () => assert.deepEqual((await stage.handles())[home], []));
    const { items } = await there.resource(volumes).list({});
    const sources = items.map(({ spec }) => spec?.["csi"] as { volumeAttributes?: object });
    assert.deepEqual(sources.length, 1);
    assert.match(JSON.stringify(sources[0]?.volumeAttributes), new RegExp(`-of-${handle}`));
    // What stood for it is gone; the snapshot itself is kept where it was taken.
    await eventually(async () => {
      for (const cluster of [home, other])
        assert.deepEqual((await physical(stage, cluster).resource(snapshots).list({})).items, []);
      assert.deepEqual((await there.resource(contents).list({})).items, []);
    });
    const kept = (await physical(stage, home).resource(contents).list({})).items;
    assert.deepEqual(
      kept.map(({ spec }) => (spec as { deletionPolicy?: string }).deletionPolicy),
      ["Retain"],
    );
  });

  it("that fail say so on the claim, and the workload starts again where its data is when the move is called off", async (t) => {
    const stage = await started(t);
    await declare(stage);
    const [home, other] = await stage.untilBound();
    const before = await stage.handles();
    const patch = { parameters: { fails: "the array is full" } };
    await physical(stage, home)
      .resource(snapshotClasses)
      .patch({ name: "snap" }, { type: "merge", patch: patch as never });
    await stage.empty(home);
    await eventually(async () => {
      const { state, reason, message } = await stage.volumeStatusOf(other);
      assert.deepEqual([state, reason], ["copying", "SnapshotError"]);
      assert.match(message ?? "", /the array is full/);
    });
    assert.deepEqual(await stage.handles(), before);
    const back = { spec: { drain: null } };
    await stage.client.resource(syncTargets).patch({ name: home }, { type: "merge", patch: back });
    await stage.until({ web: "2/2", [`web--${home}`]: "2/2" });
    assert.deepEqual(await stage.handles(), before);
    await eventually(async () => {
      assert.deepEqual((await stage.client.resource(snapshots).list({})).items, []);
      const { annotations } = (await stage.client.resource(claims).get(data)).metadata;
      assert.equal(annotations?.["workload.kcp.io/volume-copy-request"], undefined);
    });
  });

  it("are taken along by agents in the clusters, too", async (t) => {
    const stage = await started(t, { isPulled: true });
    await declare(stage);
    const [home, other] = await stage.untilBound();
    const [handle = ""] = (await stage.handles())[home] ?? [];
    await stage.empty(home);
    await stage.until({ web: "2/2", [`web--${other}`]: "2/2" });
    await eventually(async () => assert.deepEqual((await stage.handles())[home], []));
    const { items } = await physical(stage, other).resource(volumes).list({});
    assert.match(JSON.stringify(items.map(({ spec }) => spec)), new RegExp(`-of-${handle}"`));
  });
});
