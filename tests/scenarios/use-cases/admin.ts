/**
 * The use cases of infrastructure administrators, numbered as in the document on transparent
 * multi-cluster: written once, for every kind of cluster.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import { syncTargets } from "@kcp-ts/multicluster";
import { findCondition } from "@kcp-ts/sdk";
import type { TestEnvironment } from "../test-environments/index.ts";
import { webDeployment, webService } from "./manifests.ts";
import { eventually, kinds, UseCaseFixture } from "./use-case-fixture.ts";
import { WatchRecorder } from "./watch-recorder.ts";

export function adminUseCases(environment: TestEnvironment): void {
  it("admin 1: decommissions a cluster, and its workloads move without disruption", async (t) => {
    const stage = await UseCaseFixture.start(t, environment);
    await stage.write("web.yaml", webDeployment(4), webService);
    await stage.types("$ kubectl apply -f web.yaml\n...\n");
    await stage.untilCounts({ web: "4/4", east: "2/2", west: "2/2" });
    const record = await WatchRecorder.start(t, {
      client: stage.client,
      resource: kinds.deployments,
      figure: (found) =>
        Number(found.find(({ metadata }) => metadata.name === "web")?.status?.["readyReplicas"]),
    });
    await stage.types(`
$ kubectl patch synctarget east --type merge -p '{"spec":{"drain":{"deleteAfterDrain":true}}}'
synctarget.workload.kcp.io/east patched
$ kubectl wait synctarget/east --for delete --timeout=170s
...
`);
    await stage.untilCounts({ web: "4/4", west: "4/4" });
    assert.ok((await record.stop()) >= 4, record.figures.join());
    await eventually(async () => {
      for (const kind of ["deployments", "pods", "services"] as const)
        assert.deepEqual(await stage.inCluster(kind, "east"), [], kind);
    });
    assert.equal(await stage.client.resource(syncTargets).find({ name: "east" }), undefined);
  });

  it("admin 2: bounds what a cluster takes; what does not fit waits with a reason, and starts when there is more", async (t) => {
    const node = (name: string) => ({ name, capacity: { cpu: "2" } });
    const stage = await UseCaseFixture.start(t, environment, {
      nodes: (cluster) => [node(`${cluster}-1`)],
      resources: ["deployments.apps"],
    });
    await eventually(async () => {
      for (const name of ["east", "west"]) {
        const { status } = await stage.client.resource(syncTargets).get({ name });
        assert.equal(status?.allocatable?.["cpu"], "2");
      }
    });
    await stage.patchTarget("east", { resourceLimits: { pods: 1 } });
    const greedy = { containers: [{ name: "web", image: "nginx:1.27", resources: ask }] };
    await stage.write("web.yaml", webDeployment(5, greedy));
    await stage.types("$ kubectl apply -f web.yaml\n...\n");
    await stage.untilCounts({ web: "3/5", east: "1/1", west: "2/2" });
    await eventually(async () => {
      const { conditions } = (await stage.find("deployments", "web"))?.status ?? {};
      const placed = findCondition(conditions, "Scheduled");
      assert.equal(placed?.reason, "PartiallyScheduled");
      assert.match(
        placed?.message ?? "",
        /^3\/5 replicas scheduled: 0\/2 clusters are available: /,
      );
    });
    await stage.cluster("west").nodes.add(node("west-2"));
    await stage.untilCounts({ web: "5/5", east: "1/1", west: "4/4" });
    await stage.patchTarget("east", { resourceLimits: { pods: 2 } });
    await stage.types(`
$ kubectl scale deployment/web --replicas=6
deployment.apps/web scaled
`);
    await stage.untilCounts({ web: "6/6", east: "2/2", west: "4/4" });
  });
}

const ask = { requests: { cpu: "1" } };
