import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { FakeClock } from "@kcp-ts/testkit";
import { Client, defineResource, type KubernetesObject } from "../client/index.ts";
import { FakeApiServer } from "../fake-server/index.ts";
import { LeaderElector } from "../leader-election/index.ts";
import { clientMetrics, MetricsRegistry } from "../metrics/index.ts";
import { logicalClusters } from "./clusters.ts";
import { Controller } from "./controller.ts";
import { HealthChecks } from "./health.ts";
import { Manager } from "./manager.ts";
import { serveOperations } from "./operations.ts";

const things = defineResource<KubernetesObject>({
  group: "example.io",
  version: "v1",
  resource: "things",
  kind: "Thing",
  namespaced: true,
});
const thing = { resource: "example.io/v1/things", namespace: "default", name: "a" };

function setUp() {
  const clock = new FakeClock();
  const server = new FakeApiServer({ clock });
  const metrics = new MetricsRegistry();
  const onResponse = clientMetrics(metrics, "fake");
  const client = new Client({ transport: server.transport(), clock, onResponse });
  const clusters = logicalClusters({ client, metrics });
  const lease = { namespace: "system", name: "tests" };
  const elector = new LeaderElector({ client, lease, identity: "me", metrics });
  const reconciled: ClusterName[] = [];
  const hold: { until: Promise<void> | undefined } = { until: undefined };
  const controller = new Controller({
    name: "things",
    clusters,
    clock,
    metrics,
    async reconcile({ cluster }) {
      reconciled.push(cluster);
      await hold.until;
    },
  }).watch(things);
  const reasons: string[] = [];
  const onUnhealthy = (check: string) => reasons.push(check);
  const manager = new Manager({
    clusters: [clusters],
    controllers: [controller],
    elector,
    onUnhealthy,
  });
  const { health, readiness } = manager;
  const ask = (target: string) => serveOperations({ metrics, health, readiness }, target);
  return { clock, server, manager, reconciled, reasons, hold, ask };
}

describe("operational endpoints of a controller", () => {
  it("serve metrics under the names of Kubernetes", async () => {
    const { clock, server, manager, ask } = setUp();
    server.put(thing);
    const stop = new AbortController();
    const running = manager.run(stop.signal);
    await clock.advanceAndFlush(10_000);
    server.put({ ...thing, name: "b" });
    const { revision } = server.store;
    server.breakWatches();
    await clock.advanceAndFlush(10_000);
    const { status, contentType, body } = await ask("/metrics");
    assert.equal(status, 200);
    assert.match(contentType, /^text\/plain; version=0\.0\.4/);
    for (const line of [
      'workqueue_depth{name="things"} 0',
      'workqueue_adds_total{name="things"} 2',
      'workqueue_retries_total{name="things"} 0',
      'workqueue_queue_duration_seconds_count{name="things"} 2',
      'workqueue_work_duration_seconds_count{name="things"} 2',
      'workqueue_unfinished_work_seconds{name="things"} 0',
      'workqueue_longest_running_processor_seconds{name="things"} 0',
      'controller_runtime_reconcile_total{controller="things",result="success"} 2',
      'controller_runtime_reconcile_errors_total{controller="things"} 0',
      'controller_runtime_reconcile_time_seconds_count{controller="things"} 2',
      'controller_runtime_max_concurrent_reconciles{controller="things"} 1',
      'controller_runtime_active_workers{controller="things"} 0',
      'leader_election_master_status{name="tests"} 1',
      'reflector_lists_total{name="things.v1.example.io"} 1',
      'reflector_items_per_list_sum{name="things.v1.example.io"} 1',
      'reflector_watches_total{name="things.v1.example.io"} 1',
      'reflector_items_per_watch_sum{name="things.v1.example.io"} 1',
      `reflector_last_resource_version{name="things.v1.example.io"} ${revision}`,
      'rest_client_requests_total{code="200",method="GET",host="fake"}',
    ]) {
      assert.ok(
        body.includes(`${line}${line.includes("rest_") ? " " : "\n"}`),
        `${line} in ${body}`,
      );
    }
    stop.abort();
    await clock.advanceAndFlush(1000);
    await running;
    assert.ok((await ask("/metrics")).body.includes('master_status{name="tests"} 0\n'));
  });

  it("report ready when the caches have synced, whether the process leads or not", async () => {
    const { clock, server, manager, ask } = setUp();
    server.put(
      { ...thing, resource: "coordination.k8s.io/v1/leases", namespace: "system", name: "tests" },
      { spec: { holderIdentity: "other", leaseDurationSeconds: 3600 } },
    );
    server.hang(1);
    const stop = new AbortController();
    const running = manager.run(stop.signal);
    await clock.advanceAndFlush(0);
    assert.equal((await ask("/readyz")).status, 500);
    assert.equal((await ask("/readyz?exclude=informers")).status, 200);
    assert.equal((await ask("/healthz")).status, 200);
    await clock.advanceAndFlush(300_000);
    assert.deepEqual(await ask("/readyz"), {
      status: 200,
      contentType: "text/plain; charset=utf-8",
      body: "ok",
    });
    stop.abort();
    await clock.advanceAndFlush(1000);
    await running;
  });

  it("report unhealthy while the process works without its Lease", async () => {
    const { clock, server, manager, reconciled, reasons, hold, ask } = setUp();
    let release = () => {};
    hold.until = new Promise((resolve) => {
      release = resolve;
    });
    server.put(thing);
    const stop = new AbortController();
    const running = assert.rejects(manager.run(stop.signal), { name: "LeadershipLostError" });
    await clock.advanceAndFlush(100);
    assert.deepEqual(reconciled, ["root"]);
    assert.equal((await ask("/healthz/leaderElection")).status, 200);
    const lease = { resource: "coordination.k8s.io/v1/leases", namespace: "system", name: "tests" };
    server.put(lease, { spec: { holderIdentity: "other", leaseDurationSeconds: 15 } });
    await clock.advanceAndFlush(2500);
    const { status, body } = await ask("/livez?verbose");
    assert.equal(status, 500);
    assert.equal(
      body,
      "[+]ping ok\n[-]leaderElection failed: reason withheld\nhealthz check failed\n",
    );
    assert.equal((await ask("/healthz/leaderElection")).status, 500);
    assert.deepEqual(reasons, ["leaderElection", "leaderElection"]);
    release();
    await clock.advanceAndFlush(60_000);
    await running;
    assert.equal((await ask("/healthz")).status, 200);
  });

  it("respond with 404 to other paths, and without configured checks", async () => {
    const health = new HealthChecks();
    for (const target of ["/", "/metrics", "/readyz", "/healthz/none", "/metrics/x", "//x"]) {
      assert.equal((await serveOperations({ health }, target)).status, 404, target);
    }
  });
});
