/**
 * Goal: each kind of workload is spread over simulated clusters by its strategy, and looks like one
 * workload to its author.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { syncTargets } from "@kcp-ts/multicluster";
import { eventually, untilCondition } from "./fixture.ts";
import {
  namespace,
  podSpec,
  startWorkloadFixture,
  template,
  workload,
} from "./workload-fixture.ts";

describe("workloads by kind", () => {
  it("a DaemonSet is in every cluster, those that join and come back included", async (t) => {
    const stage = await startWorkloadFixture(t, "east", "west");
    await stage.make("daemonSets", workload("agent", {}));
    await stage.untilStatus("daemonSets", "agent", (status) => {
      assert.equal(status["numberReady"], 2);
      assert.equal(status["desiredNumberScheduled"], 2);
      assert.equal(status["observedGeneration"], 1);
    });
    assert.deepEqual(await stage.inCluster("daemonSets", "east"), ["agent--east"]);
    await stage.cluster("west").faults.cut();
    await stage.untilStatus("daemonSets", "agent", (status) =>
      assert.equal(status["numberReady"], 1),
    );
    await stage.cluster("west").faults.heal();
    await untilCondition(stage.client, "west", { status: "True" });
    await stage.untilStatus("daemonSets", "agent", (status) =>
      assert.equal(status["numberReady"], 2),
    );
    await stage.at("daemonSets").delete({ namespace, name: "agent" });
    await eventually(async () => assert.deepEqual(await stage.inCluster("daemonSets", "west"), []));
  });

  it("a StatefulSet has each ordinal once, by its own name", async (t) => {
    const stage = await startWorkloadFixture(t, "east", "west");
    const set = workload("db", { replicas: 5, serviceName: "db" });
    await stage.make("statefulSets", set);
    await stage.untilStatus("statefulSets", "db", (status) =>
      assert.equal(status["readyReplicas"], 5),
    );
    assert.deepEqual(await stage.inCluster("pods", "east"), ["db-0", "db-1", "db-2"]);
    assert.deepEqual(await stage.inCluster("pods", "west"), ["db-3", "db-4"]);
  });

  it("a Job is divided, and complete when all of it is", async (t) => {
    const stage = await startWorkloadFixture(t, "east", "west");
    const spec = { restartPolicy: "Never", ...podSpec };
    const job = {
      metadata: { name: "sum", namespace },
      spec: { completions: 5, parallelism: 2, template: { spec } },
    };
    await stage.make("jobs", job);
    await stage.untilStatus("jobs", "sum", (status) => {
      assert.equal(status["succeeded"], 5);
      assert.match(JSON.stringify(status["conditions"]), /"Complete"/);
    });
    const { items } = await stage.at("jobs").list({ namespace });
    const shares = items.map(({ metadata, spec: one }) => [metadata.name, one?.["completions"]]);
    assert.deepEqual(Object.fromEntries(shares), { sum: 5, "sum--east": 3, "sum--west": 2 });
  });

  it("a CronJob is in one cluster", async (t) => {
    const stage = await startWorkloadFixture(t, "east", "west");
    const jobTemplate = { spec: { template: { spec: { restartPolicy: "Never", ...podSpec } } } };
    const metadata = { name: "nightly", namespace };
    await stage.make("cronJobs", { metadata, spec: { schedule: "0 3 * * *", jobTemplate } });
    await eventually(async () =>
      assert.deepEqual(await stage.inCluster("cronJobs", "east"), ["nightly--east"]),
    );
    assert.deepEqual(await stage.inCluster("cronJobs", "west"), []);
  });

  it("a ClusterDaemonSet is a Deployment in every cluster", async (t) => {
    const stage = await startWorkloadFixture(t, "east", "west");
    const spec = { selector: { matchLabels: { app: "edge" } }, template: template("edge") };
    const metadata = { name: "edge", namespace };
    await stage.make("clusterDaemonSets", { metadata, spec: { template: { spec } } });
    await stage.untilStatus("clusterDaemonSets", "edge", (status) => {
      assert.equal(status["readyClusters"], 2);
      assert.equal(status["readyReplicas"], 2);
    });
  });

  it("an autoscaler has a share of its bounds where its Deployment is, and scales the whole", async (t) => {
    const stage = await startWorkloadFixture(t, "east", "west");
    await stage.make("deployments", workload("web", { replicas: 4 }));
    await stage.make("autoscalers", {
      metadata: { name: "web", namespace },
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
        minReplicas: 6,
        maxReplicas: 10,
      },
    });
    await stage.untilStatus("deployments", "web", (status) =>
      assert.equal(status["readyReplicas"], 6),
    );
    const web = await stage.at("deployments").get({ namespace, name: "web" });
    assert.equal(web.spec?.["replicas"], 6);
    await stage.untilStatus("autoscalers", "web", (status) =>
      assert.equal(status["desiredReplicas"], 6),
    );
  });

  it("a bare Pod is in one cluster, and its end is known", async (t) => {
    const stage = await startWorkloadFixture(t, "east", "west");
    const metadata = { name: "once", namespace };
    await stage.make("pods", { metadata, spec: { restartPolicy: "Never", ...podSpec } });
    await stage.untilStatus("pods", "once", (status) => assert.equal(status["phase"], "Succeeded"));
    assert.deepEqual(await stage.inCluster("pods", "east"), ["once--east"]);
    assert.deepEqual(await stage.inCluster("pods", "west"), []);
    await stage.at("pods").delete({ namespace, name: "once" });
    await eventually(async () => assert.deepEqual(await stage.inCluster("pods", "east"), []));
  });

  it("numbers and schedules are in one cluster at a time, through loss, return and eviction", async (t) => {
    const stage = await startWorkloadFixture(t, "east", "west");
    await stage.make("statefulSets", workload("db", { replicas: 4, serviceName: "db" }));
    const jobTemplate = { spec: { template: { spec: { restartPolicy: "Never", ...podSpec } } } };
    const metadata = { name: "nightly", namespace };
    await stage.make("cronJobs", { metadata, spec: { schedule: "0 3 * * *", jobTemplate } });
    const twice: string[] = [];
    const ready = (count: number) =>
      stage.untilStatus("statefulSets", "db", (status) =>
        assert.equal(status["readyReplicas"], count),
      );
    await ready(4);
    await eventually(async () =>
      assert.deepEqual(await stage.inCluster("cronJobs", "east"), ["nightly--east"]),
    );

    // Lost: the schedule is kept elsewhere; of the numbers nobody knows whether they run, so nobody
    // else does.
    await stage.cluster("east").faults.cut();
    await eventually(async () =>
      assert.deepEqual(await stage.inCluster("cronJobs", "west"), ["nightly--west"]),
    );
    await ready(2);
    assert.deepEqual(await stage.inCluster("pods", "west"), ["db-2", "db-3"]);

    // Back: what replaced stays, what was replaced goes.
    await stage.cluster("east").faults.heal();
    await untilCondition(stage.client, "east", { status: "True" });
    await eventually(async () => assert.deepEqual(await stage.inCluster("cronJobs", "east"), []));
    assert.deepEqual(await stage.inCluster("cronJobs", "west"), ["nightly--west"]);
    await ready(4);

    // To be emptied: one by one, and no number is there before it is gone here.
    const patch = { spec: { drain: {} } };
    await stage.client.resource(syncTargets).patch({ name: "west" }, { type: "merge", patch });
    await eventually(async () => {
      const there = await stage.inCluster("pods", "east");
      const here = await stage.inCluster("pods", "west");
      twice.push(...here.filter((one) => there.includes(one)));
      assert.deepEqual([there, here], [["db-0", "db-1", "db-2", "db-3"], []]);
    });
    assert.deepEqual(twice, []);
    await eventually(async () =>
      assert.deepEqual(await stage.inCluster("cronJobs", "east"), ["nightly--east"]),
    );
    await ready(4);
  });
});
