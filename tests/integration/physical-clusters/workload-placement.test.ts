/**
 * Goal: the WorkloadPlacement of a workload says what is in its clusters and why, is written before
 * per-cluster objects, and is the only record of the placement.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { AdmissionPlugin } from "@kcp-ts/apiserver";
import {
  agentViewPath,
  deploymentCoordinator,
  firstReportMsMax,
  multiclusterControllers,
  syncTargets,
  type WorkloadPlacement,
  workloadPlacements,
} from "@kcp-ts/multicluster";
import { Client, type Condition, events, findCondition, type TransportRequest } from "@kcp-ts/sdk";
import { resourceQuotas } from "@kcp-ts/sdk/kinds";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { registerPullTarget, statusOf } from "./agents.ts";
import {
  deployment,
  deployments,
  eventually,
  fastProbes,
  register,
  startControlPlaneWithClusters,
  startPhysicalCluster,
  untilCondition,
  untilSynced,
} from "./fixture.ts";

interface Reference {
  readonly kind?: string;
}

const namespace = "default";
const at = { namespace, name: "deployment-web" };

async function apply(client: Client, replicas: number, annotations = {}): Promise<void> {
  const { metadata, spec } = deployment("web");
  const workload = { metadata: { ...metadata, annotations }, spec: { ...spec, replicas } };
  await eventually(() => client.resource(deployments).create(workload as never));
}

async function join(
  t: TestContext,
  plane: TestControlPlane,
  options: { readonly nodes?: number; readonly kubelet?: object },
  ...names: readonly string[]
) {
  for (const name of names) {
    const { kubeconfig } = await startPhysicalCluster(t, { name, ...options });
    await register(plane.client, name, { kubeconfig, resources: ["deployments.apps"] });
  }
  for (const name of names) {
    await untilCondition(plane.client, name, { status: "True" });
    await untilSynced(plane.client, name, ["deployments.apps"]);
  }
}

async function placementOf(client: Client): Promise<WorkloadPlacement> {
  return await client.resource(workloadPlacements).get(at);
}

async function untilPlacement(
  client: Client,
  check: (placement: WorkloadPlacement) => void,
): Promise<WorkloadPlacement> {
  return await eventually(async () => {
    const placement = await placementOf(client);
    check(placement);
    return placement;
  });
}

const clusterIn = ({ status }: WorkloadPlacement, cluster: string) =>
  status?.clusters?.find(({ name }) => name === cluster);

/** The replicas of the per-cluster objects. */
async function sharesIn(client: Client): Promise<Record<string, number | undefined>> {
  const labelSelector = "workload.kcp.io/owned-by";
  const { items } = await client.resource(deployments).list({ namespace, labelSelector });
  return Object.fromEntries(
    items.map(({ metadata, spec }) => [metadata.name, spec?.replicas as number | undefined]),
  );
}

