/**
 * Goal: workloads with volumes move between simulated clusters by what their volumes allow, and a
 * volume that cannot be shared is never attached in two.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import { planChange, readSnapshot, withDrainedTarget } from "@kcp-ts/multicluster";
import { pause } from "@kcp-ts/sdk";
import { events } from "@kcp-ts/sdk/kinds";
import { deployments, eventually } from "./fixture.ts";
import {
  claims,
  data,
  exampleFromGuide,
  namespace,
  type StoredObject,
  VolumeFixture,
  volumes,
  web,
} from "./volume-fixture.ts";

describe("volumes", () => {
  it("that cannot be shared keep their workload in one cluster, and move when that is allowed: stopped, detached, bound, started", async (t) => {
    const stage = await VolumeFixture.start(t);
    await stage.applyClaim(exampleFromGuide("PersistentVolumeClaim"));
    const [home, other] = await stage.untilBound();
    const first = await stage.handles();
    const [handle = ""] = first[home] ?? [];
    assert.match(handle, /^pvc-/);
    assert.deepEqual(first[other], []);

    // A plan says so before anybody asks.
    const plan = async () => {
      const clusterSet = await readSnapshot({ client: stage.client });
      const gracePeriods = { unreachableAfterMs: 60_000, recoveryMs: 0 };
      return planChange(clusterSet, withDrainedTarget(home), {
        gracePeriods,
        nowMs: systemClock.now(),
      });
    };
    const [forbidden] = (await plan()).moves;
    assert.deepEqual(
      forbidden?.rejectedBy.map(({ claim, cluster, reason }) => [claim, cluster, reason]),
      [["data", home, "IncompatibleAccessMode"]],
    );

    // Refused, with what to do, and nothing was stopped for it.
    await stage.empty(home);
    const refused = await eventually(async () => {
      const said = await stage.volumeStatusOf(other);
      assert.equal(said.state, "refused");
      return said;
    });
    assert.equal(refused.reason, "IncompatibleAccessMode");
    assert.match(
      refused.message ?? "",
      /claim data .* annotate it with workload\.kcp\.io\/volume-migration=detach/,
    );
    assert.equal((await stage.ready())[`web--${home}`], "2/2");
    await eventually(async () => {
      const { items } = await stage.client.resource(events).list({ namespace });
      assert.ok(items.some(({ reason }) => reason === "IncompatibleAccessMode"));
    });

    assert.equal(forbidden?.rejectedBy[0]?.message, refused.message);
    await stage.allow();
    await stage.until({ web: "2/2", [`web--${other}`]: "2/2" });
    await eventually(async () =>
      assert.deepEqual(await stage.handles(), { [home]: [], [other]: [handle] }),
    );
    const { annotations } = (await stage.claim()).metadata;
    assert.equal(annotations?.["workload.kcp.io/volume-cluster"], other);
    assert.deepEqual(stage.attachedTwice, []);
  });

  it("that can be shared are bound beside, and the workload never stops", async (t) => {
    const stage = await VolumeFixture.start(t);
    await stage.apply(["ReadWriteMany"]);
    await stage.until({ web: "2/2", "web--east": "1/1", "web--west": "1/1" });
    const handles = await stage.handles();
    assert.equal(handles["east"]?.length, 1);
    assert.deepEqual(handles["east"], handles["west"]);
    let fewest = 2;
    const watching = new AbortController();
    const watcher = (async () => {
      while (!watching.signal.aborted) {
        const found = (await stage.client.resource(deployments).get(web)) as StoredObject;
        fewest = Math.min(fewest, found.status?.readyReplicas ?? 0);
        await pause(systemClock, 5);
      }
    })();
    await stage.empty("east");
    await stage.until({ web: "2/2", "web--west": "2/2" });
    watching.abort();
    await watcher;
    assert.equal(fewest, 2);
    await eventually(async () =>
      assert.deepEqual(await stage.handles(), { east: [], west: handles["west"] }),
    );
  });

  it("that only one cluster can reach stay there, whatever is allowed", async (t) => {
    const stage = await VolumeFixture.start(t);
    await stage.apply(["ReadWriteOnce"], { "workload.kcp.io/volume-migration": "detach" }, "sim");
    const [home, other] = await stage.untilBound();
    await stage.empty(home);
    await eventually(async () =>
      assert.equal((await stage.volumeStatusOf(other)).reason, "VolumeNotMovable"),
    );
    assert.equal((await stage.ready())[`web--${home}`], "2/2");
  });

  it("that only one cluster can reach are copied by a hook, if one is named", async (t) => {
    const stage = await VolumeFixture.start(t);
    await stage.apply(["ReadWriteOnce"], { "workload.kcp.io/volume-copier": "copier" }, "sim");
    const [home, other] = await stage.untilBound();
    await stage.empty(home);
    // The hook: it waits until it is asked, copies, and says where the copy is.
    const id = await eventually(async () => {
      const { annotations } = (await stage.claim()).metadata;
      const asked = JSON.parse(annotations?.["workload.kcp.io/volume-copy-request"] ?? "{}");
      const { hook, from, to } = asked;
      assert.deepEqual({ hook, from, to }, { hook: "copier", from: home, to: other });
      return asked.id;
    });
    assert.deepEqual(await stage.pods(home), []);
    const spec = {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      storageClassName: "sim",
      csi: { driver: "copies.example.com", volumeHandle: "copy-1" },
    };
    const volume = { metadata: { name: "copy-of-data" }, spec };
    await stage.clusters.get(other)?.client.resource(volumes).create(volume);
    const copied = JSON.stringify({ id, to: other, volume: "copy-of-data" });
    const patch = { metadata: { annotations: { "workload.kcp.io/volume-copy-result": copied } } };
    await stage.client.resource(claims).patch(data, { type: "merge", patch });
    await stage.until({ web: "2/2", [`web--${other}`]: "2/2" });
    await eventually(async () => assert.deepEqual((await stage.handles())[other], ["copy-1"]));
  });

  it("are given back when their claim and its workload are deleted", async (t) => {
    const stage = await VolumeFixture.start(t);
    await stage.apply(["ReadWriteOnce"]);
    const [home] = await stage.untilBound();
    await stage.client.resource(deployments).delete(web);
    await stage.client.resource(claims).delete(data);
    await eventually(async () => {
      assert.equal(await stage.client.resource(claims).find(data), undefined);
      assert.deepEqual((await stage.handles())[home], []);
    });
  });
});
