/**
 * Goal: what the control plane does when an agent falls silent, with everything as it is installed:
 * the control plane a process, the agent another one that is stopped by SIGSTOP, and default
 * settings; with a tunnel, behind a proxy that lets none through, and while the control plane is
 * away.
 */
import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { describe, it, type TestContext } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import { renewalOf, syncerLeaseName, syncerLeaseNamespace } from "@kcp-ts/multicluster";
import { endpointSlices, leases } from "@kcp-ts/sdk/kinds";
import { AgentFixture, deployments, eventually, services, syncTargets } from "./agent-fixture.ts";

const resources = ["deployments.apps", "services", "endpointslices.discovery.k8s.io"];

const labels = { app: "web" };

/** Everything that a test is about: `west` has the agent that falls silent. */
class Web {
  readonly stage: AgentFixture;

  constructor(stage: AgentFixture) {
    this.stage = stage;
  }

  static async open(t: TestContext): Promise<Web> {
    const stage = await AgentFixture.open();
    t.after(() => stage.close());
    return new Web(stage);
  }

  async registerEast(): Promise<void> {
    const { kubeconfig } = await this.stage.cluster("east");
    await this.stage.client
      .resource(syncTargets)
      .create({ metadata: { name: "east" }, spec: { kubeconfig, resources } } as never);
    await this.stage.untilSynced("east", resources);
  }

  /** Two replicas in either cluster, and a Service. */
  async start(): Promise<void> {
    const { client } = this.stage;
    const containers = [{ name: "web", image: "nginx", ports: [{ containerPort: 80 }] }];
    await client
      .resource(deployments)
      .create({
        metadata: { name: "web", namespace: "default" },
        spec: {
          replicas: 4,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers } },
        },
      });
    await client
      .resource(services)
      .create({
        metadata: { name: "web", namespace: "default" },
        spec: { selector: labels, ports: [{ port: 80 }] },
      });
    await this.untilPublished({ east: 2, west: 2 });
  }

  async #published(): Promise<Record<string, number>> {
    const labelSelector = "multicluster.kubernetes.io/service-name=web";
    const { items } = await this.stage.client.resource(endpointSlices).list({ labelSelector });
    const counts: Record<string, number> = {};
    for (const { metadata, endpoints } of items) {
      const source = String(metadata.labels?.["multicluster.kubernetes.io/source-cluster"]);
      const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
      counts[source] = (counts[source] ?? 0) + ready.length;
    }
    return counts;
  }

  async untilPublished(wanted: Record<string, number>, withinMs?: number): Promise<void> {
    await eventually(async () => assert.deepEqual(await this.#published(), wanted), withinMs);
  }

  /**
   * In half of the minute that its lease would take: so it is not the lease that tells. How long it
   * took is told to whoever runs the tests.
   */
  async untilWithdrawn(t: TestContext, since: { atMs: number; what: string }): Promise<void> {
    await this.untilPublished({ east: 2, west: 0 }, 30_000);
    const tookMs = Math.round(systemClock.monotonic() - since.atMs);
    t.diagnostic(`withdrawn ${tookMs} ms after ${since.what}`);
    assert.equal(await this.stage.readyOf("west"), "Unknown AgentHeartbeatMissed");
  }
}

/** From now on it says nothing, and its connections stay. */
function stopped(agent: ChildProcess) {
  const atMs = systemClock.monotonic();
  agent.kill("SIGSTOP");
  return { atMs, what: "SIGSTOP" };
}

describe("an agent that is stopped", () => {
  it("has its cluster's endpoints withdrawn within seconds, and gets them back when it goes on", async (t) => {
    const web = await Web.open(t);
    await web.registerEast();
    const agent = await web.stage.join(await web.stage.cluster("west"), resources);
    await web.start();
    await web.untilWithdrawn(t, stopped(agent.process));
    agent.process.kill("SIGCONT");
    await web.untilPublished({ east: 2, west: 2 });
  });

  it("has them withdrawn as soon where a proxy lets no WebSockets through", async (t) => {
    const web = await Web.open(t);
    await web.registerEast();
    const west = await web.stage.cluster("west");
    const agent = await web.stage.joinByProxy(west, resources, { letsWebSockets: false });
    await web.start();
    const { status } = await web.stage.client.resource(syncTargets).get({ name: "west" });
    assert.equal(status?.tunnel, undefined);
    assert.ok(agent.proxy.refused > 0, "nobody has dialled");
    await web.untilWithdrawn(t, stopped(agent.process));
    agent.process.kill("SIGCONT");
    await web.untilPublished({ east: 2, west: 2 });
  });

  it("has them withdrawn as soon by a control plane that was killed and started meanwhile, which hears of the others", async (t) => {
    const web = await Web.open(t);
    const agents = new Map<string, ChildProcess>();
    for (const name of ["east", "west"]) {
      const cluster = await web.stage.cluster(name);
      const joined = await web.stage.joinByProxy(cluster, resources, { letsWebSockets: true });
      agents.set(name, joined.process);
    }
    await web.start();
    await eventually(async () => {
      const { status } = await web.stage.client.resource(syncTargets).get({ name: "west" });
      assert.notEqual(status?.tunnel, undefined);
      // The agent relies on its tunnel.
      const at = { namespace: syncerLeaseNamespace, name: syncerLeaseName("west") };
      const lease = await web.stage.client.resource(leases).get(at);
      assert.equal(renewalOf(lease)?.intervalMs, 20_000);
    });
    stopped(agents.get("west") as ChildProcess);
    await web.stage.restart();
    await web.untilWithdrawn(t, { atMs: systemClock.monotonic(), what: "it was ready" });
    assert.equal(await web.stage.readyOf("east"), "True ClusterReady");
    agents.get("west")?.kill("SIGCONT");
    await web.untilPublished({ east: 2, west: 2 });
  });
});
