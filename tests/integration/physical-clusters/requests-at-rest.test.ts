/**
 * Goal: at rest, syncers renew Leases, and no other request reaches the control plane; until then a
 * workload takes few writes, and a kind is watched once. Method: all
 * controllers of physical clusters and an agent, over clients that count, with a cluster in Push
 * mode and one in Pull mode without a tunnel, for a minute of a clock that the test moves.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { runAgent, runMulticluster, syncTargets } from "@kcp-ts/multicluster";
import { Client, isConditionTrue, type TransportRequest } from "@kcp-ts/sdk";
import { pods } from "@kcp-ts/sdk/kinds";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { flushEventLoop } from "@kcp-ts/testkit";
import { registerPullTarget } from "./agents.ts";
import { deployment, deployments, register, startPhysicalCluster } from "./fixture.ts";

const resources = ["deployments.apps", "pods"];

/** The same client, whose requests are recorded. */
function recorded(plane: TestControlPlane, client: Client, requests: string[]): Client {
  const { transport, basePath, random } = client;
  const recording = {
    ...transport,
    send: (request: TransportRequest) => {
      requests.push(described(request));
      return transport.send(request);
    },
    close: () => transport.close(),
  };
  return new Client({ transport: recording, basePath, clock: plane.clock, random });
}

function described({ method, path, headers }: TransportRequest): string {
  const [resource = "", query = ""] = path.split("?");
  if (!query.includes("watch=true")) return `${method} ${resource}`;
  const isSelected = query.includes("Selector=");
  const isMetadata = JSON.stringify(headers).includes("as=PartialObjectMetadata");
  return `WATCH ${isSelected ? "selected " : ""}${isMetadata ? "metadata " : ""}${resource}`;
}

async function started(t: TestContext) {
  const plane = await startTestControlPlane({ clock: "fake", controlLoops: false });
  const requests: string[] = [];
  const stop = new AbortController();
  let running = 0;
  const run = (loop: Promise<void>) => {
    running++;
    void loop.finally(() => running--);
  };
  /**
   * Requests to the clusters need time of the machine, too: the clock stands still until several
   * turns of the event loop in a row have sent nothing.
   */
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 250) {
      await plane.clock.advanceAndFlush(250);
      for (let quiet = 0, before = requests.length; quiet < 5; quiet++) {
        await sleep(2);
        await flushEventLoop(8);
        if (requests.length === before) continue;
        before = requests.length;
        quiet = -1;
      }
    }
  };
  t.after(async () => {
    stop.abort();
    while (running > 0) await pass(250);
    await plane.close();
  });
  const { clock } = plane;
  const onError = () => {};
  const client = recorded(plane, plane.clientFor("*"), requests);
  const kubeconfigs = new Map<string, string>();
  const unseal = async (_sealed: string, { name }: { readonly name: string }) =>
    kubeconfigs.get(name);
  run(runMulticluster({ client, clock, resources, unseal, onError }, stop.signal));
  const until = async (check: () => Promise<boolean>) => {
    for (let passes = 0; !(await check()); passes++) {
      assert.ok(passes < 400, "it does not come to rest");
      await pass(250);
    }
  };
  return { plane, requests, kubeconfigs, run, pass, until, stop };
}

/** Pods start at the same time in all clusters: each report at another time is one write more. */
const kubelet = { startDelayMs: { min: 300, max: 300 } };

