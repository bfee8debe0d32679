/** Goal: a cluster whose API server answers while its nodes are dead is replaced as a lost one. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type Client, defineResource, type KubernetesObject } from "@kcp-ts/sdk";
import { nodes } from "@kcp-ts/sdk/kinds";
import type { SimulatedCluster } from "@kcp-ts/simulator";
import { registerPullTarget, startAgentWith } from "./agents.ts";
import {
  deployment,
  deployments,
  eventually,
  register,
  startControlPlaneWithClusters,
  startPhysicalCluster,
  untilCondition,
} from "./fixture.ts";

const resources = ["deployments.apps"];
const allNodes = defineResource<KubernetesObject>(nodes);

/** Kubelets stop, and the cluster says so at once: its own grace period is not what is tested. */
async function killNodes({ nodes: { names, takeDown }, client }: SimulatedCluster): Promise<void> {
  for (const name of names) {
    takeDown(name);
    const lastTransitionTime = new Date().toISOString();
    const ready = { type: "Ready", status: "Unknown", reason: "NodeStatusUnknown", message: "" };
    const patch = { status: { conditions: [{ ...ready, lastTransitionTime }] } };
    await client.resource(allNodes).patchStatus({ name }, { type: "merge", patch });
  }
}

async function startedIn(t: TestContext, mode: "Push" | "Pull") {
  const plane = await startControlPlaneWithClusters(t, {
    gracePeriods: { unreachableAfterMs: 1000, recoveryMs: 0 },
  });
  const { client } = plane;
  const [east, west] = await Promise.all(
    ["east", "west"].map((name) => startPhysicalCluster(t, { name })),
  );
  assert.ok(east !== undefined && west !== undefined);
  await register(client, "west", { kubeconfig: west.kubeconfig, resources });
  if (mode === "Push") {
    await register(client, "east", { kubeconfig: east.kubeconfig, resources });
  } else {
    const { target, view } = await registerPullTarget(t, plane, "east", "root", { resources });
    const agent = { upstream: view, downstream: east.client, target, resources };
    t.after(startAgentWith(agent));
  }
  for (const name of ["east", "west"]) await untilCondition(client, name, { status: "True" });
  return { client, east };
}

async function replicasIn(client: Client, cluster: string): Promise<number | undefined> {
  const at = { namespace: "default", name: `web--${cluster}` };
  return (await client.resource(deployments).find(at))?.spec?.replicas;
}

describe("a cluster whose nodes are dead", () => {
  for (const mode of ["Push", "Pull"] as const)
    it(`is not Ready in ${mode} mode, and its replicas are replaced after the toleration`, async (t) => {
      const { client, east } = await startedIn(t, mode);
      await client.resource(deployments).create(deployment("web"));
      await eventually(async () => {
        assert.equal(await replicasIn(client, "east"), 1);
        assert.equal(await replicasIn(client, "west"), 1);
      });
      await killNodes(east);
      const { status } = await untilCondition(client, "east", {
        status: "False",
        reason: "NodesNotReady",
      });
      const ready = status?.conditions?.find(({ type }) => type === "Ready");
      assert.match(ready?.message ?? "", /^the cluster answers, but its only node is not Ready/);
      await eventually(async () => assert.equal(await replicasIn(client, "west"), 2));
    });
});
