/** A controller of the logical cluster, or of a physical cluster, opens readiness gates of Pods. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { Client } from "@kcp-ts/sdk";
import { deployments as kindOfDeployments } from "@kcp-ts/sdk/kinds";
import { pods, registerReady, runningPods } from "./debugging/fixture.ts";
import {
  deployment,
  deployments,
  eventually,
  startControlPlaneWithClusters,
  startPhysicalCluster,
} from "./fixture.ts";

const gate = "example.com/registered";

interface Conditions {
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
    }[];
  };
}

const conditionOf = ({ status }: Conditions, type: string) =>
  status?.conditions?.find((one) => one.type === type);

async function setGate(
  client: Client,
  name: { readonly namespace: string; readonly name: string },
  condition: object,
): Promise<void> {
  const patch = { status: { conditions: [{ type: gate, ...condition }] } };
  await client.resource(pods).patchStatus(name, { type: "strategic-merge", patch });
}

it("readiness gates that are opened and closed upstream reach the Pod, and those of its cluster come up", async (t) => {
  const east = await startPhysicalCluster(t, { name: "east" });
  const plane = await startControlPlaneWithClusters(t);
  const { client } = plane;
  await registerReady(client, "east", east.kubeconfig);
  const made = deployment("web", { readinessGates: [{ conditionType: gate }] });
  await client.resource(deployments).create({ ...made, spec: { ...made.spec, replicas: 1 } });
  const [pod] = await runningPods(client, "web", 1);
  const name = { namespace: "default", name: pod?.metadata.name ?? "" };
  const upstream = () => client.resource(pods).get(name);
  const downstream = async () => {
    const { items } = await east.client.resource(pods).list({ labelSelector: "app=web" });
    assert.equal(items.length, 1);
    return items[0] as NonNullable<(typeof items)[0]>;
  };
  const become = (status: "True" | "False") =>
    eventually(async () => {
      const [up, down] = [await upstream(), await downstream()];
      for (const one of [up, down]) {
        assert.equal(conditionOf(one, gate)?.status, status);
        assert.equal(conditionOf(one, "Ready")?.status, status);
      }
    });

  assert.equal(conditionOf(await upstream(), "Ready")?.reason, "ReadinessGatesNotReady");
  await setGate(client, name, { status: "True", reason: "Registered" });
  await become("True");
  assert.equal(conditionOf(await downstream(), gate)?.reason, "Registered");
  await eventually(async () => {
    const { status } = await client.resource(kindOfDeployments).get({ ...name, name: "web" });
    assert.equal((status as { readyReplicas?: number } | undefined)?.readyReplicas, 1);
  });

  for (const patch of [
    { status: { conditions: [{ type: "Ready", status: "False" }] } },
    { status: { phase: "Failed" } },
    {
      metadata: { labels: { app: "other" } },
      status: { conditions: [{ type: gate, status: "False" }] },
    },
  ])
    await assert.rejects(
      client.resource(pods).patchStatus(name, { type: "strategic-merge", patch }),
      /it is a copy of a Pod in east and cannot be changed here/,
    );

  // A gate that is closed later counts, upstream or in the cluster.
  const below = (await downstream()).metadata;
  const place = { namespace: below.namespace ?? "", name: below.name };
  await setGate(east.client, place, { status: "False", lastTransitionTime: later(1) });
  await become("False");
  await setGate(client, name, { status: "True", lastTransitionTime: later(2) });
  await become("True");
});

/** Whole minutes from now on: a condition has no finer time than seconds. */
function later(minutes: number): string {
  return new Date(Date.now() + minutes * 60_000).toISOString().replace(/\.\d+Z$/, "Z");
}