describe("WorkloadPlacement", () => {
  it("a WorkloadPlacement shows where a Deployment is, and per-cluster objects have no records of it", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const { client } = plane;
    await join(t, plane, {}, "east", "west");
    await apply(client, 5);
    const placement = await untilPlacement(client, ({ status }) => {
      assert.deepEqual(status?.replicas, { desired: 5, scheduled: 5, ready: 5 });
      for (const type of ["Scheduled", "Applied", "Available"])
        assert.equal(findCondition(status?.conditions, type)?.status, "True", type);
      assert.equal(findCondition(status?.conditions, "Moving")?.status, "False");
      for (const { phase } of status?.clusters ?? []) assert.equal(phase, "Stable");
    });
    const { metadata, spec, status } = placement;
    assert.deepEqual(spec.workloadRef, { apiVersion: "apps/v1", kind: "Deployment", name: "web" });
    const web = await client.resource(deployments).get({ namespace, name: "web" });
    assert.equal(metadata.ownerReferences?.[0]?.uid, web.metadata.uid);
    assert.equal(status?.assignment, "east=3,west=2");
    // So that `kubectl wait` does not take the conditions for older than the object.
    assert.ok((status.observedGeneration ?? 0) >= (metadata.generation ?? 0));
    const { state, desired, applied, ready, phase, reserved, reason } =
      clusterIn(placement, "east") ?? {};
    assert.deepEqual(
      { state, desired, applied, ready, phase, reason },
      { state: "Ready", desired: 3, applied: 3, ready: 3, phase: "Stable", reason: "Scheduled" },
    );
    assert.equal(reserved?.["pods"], "3");
    assert.equal(status.history?.length, 1);
    // The selector that docs/multicluster.md names leaves per-cluster objects out.
    const labelSelector = "!workload.kcp.io/owned-by";
    const { items } = await client.resource(deployments).list({ namespace, labelSelector });
    assert.deepEqual(
      items.map((one) => one.metadata.name),
      ["web"],
    );
    const copy = await client.resource(deployments).get({ namespace, name: "web--east" });
    const own = [web, copy].flatMap((one) => Object.keys(one.metadata.annotations ?? {}));
    assert.deepEqual(
      own.filter((key) => key.startsWith("workload.kcp.io/")),
      [],
    );
    // The record goes with the workload.
    await client.resource(deployments).delete({ namespace, name: "web" });
    await eventually(async () =>
      assert.equal(await client.resource(workloadPlacements).find(at), undefined),
    );
  });

  it("a process that ends after the write of the WorkloadPlacement leaves a decision that the next process finishes", async (t) => {
    const controllers = multiclusterControllers.filter((part) => part !== "deployment-splitter");
    const plane = await startControlPlaneWithClusters(t, { controllers });
    const { client } = plane;
    await join(t, plane, {}, "east", "west");
    await apply(client, 5);
    const { transport, basePath, clock, random } = plane.clientFor("*");
    // The first process ends with its first write of a per-cluster object.
    const first = new AbortController();
    const ending = {
      send(request: TransportRequest) {
        const isCopy = request.method === "POST" && request.path.includes("/deployments");
        if (!isCopy) return transport.send(request);
        first.abort();
        return Promise.reject(new Error("the process has ended"));
      },
      close: () => transport.close(),
    };
    const run = (sending: typeof transport, signal: AbortSignal) =>
      deploymentCoordinator({
        client: new Client({ transport: sending, basePath, clock, random }),
        onError: () => {},
      }).run(signal);
    await run(ending as typeof transport, first.signal);
    assert.deepEqual(await sharesIn(client), {});
    const interrupted = await placementOf(client);
    assert.equal(clusterIn(interrupted, "east")?.applied, 3);
    assert.equal(clusterIn(interrupted, "east")?.reserved?.["pods"], "3");
    assert.equal(findCondition(interrupted.status?.conditions, "Applied")?.status, "Unknown");
    const second = new AbortController();
    const running = run(transport, second.signal);
    t.after(async () => {
      second.abort();
      await running;
    });
    await eventually(async () =>
      assert.deepEqual(await sharesIn(client), { "web--east": 3, "web--west": 2 }),
    );
    const { status } = await untilPlacement(client, (one) =>
      assert.equal(one.status?.replicas?.ready, 5),
    );
    assert.equal(status?.history?.length, 1);
  });

  it("a per-cluster object that quota refuses is a condition with the server's message, holds no capacity and raises no Event of a scale", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const { client } = plane;
    await join(t, plane, {}, "east", "west");
    const hard = { "count/deployments.apps": "2" };
    await client
      .resource(resourceQuotas)
      .create({ metadata: { namespace, name: "two" }, spec: { hard } });
    await eventually(async () => {
      const quota = await client.resource(resourceQuotas).get({ namespace, name: "two" });
      assert.deepEqual(quota.status?.hard, hard);
    });
    await apply(client, 4);
    const refused = await untilPlacement(client, ({ status }) => {
      const applied = findCondition(status?.conditions, "Applied");
      assert.equal(applied?.status, "False");
      assert.equal(applied.reason, "Forbidden");
      assert.match(applied.message ?? "", /exceeded quota: two/);
    });
    const [one] = (refused.status?.clusters ?? []).filter(({ refusal }) => refusal !== undefined);
    assert.ok(one !== undefined);
    assert.deepEqual([one.phase, one.reserved, one.desired], ["Refused", undefined, 2]);
    await eventually(async () => {
      const web = await client.resource(deployments).get({ namespace, name: "web" });
      const { conditions } = (web as never as { status: { conditions: Condition[] } }).status;
      const scheduled = findCondition(conditions, "Scheduled");
      assert.deepEqual([scheduled?.status, scheduled?.reason], ["False", "Forbidden"]);
      assert.match(scheduled?.message ?? "", new RegExp(`${one.name}: .*exceeded quota: two`));
    });
    await eventually(async () => {
      const { status } = await client.resource(syncTargets).get({ name: one.name });
      assert.equal(status?.reserved?.["pods"], undefined);
    });
    const { items } = await client.resource(events).list({ namespace });
    const about = (reason: string) =>
      items.filter((event) => event.reason === reason && event.message?.includes(one.name));
    assert.deepEqual(about("ScaledCluster"), []);
    assert.equal(about("FailedApply").length, 1);
    // The write is repeated, and everything is as it should be.
    await client.resource(resourceQuotas).delete({ namespace, name: "two" });
    await untilPlacement(client, ({ status }) => {
      assert.equal(findCondition(status?.conditions, "Applied")?.status, "True");
      assert.deepEqual(status?.replicas, { desired: 4, scheduled: 4, ready: 4 });
    });
  });

  it("annotations of a tenant reserve nothing, and an agent's token writes no WorkloadPlacement", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const { client } = plane;
    await join(t, plane, {}, "east");
    const inFlight = JSON.stringify({ east: { replicas: 400, reserved: "pods=400" } });
    await apply(client, 2, {
      "workload.kcp.io/in-flight": inFlight,
      "workload.kcp.io/reserved": "pods=400",
    });
    await untilPlacement(client, ({ status }) => assert.equal(status?.replicas?.ready, 2));
    await eventually(async () => {
      const { status } = await client.resource(syncTargets).get({ name: "east" });
      assert.equal(status?.reserved?.["pods"], "2");
    });
    const agent = await registerPullTarget(t, plane, "mine");
    const forged = { status: { clusters: [{ name: "mine", reserved: { pods: "1" } }] } };
    const base = "/clusters/root/apis/scheduling.kcp.io/v1alpha1/namespaces/default";
    for (const prefix of ["", agentViewPath(agent.target)]) {
      const path = `${prefix}${base}/workloadplacements/deployment-web`;
      const status = await statusOf(
        agent.client.json({
          method: "PATCH",
          path,
          body: forged,
          contentType: "application/merge-patch+json",
        }),
      );
      assert.ok(status === 403 || status === 404, `${path}: ${status}`);
    }
    assert.equal(clusterIn(await placementOf(client), "mine"), undefined);
  });
});

