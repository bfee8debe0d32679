/**
 * Goal: a copy that a hook made counts for the move that it was asked for, and for no other; the
 * data stays where it is until the copy is bound.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { syncTargets } from "@kcp-ts/multicluster";
import { eventually } from "./fixture.ts";
import { claims, data, VolumeFixture, volumes } from "./volume-fixture.ts";

interface Asked {
  readonly id?: string;
  readonly from?: string;
  readonly to?: string;
}

const hooked = { "workload.kcp.io/volume-copier": "copier" };

async function asked(fixture: VolumeFixture): Promise<Asked> {
  const { annotations } = (await fixture.claim()).metadata;
  return JSON.parse(annotations?.["workload.kcp.io/volume-copy-request"] ?? "{}");
}

function untilAsked(fixture: VolumeFixture, to: string): Promise<Asked> {
  return eventually(async () => {
    const found = await asked(fixture);
    assert.equal(found.to, to);
    return found;
  });
}

async function makeCopy(fixture: VolumeFixture, cluster: string, name: string): Promise<void> {
  const spec = {
    capacity: { storage: "1Gi" },
    accessModes: ["ReadWriteOnce"],
    storageClassName: "sim",
    csi: { driver: "copies.example.com", volumeHandle: name },
  };
  await fixture.clusters
    .get(cluster)
    ?.client.resource(volumes)
    .create({ metadata: { name }, spec });
}

async function answer(fixture: VolumeFixture, request: Asked, volume: string): Promise<void> {
  const copied = JSON.stringify({ id: request.id, to: request.to, volume });
  const patch = { metadata: { annotations: { "workload.kcp.io/volume-copy-result": copied } } };
  await fixture.client.resource(claims).patch(data, { type: "merge", patch });
}

async function callOff(fixture: VolumeFixture, cluster: string): Promise<void> {
  const patch = { spec: { drain: null } };
  await fixture.client.resource(syncTargets).patch({ name: cluster }, { type: "merge", patch });
}

describe("copies of volumes", () => {
  it("that were made for a move that was called off are not taken for the next one", async (t) => {
    const stage = await VolumeFixture.start(t);
    await stage.apply(["ReadWriteOnce"], hooked, "sim");
    const [home, other] = await stage.untilBound();
    await stage.empty(home);
    const first = await untilAsked(stage, other);
    await callOff(stage, home);
    await stage.until({ web: "2/2", [`web--${home}`]: "2/2" });
    // The hook is late: since then the workload has written more.
    await makeCopy(stage, other, "old-copy");
    await answer(stage, first, "old-copy");
    await stage.empty(home);
    const second = await untilAsked(stage, other);
    assert.notEqual(second.id, first.id);
    await makeCopy(stage, other, "new-copy");
    await answer(stage, second, "new-copy");
    await stage.until({ web: "2/2", [`web--${other}`]: "2/2" });
    await eventually(async () =>
      assert.deepEqual(await stage.handles(), { [home]: [], [other]: ["new-copy"] }),
    );
  });

  it("that are not in the cluster leave the data where it is, and the workload starts there again when the move is called off", async (t) => {
    const stage = await VolumeFixture.start(t);
    await stage.apply(["ReadWriteOnce"], hooked, "sim");
    const [home, other] = await stage.untilBound();
    const before = await stage.handles();
    await stage.empty(home);
    const request = await untilAsked(stage, other);
    await answer(stage, request, "no-such-volume");
    await eventually(async () =>
      assert.equal((await stage.volumeStatusOf(other)).state, "binding"),
    );
    assert.equal(
      (await stage.claim()).metadata.annotations?.["workload.kcp.io/volume-cluster"],
      home,
    );
    await callOff(stage, home);
    await stage.until({ web: "2/2", [`web--${home}`]: "2/2" });
    await eventually(async () => assert.deepEqual(await stage.handles(), before));
  });
});
