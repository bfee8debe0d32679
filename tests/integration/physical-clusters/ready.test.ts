/**
 * Goal: a SyncTarget that is Ready is usable: its APIs are served upstream, its syncer follows
 * them, and the first decision about a workload counts the cluster. Before, its conditions say what
 * is waited for. Method: a watch of the SyncTarget, and a user who acts at the first Ready.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type SyncTarget, syncTargets } from "@kcp-ts/multicluster";
import { type Client, type DynamicObject, defineResource, findCondition } from "@kcp-ts/sdk";
import { events, ingresses as ingressKind, services as serviceKind } from "@kcp-ts/sdk/kinds";
import type { TestControlPlane } from "@kcp-ts/testing/internal";
import { registerPullTarget, startAgentWith } from "./agents.ts";
import {
  deployment,
  deployments,
  eventually,
  register,
  startControlPlaneWithClusters,
  startPhysicalCluster,
} from "./fixture.ts";

const ingresses = defineResource<DynamicObject>(ingressKind);
const services = defineResource<DynamicObject>(serviceKind);
const resources = [
  "deployments.apps",
  "replicasets.apps",
  "pods",
  "services",
  "ingresses.networking.k8s.io",
  "endpointslices.discovery.k8s.io",
];

/** The versions of the SyncTarget until it is Ready. */
async function untilReady(client: Client, name: string): Promise<readonly SyncTarget[]> {
  const seen: SyncTarget[] = [];
  const stop = new AbortController();
  const { metadata } = await client.resource(syncTargets).list({});
  const options = { resourceVersion: metadata.resourceVersion ?? "", signal: stop.signal };
  for await (const event of client.resource(syncTargets).watch(options)) {
    const target = event.object as SyncTarget;
    if (target.metadata.name !== name) continue;
    seen.push(target);
    if (readyOf(target)?.status === "True") break;
  }
  stop.abort();
  return seen;
}

function readyOf({ status }: SyncTarget) {
  return findCondition(status?.conditions, "Ready");
}

async function joinPush(t: TestContext, plane: TestControlPlane): Promise<void> {
  const east = await startPhysicalCluster(t, { name: "east" });
  await register(plane.client, "east", { kubeconfig: east.kubeconfig, resources });
}

async function joinPull(t: TestContext, plane: TestControlPlane): Promise<void> {
  const east = await startPhysicalCluster(t, { name: "east" });
  const { target, view } = await registerPullTarget(t, plane, "east", "root", { resources });
  const stop = startAgentWith({ upstream: view, downstream: east.client, target, resources });
  t.after(stop);
}

describe("a SyncTarget that is Ready", () => {
  for (const [mode, join] of [
    ["Push", joinPush],
    ["Pull", joinPull],
  ] as const)
    it(`serves its APIs, and the first decision counts it, in ${mode} mode`, async (t) => {
      const plane = await startControlPlaneWithClusters(t);
      const { client } = plane;
      const waiting = untilReady(client, "east");
      await join(t, plane);
      const seen = await waiting;
      const metadata = { name: "web", namespace: "default" };
      const ports = [{ port: 80 }];
      await client.resource(services).create({ metadata, spec: { ports } });
      const backend = { service: { name: "web", port: { number: 80 } } };
      await client.resource(ingresses).create({ metadata, spec: { defaultBackend: backend } });
      await client.resource(deployments).create(deployment("web"));
      assert.deepEqual(
        [...(seen.at(-1)?.status?.syncedResources ?? [])].sort(),
        [...resources].sort(),
      );
      const decisions = new Set<string>();
      await eventually(async () => {
        const web = await client.resource(deployments).get(metadata);
        const { conditions } = web["status" as never] as { conditions?: never };
        const scheduled = findCondition(conditions, "Scheduled");
        if (scheduled !== undefined) decisions.add(`${scheduled.reason} ${scheduled.message}`);
        assert.equal(scheduled?.status, "True");
      });
      for (const one of decisions) assert.doesNotMatch(one, /does not serve/);
      const { items } = await client.resource(events).list({});
      const warnings = items.filter(({ type }) => type === "Warning");
      assert.deepEqual(
        warnings.map(({ reason, message }) => `${reason}: ${message}`),
        [],
      );
      const reasons = new Set(seen.map((one) => readyOf(one)?.reason));
      t.diagnostic([...reasons].join());
      assert.ok(reasons.has("WaitingForAPIs"), [...reasons].join());
    });
});
