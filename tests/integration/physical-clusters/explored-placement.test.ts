/**
 * The controllers of physical clusters, one group after the other, under crashes after their writes
 * and under every pattern of faults, while the server runs the other groups without faults. The
 * story is the same for all: a Deployment is placed in two simulated clusters, one of them is
 * drained, and all is removed.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import {
  apiAccessLabel,
  type MulticlusterController,
  multiclusterControllers,
  runMulticluster,
  syncTargets,
} from "@kcp-ts/multicluster";
import { type Client, isConditionTrue } from "@kcp-ts/sdk";
import { secrets, services } from "@kcp-ts/sdk/kinds";
import { type SimulatedCluster, startListeningCluster } from "@kcp-ts/simulator";
import { exploreFaults, type FaultyTest, faultPatterns } from "@kcp-ts/testing";
import { deployment, deployments, eventually, fastProbes } from "./fixture.ts";
import { readyBySource } from "./traffic-fixture.ts";

/** A machine may be slow: how long something takes decides no test. */
const timeoutMs = 180_000;
const namespace = "default";
const kubelet = { startDelayMs: { min: 1, max: 5 }, stopDelayMs: 1, runMs: 100 };
const gracePeriods = { unreachableAfterMs: 3_600_000, recoveryMs: 0 };
const endpointGracePeriods = { withdrawMs: 50, returnMs: 0 };
const server = { url: "https://kcp.example:6443", caPem: "the authority" };
/** A run takes seconds of a processor: `EXPLORE` asks for all faults, at so many writes each. */
const explore = process.env["EXPLORE"];
const crashesMax = Number(explore ?? 2);
const few = ["crash", "lose-answer", "skip-events", "expire-watch"] as const;
const patterns = explore === undefined ? few : faultPatterns;
const resources = ["deployments.apps", "services", "endpointslices.discovery.k8s.io", "pods"];

const clusters = new Map<string, SimulatedCluster>();
before(async () => {
  for (const name of ["east", "west"])
    clusters.set(name, await startListeningCluster({ name, nodes: 1, kubelet }));
});
after(async () => {
  for (const cluster of clusters.values()) await cluster.close();
});

async function register(client: Client): Promise<void> {
  for (const [name, { kubeconfig = "" }] of clusters) {
    const kubeconfigSecretRef = { namespace, name };
    await client
      .resource(secrets)
      .create({ metadata: kubeconfigSecretRef, stringData: { kubeconfig } });
    const spec = { kubeconfigSecretRef, resources };
    await client.resource(syncTargets).create({ metadata: { name }, spec });
  }
}

/** A Deployment whose Pods have access to the control plane, and its Service. */
async function deploy(client: Client): Promise<void> {
  const { metadata, spec } = deployment("web");
  const labels = { ...metadata.labels, [apiAccessLabel]: "true" };
  const web = { metadata: { ...metadata, labels }, spec: { ...spec, replicas: 4 } };
  await eventually(() => client.resource(deployments).create(web));
  const ports = [{ name: "http", port: 80 }];
  const service = {
    metadata: { name: "web", namespace },
    spec: { selector: { app: "web" }, ports },
  };
  await eventually(() => client.resource(services).create(service));
}

/** Placed, drained, removed: what users see in between and in the end. */
function story(explored: readonly MulticlusterController[]): FaultyTest {
  return async ({ client, runController, eventuallyStable }) => {
    runController((given, signal) => {
      const { random } = given;
      // Heartbeats are compared with the server's time: the fast clock is far ahead of it.
      const clock = explored.includes("syncer") ? systemClock : given.clock;
      const agents = { server: () => server, image: "kcp" };
      const controllers = new Set(explored);
      const { link, importPollMs } = fastProbes;
      const own = { agents, gracePeriods, endpointGracePeriods, link, importPollMs };
      const options = { client: given, controllers, clock, random, ...own, onError() {} };
      return runMulticluster(options, signal);
    });
    const until = (check: () => Promise<void>) => eventuallyStable(check, { timeoutMs });
    const copies = async () => {
      const labelSelector = "workload.kcp.io/owned-by";
      const { items } = await client.resource(deployments).list({ namespace, labelSelector });
      return items.map(({ metadata, spec }) => `${metadata.name} ${spec?.replicas}`).sort();
    };
    await register(client);
    const targets = async () => (await client.resource(syncTargets).list()).items;
    await until(async () => {
      for (const { metadata, status } of await targets())
        assert.ok(
          isConditionTrue(status?.conditions, "Ready"),
          `${metadata.name} is ${JSON.stringify(status?.conditions)}`,
        );
    });
    await deploy(client);
    const isReady = async () => {
      const found = await client.resource(deployments).get({ namespace, name: "web" });
      const { status } = found as { status?: { readyReplicas?: number } };
      assert.equal(status?.readyReplicas, 4);
    };
    // The server of the test has no address for Pods: only the explored group has one.
    const hasTokens = explored.includes("api-access");
    const tokens = async () => {
      const labelSelector = `${apiAccessLabel}=true`;
      const { items } = await client.resource(secrets).list({ namespace, labelSelector });
      return items.filter(({ data }) => data?.["token"] !== undefined).length;
    };
    await until(async () => {
      assert.deepEqual(await copies(), ["web--east 2", "web--west 2"]);
      await isReady();
      assert.deepEqual(await readyBySource(client), { east: 2, west: 2 });
      assert.equal(await tokens(), hasTokens ? 2 : 0);
    });
    const drain = { spec: { drain: {}, unschedulable: true } };
    await client.resource(syncTargets).patch({ name: "east" }, { type: "merge", patch: drain });
    await until(async () => {
      assert.deepEqual(await copies(), ["web--west 4"]);
      await isReady();
      const { status } = await client.resource(syncTargets).get({ name: "east" });
      assert.ok(isConditionTrue(status?.conditions, "Drained"));
      assert.deepEqual(await readyBySource(client), { west: 4 });
      assert.equal(await tokens(), hasTokens ? 1 : 0);
    });
    await client.resource(deployments).delete({ namespace, name: "web" });
    await client.resource(services).delete({ namespace, name: "web" });
    await until(async () => {
      assert.deepEqual(await copies(), []);
      assert.equal(await tokens(), 0);
    });
    for (const name of clusters.keys()) await client.resource(syncTargets).delete({ name });
    await until(async () => assert.deepEqual(await targets(), []));
  };
}

const groups: Readonly<Record<string, readonly MulticlusterController[]>> = {
  "the placement of workloads": ["scheduler", "deployment-splitter"],
  "registration, drains, imports and syncing": ["cluster-controller", "api-importer", "syncer"],
  traffic: ["traffic"],
  "the access of Pods": ["api-access"],
};

for (const [title, explored] of Object.entries(groups)) {
  describe(title, () => {
    it("reaches the same after crashes and lost writes, and under all faults of watches", async (t) => {
      const others = multiclusterControllers.filter((one) => !explored.includes(one));
      const { writes, runs } = await exploreFaults(story(explored), {
        physicalClusters: {
          ...fastProbes,
          controllers: others,
          gracePeriods,
          endpointGracePeriods,
        },
        patterns,
        crashesMax,
      });
      assert.ok(writes.length >= 3, writes.join("; "));
      assert.ok(runs >= 1 + patterns.length);
      t.diagnostic(`${writes.length} writes, ${runs} runs`);
    });
  });
}
