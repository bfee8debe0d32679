/**
 * Goal: import, negotiation, splitter and syncer together, against clusters that start Pods: the
 * KubeCon story, without a terminal.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import { syncTargets } from "@kcp-ts/multicluster";
import { type Condition, type KubernetesObject, pause, type ResourceClient } from "@kcp-ts/sdk";
import { eventually } from "@kcp-ts/testkit";
import {
  deployment,
  register,
  deployments as resource,
  startControlPlaneWithClusters,
  startPhysicalCluster,
  untilCondition,
} from "./fixture.ts";

interface Deployment extends KubernetesObject {
  readonly spec: { readonly replicas?: number };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly readyReplicas?: number;
    readonly updatedReplicas?: number;
    readonly conditions?: readonly Condition[];
  };
}

const namespace = "default";
const kubelet = { startDelayMs: { min: 10, max: 300 }, stopDelayMs: 20, runMs: 100 };
/**
 * Longer than a syncer takes to see a kind again that was negotiated anew: no cluster counts as
 * lost for that.
 */
const gracePeriods = { unreachableAfterMs: 5000, recoveryMs: 0 };
const web = { namespace, name: "web" };
const slowly = { timeoutMs: 120_000, intervalMs: 20 };

describe("a Deployment over two clusters", () => {
  it("runs in both, survives the loss of one, and never has fewer than it asks for", async (t) => {
    const plane = await startControlPlaneWithClusters(t, { gracePeriods });
    const east = await startPhysicalCluster(t, { name: "us-east1", kubelet });
    const west = await startPhysicalCluster(t, { name: "us-west1", kubelet });
    const deployments = plane.client.resource(resource) as unknown as ResourceClient<Deployment>;
    const table = async () => {
      const { items } = await deployments.list({ namespace });
      return Object.fromEntries(
        items.map(({ metadata, spec, status }) => [
          metadata.name,
          `${status?.readyReplicas ?? 0}/${spec.replicas}`,
        ]),
      );
    };
    const untilTable = (wanted: Record<string, string>) =>
      eventually(async () => assert.deepEqual(await table(), wanted), slowly);

    await register(plane.client, "us-east1", { kubeconfig: east.kubeconfig });
    await untilCondition(plane.client, "us-east1", { status: "True" });
    const { metadata, spec } = deployment("web");
    const workload = { metadata, spec: { ...spec, replicas: 15 } };
    await eventually(() => deployments.create(workload as never), slowly);
    await untilTable({ web: "15/15", "web--us-east1": "15/15" });

    // From now on a client watches.
    const fewest = { ready: 15 };
    const watching = new AbortController();
    t.after(() => watching.abort());
    const watcher = (async () => {
      while (!watching.signal.aborted) {
        const ready = (await deployments.get(web)).status?.readyReplicas ?? 0;
        fewest.ready = Math.min(fewest.ready, ready);
        await pause(systemClock, 5);
      }
    })();
    await register(plane.client, "us-west1", { kubeconfig: west.kubeconfig });
    await untilTable({ web: "15/15", "web--us-east1": "8/8", "web--us-west1": "7/7" });
    assert.equal(fewest.ready, 15);
    const podsOf = async (cluster: typeof east) =>
      (await cluster.client.resource(resource).list({})).items.map(
        ({ spec: one }) => one?.replicas,
      );
    assert.deepEqual(await podsOf(east), [8]);
    assert.deepEqual(await podsOf(west), [7]);

    watching.abort();
    await watcher;
    await west.faults.cut();
    await untilTable({ web: "15/15", "web--us-east1": "15/15", "web--us-west1": "7/7" });
    await west.faults.heal();
    await untilTable({ web: "15/15", "web--us-east1": "8/8", "web--us-west1": "7/7" });

    const patch = { spec: { template: { metadata: { annotations: { edited: "yes" } } } } };
    const { metadata: edited } = await deployments.patch(web, { type: "merge", patch });
    await eventually(async () => {
      const { status } = await deployments.get(web);
      assert.equal(status?.observedGeneration, edited.generation);
      assert.equal(status?.updatedReplicas, 15);
      assert.equal(status?.readyReplicas, 15);
    }, slowly);

    await plane.client.resource(syncTargets).delete({ name: "us-west1" });
    await untilTable({ web: "15/15", "web--us-east1": "15/15" });
    await eventually(async () => assert.deepEqual(await podsOf(west), []), slowly);
    await deployments.delete(web);
    await untilTable({});
    await eventually(async () => assert.deepEqual(await podsOf(east), []), slowly);
  });
});
