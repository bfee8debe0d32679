/**
 * Goal: Pods of workspaces that use another workspace's clusters are confined to their containers,
 * as far as the owner of the clusters requires, and their owners see why a Pod does not run.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { locations } from "@kcp-ts/multicluster";
import type { Client } from "@kcp-ts/sdk";
import { events, namespaces, pods } from "@kcp-ts/sdk/kinds";
import {
  type Deployment,
  deployment,
  deployments,
  eventually,
  register,
  startControlPlaneWithClusters,
  startPhysicalCluster,
} from "./fixture.ts";
import { bind, exportCompute, untilComputeExported, untilReady } from "./tenants.ts";

const enforce = "pod-security.kubernetes.io/enforce";

const escapes: Readonly<Record<string, object>> = {
  privileged: {
    containers: [{ name: "web", image: "nginx", securityContext: { privileged: true } }],
  },
  "host-pid": { hostPID: true },
  "host-path": { volumes: [{ name: "root", hostPath: { path: "/" } }] },
};

const resources = ["deployments.apps", "pods"];
const kubelet = { startDelayMs: { min: 10, max: 50 }, stopDelayMs: 20, runMs: 100 };

/** A workspace with a cluster, and another one that uses it. */
async function offeredTo(t: TestContext) {
  const plane = await startControlPlaneWithClusters(t, {
    gracePeriods: { unreachableAfterMs: 60_000, recoveryMs: 0 },
  });
  const [home, team] = [plane.clientFor("compute"), plane.clientFor("team")];
  const physical = await startPhysicalCluster(t, { name: "east", kubelet });
  await register(home, "east", { kubeconfig: physical.kubeconfig, resources });
  await exportCompute(home);
  await untilComputeExported(home, ...resources);
  await untilReady(home, "east");
  await bind(team, "compute");
  return { home, homeCluster: "compute", team, teamCluster: "team", east: physical.client };
}

async function levelOf(physical: Client, cluster: string, namespace: string) {
  const { items } = await physical.resource(namespaces).list({ labelSelector: "kcp.io/tenant-id" });
  const found = items.find(({ metadata }) => {
    const text = metadata.annotations?.["kcp.io/namespace-locator"] ?? "{}";
    const locator = JSON.parse(text) as { cluster: string; namespace: string };
    return locator.cluster === cluster && locator.namespace === namespace;
  });
  assert.ok(found !== undefined, "no namespace yet");
  return found.metadata.labels?.[enforce];
}

async function podsOf(physical: Client, app: string): Promise<number> {
  return (await physical.resource(pods).list({ labelSelector: `app=${app}` })).items.length;
}

describe("Pods of a workspace that uses another's cluster", () => {
  it("that would leave their container are refused there, and their workload says why", async (t) => {
    const { team, teamCluster, east } = await offeredTo(t);
    // What the namespace is labelled here says nothing there.
    const labels = {
      [enforce]: "privileged",
      "pod-security.kubernetes.io/enforce-version": "v1.0",
    };
    await team.resource(namespaces).create({ metadata: { name: "shop", labels } });
    await team.resource(deployments).create(inShop("tame"));
    for (const [name, spec] of Object.entries(escapes))
      await team.resource(deployments).create(inShop(name, spec));
    await eventually(async () => assert.equal(await podsOf(east, "tame"), 2));
    for (const name of Object.keys(escapes)) {
      await eventually(async () => {
        const { status } = (await team
          .resource(deployments)
          .get({ namespace: "shop", name })) as Deployment & {
          status?: { conditions?: { type: string; message?: string }[] };
        };
        const failure = status?.conditions?.find(({ type }) => type === "ReplicaFailure");
        assert.match(failure?.message ?? "", /violates PodSecurity "baseline:latest"/, name);
      });
      assert.equal(await podsOf(east, name), 0, name);
    }
    await eventually(async () => {
      const { items } = await team.resource(events).list({ namespace: "shop" });
      const told = items.find(
        ({ message, involvedObject }) =>
          involvedObject?.name === "privileged" && message?.includes("violates PodSecurity"),
      );
      assert.ok(told !== undefined, "no Event yet");
    });
    assert.equal(await levelOf(east, teamCluster, "shop"), "baseline");
  });

  it("may do what the Location of the cluster says, the strictest if there are several, from then on", async (t) => {
    const { team, teamCluster, home, east } = await offeredTo(t);
    await team.resource(namespaces).create({ metadata: { name: "shop" } });
    await team.resource(deployments).create(inShop("tame"));
    await eventually(async () =>
      assert.equal(await levelOf(east, teamCluster, "shop"), "baseline"),
    );
    const resource = { group: "workload.kcp.io", version: "v1alpha1", resource: "synctargets" };
    const say = (name: string, level: "privileged" | "baseline" | "restricted") =>
      home
        .resource(locations)
        .create({ metadata: { name }, spec: { resource, podSecurity: { enforce: level } } });
    await say("trusted", "privileged");
    await eventually(async () =>
      assert.equal(await levelOf(east, teamCluster, "shop"), "privileged"),
    );
    await team.resource(deployments).create(inShop("privileged", escapes["privileged"]));
    await eventually(async () => assert.equal(await podsOf(east, "privileged"), 2));
    await say("strict", "restricted");
    await eventually(async () =>
      assert.equal(await levelOf(east, teamCluster, "shop"), "restricted"),
    );
    const unknown = say("odd", "none" as never);
    await assert.rejects(unknown, /Unsupported value|enum/);
  });

  it("in the workspace that has the cluster are its owner's business", async (t) => {
    const { home, homeCluster, east } = await offeredTo(t);
    await home.resource(deployments).create(deployment("own", escapes["host-pid"]));
    await eventually(async () => assert.equal(await podsOf(east, "own"), 2));
    assert.equal(await levelOf(east, homeCluster, "default"), undefined);
  });
});

function inShop(name: string, podSpec?: object) {
  const { metadata, spec } = deployment(name, podSpec);
  return { metadata: { ...metadata, namespace: "shop" }, spec: spec ?? {} };
}
