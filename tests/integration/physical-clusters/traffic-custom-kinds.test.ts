/**
 * Goal: a Service goes where the Pods of a custom kind are, as its WorkloadStrategy says where
 * their template is. Method: an operator in each cluster is played here.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import { syncTargets, workloadStrategies } from "@kcp-ts/multicluster";
import {
  type Client,
  type DynamicObject,
  defineResource,
  findCondition,
  type KubernetesObject,
  pause,
} from "@kcp-ts/sdk";
import { customResourceDefinitions, podDisruptionBudgets } from "@kcp-ts/sdk/kinds";
import { deployments, eventually, register, untilCondition, untilSynced } from "./fixture.ts";
import {
  configMaps,
  EndpointRecorder,
  exportOf,
  namespace,
  readyBySource,
  service,
  services,
  TrafficFixture,
  total,
} from "./traffic-fixture.ts";

interface Farm extends KubernetesObject {
  readonly spec: { readonly size: number; readonly pods: object };
}

const farms = defineResource<Farm>({
  group: "example.com",
  version: "v1",
  resource: "farms",
  kind: "Farm",
  namespaced: true,
});
const budgets = defineResource<DynamicObject>(podDisruptionBudgets);
const definitions = defineResource<KubernetesObject & { readonly spec: object }>(
  customResourceDefinitions,
);

const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const definition = {
  metadata: { name: "farms.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "farms", singular: "farm", kind: "Farm", listKind: "FarmList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: { type: "object", properties: { spec: anything, status: anything } },
        },
      },
    ],
  },
};

const strategy = {
  group: "example.com",
  version: "v1",
  resource: "farms",
  kind: "Farm",
  strategy: "Divide",
  replicasPath: "spec.size",
  available: "self.status.ready",
  observed: "self.status.seen == self.metadata.generation",
  podTemplatePath: "spec.pods",
} as const;

const both = ["us-east1", "us-west1"] as const;
const labels = { app: "web" };
const farm = (size: number) => ({
  metadata: { name: "web", namespace },
  spec: {
    size,
    pods: {
      metadata: { labels },
      spec: {
        containers: [
          { name: "web", image: "nginx:1.27", envFrom: [{ configMapRef: { name: "settings" } }] },
        ],
      },
    },
  },
});

/**
 * Makes a Deployment of every Farm of its cluster, and says in its status what has become of it.
 */
async function operate(client: Client, signal: AbortSignal): Promise<void> {
  const round = async () => {
    for (const { metadata, spec } of (await client.resource(farms).list()).items) {
      const { name, namespace: at = "", generation = 0, uid = "" } = metadata;
      const ownerReferences = [{ apiVersion: "example.com/v1", kind: "Farm", name, uid }];
      const made = await client
        .resource(deployments)
        .apply(
          {
            metadata: { name, namespace: at, ownerReferences },
            spec: { replicas: spec.size, selector: { matchLabels: labels }, template: spec.pods },
          } as never,
          { fieldManager: "operator", force: true },
        );
      const { readyReplicas: ready = 0 } =
        (made as { status?: { readyReplicas?: number } }).status ?? {};
      const patch = { status: { ready, seen: generation } };
      await client.resource(farms).patchStatus({ name, namespace: at }, { type: "merge", patch });
    }
  };
  while (!signal.aborted) {
    try {
      await round();
      await pause(systemClock, 50, signal);
    } catch (error) {
      // What is deleted meanwhile is no Farm any more.
      if (!signal.aborted && !isStatusError(error, "NotFound")) throw error;
    }
  }
}

async function start(t: TestContext): Promise<TrafficFixture> {
  // This cleanup runs before the clusters are closed: no syncer works in a closed cluster.
  const stop = new AbortController();
  const operators: Promise<void>[] = [];
  t.after(async () => {
    stop.abort();
    await Promise.all(operators);
  });
  const stage = await TrafficFixture.start(t, both);
  const resources = ["farms.example.com", "services", "configmaps", "pods"];
  const all = [...resources, "endpointslices.discovery.k8s.io", "poddisruptionbudgets.policy"];
  for (const name of both) {
    const { client, kubeconfig } = stage.physical(name);
    await client.resource(definitions).create(definition as never);
    await register(stage.plane.client, name, { kubeconfig, resources: all });
    await untilCondition(stage.plane.client, name, { status: "True" });
    await untilSynced(stage.plane.client, name, all);
    operators.push(operate(client, stop.signal));
  }
  return stage;
}

