/**
 * Goal: what the control plane does when an agent falls silent, with everything as it is installed: the control plane a process, the agent another one that is stopped by SIGSTOP, and
 * default settings.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import { type DynamicObject, defineResource } from "@kcp-ts/sdk";
import { AgentStage, deployments, eventually, services, syncTargets } from "./agent-stage.ts";

const endpointSlices = defineResource<
  DynamicObject & {
    readonly endpoints?: readonly { readonly conditions?: { readonly ready?: boolean } }[] | null;
  }
>({
  group: "discovery.k8s.io",
  version: "v1",
  resource: "endpointslices",
  kind: "EndpointSlice",
  namespaced: true,
});
const resources = ["deployments.apps", "services", "endpointslices.discovery.k8s.io"];

describe("an agent that is stopped", () => {
  let stage: AgentStage;
  before(async () => {
    stage = await AgentStage.open();
  });
  after(() => stage.close());

  const published = async (): Promise<Record<string, number>> => {
    const labelSelector = "multicluster.kubernetes.io/service-name=web";
    const { items } = await stage.client.resource(endpointSlices).list({ labelSelector });
    const counts: Record<string, number> = {};
    for (const { metadata, endpoints } of items) {
      const source = String(metadata.labels?.["multicluster.kubernetes.io/source-cluster"]);
      const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
      counts[source] = (counts[source] ?? 0) + ready.length;
    }
    return counts;
  };

  it("has its cluster's endpoints withdrawn within seconds, and gets them back when it goes on", async (t) => {
    const east = await stage.cluster("east");
    const west = await stage.cluster("west");
    await stage.client.resource(syncTargets).create({
      metadata: { name: "east" },
      spec: { kubeconfig: east.kubeconfig, resources },
    } as never);
    await stage.untilSynced("east", resources);
    const agent = await stage.join(west, resources);
    const labels = { app: "web" };
    const containers = [{ name: "web", image: "nginx", ports: [{ containerPort: 80 }] }];
    await stage.client.resource(deployments).create({
      metadata: { name: "web", namespace: "default" },
      spec: {
        replicas: 4,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers } },
      },
    });
    await stage.client.resource(services).create({
      metadata: { name: "web", namespace: "default" },
      spec: { selector: labels, ports: [{ port: 80 }] },
    });
    await eventually(async () => assert.deepEqual(await published(), { east: 2, west: 2 }));

    const stoppedAtMs = systemClock.monotonic();
    agent.process.kill("SIGSTOP");
    // Half of the minute that its heartbeat would take: it is the tunnel that tells.
    await eventually(async () => assert.deepEqual(await published(), { east: 2, west: 0 }), 30_000);
    const tookMs = Math.round(systemClock.monotonic() - stoppedAtMs);
    t.diagnostic(`withdrawn ${tookMs} ms after SIGSTOP`);
    assert.equal(await stage.readyOf("west"), "Unknown AgentSilent");

    agent.process.kill("SIGCONT");
    await eventually(async () => assert.deepEqual(await published(), { east: 2, west: 2 }));
  });
});