describe("writes of a placement", () => {
  for (const { what, nodes, ready } of [
    { what: "whose Pods are never ready", nodes: 0, ready: 0 },
    { what: "whose Pods are ready", nodes: 1, ready: 4 },
  ])
    it(`of a Deployment over two clusters ${what} are at most 10 from apply to rest`, async (t) => {
      const writes: string[] = [];
      const counting: AdmissionPlugin = {
        name: "Counting",
        validate({ operation, resource, subresource, namespace: at, name }, object) {
          // Pods are as many as the replicas, and so are the Events about them.
          const { involvedObject, reason } = object as {
            involvedObject?: Reference;
            reason?: string;
          };
          const isOfPod = involvedObject?.kind === "Pod" || reason === "SuccessfulCreate";
          if (at === namespace && resource !== "pods" && !isOfPod)
            writes.push(`${operation} ${resource}${subresource && `/${subresource}`} ${name}`);
        },
      };
      const plane = await startTestControlPlane({
        physicalClusters: { ...fastProbes, gracePeriods: { recoveryMs: 0 } },
        admissionPlugins: [counting],
      });
      t.after(() => plane.close());
      const { client } = plane;
      const kubelet = { startDelayMs: { min: 0, max: 0 }, stopDelayMs: 0, runMs: 0 };
      await join(t, plane, nodes === 0 ? { nodes, kubelet } : { kubelet }, "east", "west");
      writes.length = 0;
      await apply(client, 4);
      await untilPlacement(client, ({ status }) => {
        assert.equal(findCondition(status?.conditions, "Applied")?.status, "True");
        assert.deepEqual(status?.replicas, { desired: 4, scheduled: 4, ready });
      });
      // A report that comes later than the first one is due within this time.
      await new Promise((resolve) => setTimeout(resolve, firstReportMsMax + 1000));
      const { status } = (await client
        .resource(deployments)
        .get({ namespace, name: "web" })) as never as { status: { readyReplicas?: number } };
      assert.equal(status.readyReplicas ?? 0, ready);
      assert.ok(writes.length <= 10, `${writes.length} writes: ${writes.join(", ")}`);
    });

  it("ends with the per-cluster objects of a workload that was deleted without them", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const { client } = plane;
    await join(t, plane, {}, "east");
    await apply(client, 2);
    await untilPlacement(client, ({ status }) => assert.equal(status?.clusters?.length, 1));
    const copy = { namespace, name: "web--east" };
    await eventually(() => client.resource(deployments).get(copy));
    const web = { namespace, name: "web" };
    await client.resource(deployments).delete(web, { propagationPolicy: "Orphan" });
    await eventually(async () => {
      assert.equal(await client.resource(deployments).find(web), undefined);
    });
    // What runs on is reserved, until it is deleted.
    assert.deepEqual((await placementOf(client)).metadata.ownerReferences ?? [], []);
    await client.resource(deployments).delete(copy);
    await eventually(async () => {
      assert.equal(await client.resource(workloadPlacements).find(at), undefined);
      const { status } = await client.resource(syncTargets).get({ name: "east" });
      assert.equal(status?.reserved?.["pods"] ?? "0", "0");
    });
  });
});