/** By cluster: how many objects of ours have this name. */
async function whereIs(stage: TrafficFixture, kind: typeof services, name: string) {
  const found: Record<string, number> = {};
  for (const cluster of both) {
    const { items } = await stage.physical(cluster).client.resource(kind).list();
    const ours = items.filter(({ metadata }) => metadata.namespace?.startsWith("kcp-"));
    found[cluster] = ours.filter(({ metadata }) => metadata.name === name).length;
  }
  return found;
}

/**
 * And puts it right. That is no reason to take anything away: what runs goes on, and needs what it
 * needed.
 */
async function getsExpressionWrong(stage: TrafficFixture): Promise<void> {
  const { client } = stage.plane;
  const strategies = client.resource(workloadStrategies);
  const edit = async (available: string, accepted: string) => {
    const patch = { spec: { available } };
    await strategies.patch({ name: "farms" }, { type: "merge", patch });
    await eventually(async () => {
      const { status } = await strategies.get({ name: "farms" });
      assert.equal(findCondition(status?.conditions, "Accepted")?.status, accepted);
    });
  };
  await edit("self.status.", "False");
  // What follows is looked at anew: another budget arrives, and nothing has left before.
  const spec = { minAvailable: 1, selector: { matchLabels: labels } };
  await client.resource(budgets).create({ metadata: { name: "late", namespace }, spec } as never);
  await client.resource(services).create(service("late", { selector: labels }));
  const everywhere = { "us-east1": 1, "us-west1": 1 };
  await eventually(async () => {
    assert.deepEqual(await whereIs(stage, budgets, "late"), everywhere);
    assert.deepEqual(await whereIs(stage, services, "late"), everywhere);
  });
  assert.deepEqual(await whereIs(stage, configMaps, "settings"), everywhere);
  await client.resource(services).delete({ namespace, name: "late" });
  await edit(strategy.available, "True");
}

describe("a Service of a custom kind", () => {
  it("is where the kind's Pods are, and goes along without being out of reach", async (t) => {
    const stage = await start(t);
    const { client } = stage.plane;
    const metadata = { name: "settings", namespace };
    await client.resource(configMaps).create({ metadata, data: { a: "1" } } as never);
    await eventually(() => client.resource(services).create(service("web")));
    const budget = { minAvailable: 1, selector: { matchLabels: labels } };
    await eventually(() =>
      client
        .resource(budgets)
        .create({ metadata: { name: "web", namespace }, spec: budget } as never),
    );
    await eventually(() => client.resource(farms).create(farm(4)));
    // It has no WorkloadStrategy yet: the strategy may come last.
    await client
      .resource(workloadStrategies)
      .create({ metadata: { name: "farms" }, spec: strategy });

    const everywhere = { "us-east1": 1, "us-west1": 1 };
    await eventually(async () => {
      assert.deepEqual(await readyBySource(client), { "us-east1": 2, "us-west1": 2 });
      assert.deepEqual(await whereIs(stage, services, "web"), everywhere);
      assert.deepEqual(await whereIs(stage, configMaps, "settings"), everywhere);
      assert.deepEqual(await whereIs(stage, budgets, "web"), everywhere);
    });
    assert.ok((await exportOf(client)) !== undefined);

    await getsExpressionWrong(stage);
    assert.deepEqual(await whereIs(stage, services, "web"), everywhere);

    const record = await EndpointRecorder.start(t, client);
    const leave = { spec: { drain: {} } };
    await client.resource(syncTargets).patch({ name: "us-west1" }, { type: "merge", patch: leave });
    const east = { "us-east1": 1, "us-west1": 0 };
    await eventually(async () => {
      assert.deepEqual(await whereIs(stage, services, "web"), east);
      assert.deepEqual(await whereIs(stage, configMaps, "settings"), east);
      assert.deepEqual(await whereIs(stage, budgets, "web"), east);
      assert.equal((await readyBySource(client))["us-east1"], 4);
    });
    await record.stop();
    const least = Math.min(...record.states.map(total));
    assert.ok(least >= 4, `${least} endpoints of 4: ${JSON.stringify(record.states)}`);
    // It blocks no disruption any more.
    const parts = (await client.resource(farms).list({ namespace })).items;
    assert.deepEqual(parts.map((one) => one.metadata.name).sort(), ["web", "web--us-east1"]);
  });
});
