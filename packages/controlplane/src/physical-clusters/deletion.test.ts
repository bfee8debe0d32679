import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import {
  type DrainHook,
  orphanAnnotation,
  runMulticluster,
  syncTargets,
  Targets,
} from "@kcp-ts/multicluster";
import { SealingKey } from "../compose/sealing-key.ts";
import { startTestControlPlane } from "../testing/index.ts";
import { eventually, register, startPhysical, untilCondition } from "./fixture.ts";

/** Controllers beside a control plane, with somebody who works in the clusters. */
async function started(t: TestContext, drain: DrainHook, drainTimeoutMs?: number) {
  const plane = await startTestControlPlane({ physicalClusters: false });
  const key = new SealingKey(() => plane.client);
  const targets = new Targets();
  targets.onDrain(drain);
  const told: string[] = [];
  targets.subscribe({
    connected: ({ name }) => told.push(`connected ${name}`),
    gone: ({ name }) => told.push(`gone ${name}`),
  });
  const stopping = new AbortController();
  const running = runMulticluster(
    {
      client: plane.client,
      targets,
      drainTimeoutMs,
      link: { probeMs: 200 },
      resources: [],
      openSealed: (sealed, place) => key.unseal(sealed, place),
      onError: () => {},
    },
    stopping.signal,
  );
  t.after(async () => {
    stopping.abort();
    await running;
    await plane.close();
  });
  return { client: plane.client, told };
}

describe("a SyncTarget that is deleted", () => {
  it("goes when whoever works in the cluster is done, who has the connection until then", async (t) => {
    let isDone = false;
    let asked = 0;
    const { client, told } = await started(t, async (_target, { connection }) => {
      asked += 1;
      assert.ok(connection !== undefined);
      return isDone ? "done" : "pending";
    });
    const east = await startPhysical(t, { name: "east" });
    await register(client, "east", { kubeconfig: east.kubeconfig });
    await untilCondition(client, "east", { type: "HeartbeatHealthy", status: "True" });
    await client.resource(syncTargets).delete({ name: "east" });
    await untilCondition(client, "east", { status: "False", reason: "Terminating" });
    assert.ok(asked > 0);
    assert.deepEqual(told, ["connected east"]);
    isDone = true;
    await eventually(async () =>
      assert.equal(await client.resource(syncTargets).find({ name: "east" }), undefined),
    );
    assert.deepEqual(told, ["connected east", "gone east"]);
  });

  it("goes at once when it is told to leave everything behind", async (t) => {
    const { client } = await started(t, async () => "pending");
    await register(client, "east", { mode: "None" });
    await untilCondition(client, "east", { status: "False" });
    await client.resource(syncTargets).delete({ name: "east" });
    await untilCondition(client, "east", { status: "False", reason: "Terminating" });
    const patch = { metadata: { annotations: { [orphanAnnotation]: "true" } } };
    await client.resource(syncTargets).patch({ name: "east" }, { type: "merge", patch });
    await eventually(async () =>
      assert.equal(await client.resource(syncTargets).find({ name: "east" }), undefined),
    );
  });

  it("goes when the cluster cannot be emptied in time", async (t) => {
    const { client } = await started(t, async () => "pending", 1);
    await register(client, "east", { mode: "None" });
    await untilCondition(client, "east", { status: "False" });
    await client.resource(syncTargets).delete({ name: "east" });
    await eventually(async () =>
      assert.equal(await client.resource(syncTargets).find({ name: "east" }), undefined),
    );
  });
});