describe("requests at rest", () => {
  it("syncers renew Leases, and nothing else is requested", async (t) => {
    const { plane, requests, kubeconfigs, run, pass, until, stop } = await started(t);
    const { client, clock } = plane;
    const [east, west] = await Promise.all(
      ["east", "west"].map((name) => startPhysicalCluster(t, { name, clock })),
    );
    assert.ok(east !== undefined && west !== undefined);
    kubeconfigs.set("east", east.kubeconfig);
    await register(client, "east", { kubeconfig: east.kubeconfig });
    const registered = registerPullTarget(t, plane, "west");
    let isRegistered = false;
    void registered.finally(() => {
      isRegistered = true;
    });
    await until(async () => isRegistered);
    const { target, view } = await registered;
    const upstream = recorded(plane, view, requests);
    const onError = () => {};
    const about = { upstream, downstream: west.client, target, resources, clock, onError };
    run(runAgent(about, stop.signal));
    const isReady = async (name: string) => {
      const { status } = await client.resource(syncTargets).get({ name });
      return isConditionTrue(status?.conditions, "Ready") && status?.syncedResources?.length === 2;
    };
    await until(async () => (await isReady("east")) && (await isReady("west")));
    await client.resource(deployments).create(deployment("web"));
    await until(async () => (await client.resource(deployments).list({})).items.length === 3);
    await pass(120_000);
    requests.length = 0;
    await pass(60_000);
    const others = requests.filter((one) => !/^PATCH .*\/leases\/[^/]+$/.test(one));
    assert.deepEqual(others, []);
    t.diagnostic(`${requests.length} renewals in a minute`);
    // Three in each Lease of a minute, from the syncer in the control plane and from the agent.
    assert.ok(requests.length >= 6 && requests.length <= 8, String(requests.length));
  });

  for (const [state, annotations] of [
    ["ready", {}],
    ["never ready", { "sim.kcp.io/ready": "false" }],
  ] as const)
    it(`a Deployment over two clusters that is ${state} takes at most 10 writes from apply to rest`, async (t) => {
      const { plane, requests, kubeconfigs, pass, until } = await started(t);
      const { client, clock } = plane;
      for (const name of ["east", "west"]) {
        const cluster = await startPhysicalCluster(t, { name, clock, kubelet });
        kubeconfigs.set(name, cluster.kubeconfig);
        await register(client, name, {
          kubeconfig: cluster.kubeconfig,
          resources: ["deployments.apps", "replicasets.apps"],
        });
      }
      const isReady = async (name: string) => {
        const { status } = await client.resource(syncTargets).get({ name });
        return isConditionTrue(status?.conditions, "Ready");
      };
      await until(async () => (await isReady("east")) && (await isReady("west")));
      await pass(60_000);
      requests.length = 0;
      const { metadata, spec } = deployment("web");
      assert.ok(spec?.template !== undefined);
      const template = { ...spec.template, metadata: { ...spec.template.metadata, annotations } };
      await client.resource(deployments).create({ metadata, spec: { ...spec, template } });
      await pass(60_000);
      const writes = requests.filter(
        (one) => !/^(GET|WATCH) |\/leases\/|\/synctargets\/[^/]+\/status$/.test(one),
      );
      t.diagnostic(`${writes.length} writes`);
      assert.ok(writes.length <= 10, writes.join("\n"));
    });

  it("Pods come up without being looked for first", async (t) => {
    const { plane, requests, kubeconfigs, pass, until } = await started(t);
    const { client, clock } = plane;
    const east = await startPhysicalCluster(t, { name: "east", clock });
    kubeconfigs.set("east", east.kubeconfig);
    await register(client, "east", { kubeconfig: east.kubeconfig });
    await until(async () => {
      const { status } = await client.resource(syncTargets).get({ name: "east" });
      return status?.syncedResources?.includes("pods") === true;
    });
    await pass(60_000);
    requests.length = 0;
    const { metadata, spec } = deployment("web");
    await client.resource(deployments).create({ metadata, spec: { ...spec, replicas: 5 } });
    await until(async () => (await client.resource(pods).list({})).items.length === 5);
    const ofPods = requests.filter((one) => /\/pods\//.test(one));
    assert.deepEqual(
      ofPods.filter((one) => one.startsWith("GET")),
      [],
    );
    assert.ok(ofPods.length >= 5, ofPods.join("\n"));
  });

  it("controllers share one watch of a kind's metadata", async (t) => {
    const { plane, requests, kubeconfigs, until } = await started(t);
    const { client, clock } = plane;
    const east = await startPhysicalCluster(t, { name: "east", clock });
    kubeconfigs.set("east", east.kubeconfig);
    await register(client, "east", { kubeconfig: east.kubeconfig });
    await until(async () => {
      const { status } = await client.resource(syncTargets).get({ name: "east" });
      return isConditionTrue(status?.conditions, "Ready");
    });
    const watches = requests.filter(
      (one) => one === "WATCH metadata /clusters/*/apis/apps/v1/deployments",
    );
    assert.equal(watches.length, 1, requests.filter((one) => one.startsWith("WATCH")).join("\n"));
  });
});
