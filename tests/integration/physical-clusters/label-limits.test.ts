/**
 * Goal: the limits of a cluster hold for every way in which a workload gets there. A workload that
 * its author assigns by a label is bounded and counted like a scheduled one.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  limitGateAnnotation,
  ownedByLabel,
  syncTargets,
  workloadStrategies,
} from "@kcp-ts/multicluster";
import { defineResource, type KubernetesObject } from "@kcp-ts/sdk";
import * as builtIn from "@kcp-ts/sdk/kinds";
import { deployment, deployments, eventually } from "./fixture.ts";
import { PlacementFixture } from "./placement-fixture.ts";
import { kinds, namespace, workload } from "./workload-fixture.ts";

interface Event extends KubernetesObject {
  readonly reason?: string;
  readonly message?: string;
  readonly involvedObject?: { readonly name?: string };
}
const events = defineResource<Event>(builtIn.events);
const { replicaSets, replicationControllers } = builtIn;
const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const widgets = defineResource<KubernetesObject & { readonly spec?: { readonly size?: number } }>({
  group: "example.com",
  version: "v1",
  resource: "widgets",
  kind: "Widget",
  namespaced: true,
});
const widgetDefinition = {
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: "object", properties: { spec: open, status: open } } },
      },
    ],
  },
};
const widgetStrategy = {
  group: "example.com",
  version: "v1",
  resource: "widgets",
  kind: "Widget",
  strategy: "Divide",
  replicasPath: "spec.size",
  podTemplatePath: "spec.pods",
} as const;
const podsMax = 3;
const limitReached = /pod limit reached: \d\/3 \(SyncTarget east\)$/;

async function start(t: import("node:test").TestContext) {
  const stage = await PlacementFixture.start(t, {
    clusters: { east: undefined },
    specs: {
      east: {
        resourceLimits: { pods: podsMax },
        resources: [
          "deployments.apps",
          "replicasets.apps",
          "statefulsets.apps",
          "jobs.batch",
          "pods",
          "replicationcontrollers",
          "widgets.example.com",
        ],
      },
    },
  });
  const east = stage.clusters.get("east");
  assert.ok(east !== undefined);
  const inEast = async () => {
    const { items } = await east.client.resource(deployments).list({});
    return Object.fromEntries(items.map(({ metadata, spec }) => [metadata.name, spec?.replicas]));
  };
  const untilRefused = (name: string) =>
    eventually(async () => {
      const { items } = await stage.client.resource(events).list({ namespace });
      const found = items.find(
        ({ reason, involvedObject }) =>
          reason === "FailedScheduling" && involvedObject?.name === name,
      );
      assert.match(found?.message ?? "", limitReached);
    });
  return { stage, east, inEast, untilRefused };
}

function assigned(name: string, replicas: number, label = "workload.kcp.io/cluster") {
  const { metadata, spec } = deployment(name);
  const labels = { ...metadata.labels, [label]: "east" };
  return { metadata: { ...metadata, labels }, spec: { ...spec, replicas } } as never;
}

describe("a workload that a label assigns to a cluster", () => {
  for (const label of [
    "workload.kcp.io/cluster",
    "workloads.kcp.io/cluster",
    "state.workload.kcp.io/east",
  ]) {
    it(`is not synced when it exceeds the limits, by the label ${label}`, async (t) => {
      const { stage, inEast, untilRefused } = await start(t);
      const resource = stage.client.resource(deployments);
      const value = label.startsWith("state.") ? "Sync" : "east";
      const labelled = (name: string, replicas: number) => {
        const { metadata, spec } = deployment(name);
        const labels = { ...metadata.labels, [label]: value };
        return { metadata: { ...metadata, labels }, spec: { ...spec, replicas } } as never;
      };
      await eventually(() => resource.create(labelled("huge", 50)));
      await untilRefused("huge");
      await resource.create(labelled("small", 2));
      await eventually(async () => assert.deepEqual(await inEast(), { small: 2 }));
      // A scheduled workload gets what is left.
      await stage.apply("web", 5);
      await stage.untilShares("web", { east: 1 });
      await stage.untilScheduled("web", {
        reason: "PartiallyScheduled",
        message: /pod limit reached: 3\/3 \(SyncTarget east\)/,
      });
      await eventually(async () => {
        const { status } = await stage.client.resource(syncTargets).get({ name: "east" });
        assert.equal(status?.reserved?.["pods"], "3");
      });
    });
  }

  it("keeps its replicas when it is scaled beyond the limits, and grows when they are free", async (t) => {
    const { stage, inEast, untilRefused } = await start(t);
    const resource = stage.client.resource(deployments);
    await eventually(() => resource.create(assigned("web", 2)));
    await eventually(async () => assert.deepEqual(await inEast(), { web: 2 }));
    const scale = (replicas: number) =>
      resource.patch({ namespace, name: "web" }, { type: "merge", patch: { spec: { replicas } } });
    await scale(50);
    await untilRefused("web");
    assert.deepEqual(await inEast(), { web: 2 });
    await stage.patchTarget("east", { spec: { resourceLimits: { pods: 60 } } });
    await eventually(async () => assert.deepEqual(await inEast(), { web: 50 }));
    await stage.patchTarget("east", { spec: { resourceLimits: { pods: podsMax } } });
    await scale(1);
    await eventually(async () => assert.deepEqual(await inEast(), { web: 1 }));
    await stage.apply("api", 5);
    await stage.untilShares("api", { east: 2 });
    await resource.delete({ namespace, name: "web" });
    await stage.untilShares("api", { east: 3 });
  });

  it("comes to rest: its gate names a generation, and makes no further one", async (t) => {
    const { stage, inEast } = await start(t);
    const resource = stage.client.resource(deployments);
    await eventually(() => resource.create(assigned("web", 2)));
    await eventually(async () => assert.deepEqual(await inEast(), { web: 2 }));
    const atRest = async (generation: number) => {
      const { metadata } = await eventually(async () => {
        const found = await resource.get({ namespace, name: "web" });
        const gate = found.metadata.annotations?.[limitGateAnnotation("east")] ?? "{}";
        assert.equal(JSON.parse(gate).generation, generation);
        return found;
      });
      assert.equal(metadata.generation, generation);
    };
    await atRest(1);
    // A Deployment's annotations count in its generation, as in Kubernetes.
    const annotations = { team: "shop" };
    const patch = { type: "merge", patch: { metadata: { annotations } } } as const;
    await resource.patch({ namespace, name: "web" }, patch);
    await atRest(2);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    await atRest(2);
  });

  it("is bounded as a bare Pod, a Job and a StatefulSet", async (t) => {
    const { stage, east, untilRefused } = await start(t);
    const labels = { "workload.kcp.io/cluster": "east" };
    const { client } = stage;
    const containers = [{ name: "main", image: "app:1" }];
    const of = (name: string, spec: object) => {
      const made = workload(name, spec) as { metadata: object };
      return { ...made, metadata: { ...made.metadata, labels } } as never;
    };
    await eventually(() =>
      client.resource(kinds.statefulSets).create(of("db", { replicas: podsMax })),
    );
    await eventually(() =>
      east.client
        .resource(kinds.statefulSets)
        .list({})
        .then(({ items }) => assert.equal(items[0]?.spec?.["replicas"], podsMax)),
    );
    const pod = { metadata: { name: "shell", namespace, labels }, spec: { containers } } as never;
    await eventually(() => client.resource(kinds.pods).create(pod));
    await untilRefused("shell");
    const template = { spec: { containers, restartPolicy: "Never" } };
    const job = { metadata: { name: "run", namespace, labels }, spec: { template } } as never;
    await eventually(() => client.resource(kinds.jobs).create(job));
    await untilRefused("run");
    assert.deepEqual((await east.client.resource(kinds.jobs).list({})).items, []);
    const { items } = await east.client.resource(kinds.pods).list({});
    assert.ok(items.every(({ metadata }) => metadata.name.startsWith("db-")));
  });

  it("is not let in by its author", async (t) => {
    const { stage, inEast, untilRefused } = await start(t);
    await eventually(() => stage.client.resource(deployments).list({ namespace }));
    const author = stage.plane.clientFor("root", {
      username: "alice",
      groups: ["system:kcp:admin"],
    });
    const forged = assigned("huge", 50) as { metadata: object };
    const open = JSON.stringify({ generation: 1, reserved: { pods: "50" } });
    const annotations = { [limitGateAnnotation("east")]: open };
    const resource = author.resource(deployments);
    await resource.create({ ...forged, metadata: { ...forged.metadata, annotations } } as never);
    await untilRefused("huge");
    await resource.patch(
      { namespace, name: "huge" },
      { type: "merge", patch: { metadata: { annotations } } as never },
    );
    await stage.client.resource(deployments).create(assigned("small", 1));
    await eventually(async () => assert.deepEqual(await inEast(), { small: 1 }));
    // A status carries annotations, too, and of some kinds labels.
    const status = { metadata: { annotations }, status: {} } as never;
    const throughStatus = resource.patchStatus(
      { namespace, name: "huge" },
      { type: "merge", patch: status },
    );
    await assert.rejects(throughStatus, /limit-gate.* is set by the multi-cluster controllers/);
    const copy = assigned("copy", 50) as { metadata: { labels: object } };
    const labels = { ...copy.metadata.labels, [ownedByLabel]: "web" };
    const creation = resource.create({ ...copy, metadata: { ...copy.metadata, labels } } as never);
    await assert.rejects(creation, /owned-by is set by the multi-cluster controllers/);
    const { metadata, spec } = assigned("set", 50) as { metadata: object; spec: object };
    await eventually(() => stage.client.resource(replicaSets).list({ namespace }));
    const set = author.resource(replicaSets).create({ metadata, spec } as never);
    await assert.rejects(set, /a ReplicaSet is not assigned to clusters/);
    const controller = author
      .resource(replicationControllers)
      .create({ metadata, spec: { ...spec, selector: { app: "set" } } } as never);
    await assert.rejects(controller, /a ReplicationController is not assigned to clusters/);
  });

  it("is bounded with its spec diff, which is a part of what the cluster runs", async (t) => {
    const { stage, inEast, untilRefused } = await start(t);
    await eventually(() => stage.client.resource(deployments).list({ namespace }));
    const diffs = (value: number) => ({
      "experimental.spec-diff.workload.kcp.io/east": JSON.stringify([
        { op: "replace", path: "/replicas", value },
      ]),
    });
    const resource = stage.client.resource(deployments);
    const web = assigned("web", 1) as { metadata: object };
    const annotate = (name: string, annotations: object) =>
      resource.patch(
        { namespace, name },
        { type: "merge", patch: { metadata: { annotations } } as never },
      );
    await resource.create({
      ...web,
      metadata: { ...web.metadata, annotations: diffs(50) },
    } as never);
    await untilRefused("web");
    await annotate("web", diffs(2));
    await eventually(async () => assert.deepEqual(await inEast(), { web: 2 }));
    // The same generation with another diff is decided again, and the cluster keeps what it has.
    await resource.create(assigned("api", 1));
    await eventually(async () => assert.deepEqual(await inEast(), { api: 1, web: 2 }));
    await annotate("api", diffs(40));
    await untilRefused("api");
    assert.deepEqual(await inEast(), { api: 1, web: 2 });
  });
});

/** A cluster that runs Widgets, and a tenant that is no administrator of the control plane. */
async function startWithWidgets(t: import("node:test").TestContext) {
  const { stage, east, untilRefused } = await start(t);
  await east.client.resource(builtIn.customResourceDefinitions).create(widgetDefinition as never);
  const user = { username: "alice", groups: ["system:kcp:admin"] };
  const author = stage.plane.clientFor("root", user);
  const inEast = async () => {
    const { items } = await east.client.resource(widgets).list({});
    return Object.fromEntries(items.map(({ metadata, spec }) => [metadata.name, spec?.size]));
  };
  const pods = { spec: { containers: [{ name: "main", image: "app:1" }] } };
  const widget = (name: string, size: number, labels: object, metadata: object = {}) =>
    ({ metadata: { name, namespace, labels, ...metadata }, spec: { size, pods } }) as never;
  await eventually(() => author.resource(widgets).list({ namespace }));
  await eventually(async () => {
    const { status } = await stage.client.resource(syncTargets).get({ name: "east" });
    assert.ok(status?.syncedResources?.includes("widgets.example.com"));
  });
  return { stage, author: author.resource(widgets), inEast, widget, untilRefused };
}

describe("an object of a custom kind that a label assigns to a cluster", () => {
  for (const [label, value] of [
    ["workload.kcp.io/cluster", "east"],
    ["state.workload.kcp.io/east", "Sync"],
  ] as const) {
    it(`is not synced when it exceeds the limits, by the label ${label}`, async (t) => {
      const { stage, author, inEast, widget, untilRefused } = await startWithWidgets(t);
      const strategies = stage.client.resource(workloadStrategies);
      await strategies.create({ metadata: { name: "widgets" }, spec: widgetStrategy });
      await author.create(widget("huge", 50, { [label]: value }));
      await untilRefused("huge");
      await author.create(widget("small", 2, { [label]: value }));
      await eventually(async () => assert.deepEqual(await inEast(), { small: 2 }));
      // A scheduled workload gets what is left.
      await stage.apply("web", 5);
      await stage.untilShares("web", { east: 1 });
      const scaled = { type: "merge", patch: { spec: { size: 40 } } } as const;
      await author.patch({ namespace, name: "small" }, scaled);
      await untilRefused("small");
      assert.deepEqual(await inEast(), { small: 2 });
    });
  }

  it("is no per-cluster object because its author says so", async (t) => {
    const { stage, author, inEast, widget } = await startWithWidgets(t);
    const strategies = stage.client.resource(workloadStrategies);
    await strategies.create({ metadata: { name: "widgets" }, spec: widgetStrategy });
    const labels = { "workload.kcp.io/cluster": "east", [ownedByLabel]: "anything" };
    const creation = author.create(widget("huge", 50, labels));
    await assert.rejects(creation, /owned-by is set by the multi-cluster controllers/);
    await author.create(widget("plain", 50, {}));
    const owned = { metadata: { labels: { [ownedByLabel]: "anything" } } };
    const patch = author.patch({ namespace, name: "plain" }, { type: "merge", patch: owned });
    await assert.rejects(patch, /owned-by is set by the multi-cluster controllers/);
    // As a scheduled workload, it gets what the limits permit.
    await eventually(async () => assert.deepEqual(await inEast(), { "plain--east": podsMax }));
  });

  it("needs a WorkloadStrategy when it holds a template of Pods", async (t) => {
    const { author, inEast, widget } = await startWithWidgets(t);
    const labels = { "workload.kcp.io/cluster": "east" };
    const creation = author.create(widget("huge", 50, labels));
    await assert.rejects(creation, /no WorkloadStrategy says how many Pods a Widget runs/);
    const config = { metadata: { name: "config", namespace, labels }, spec: { size: 7 } };
    await author.create(config as never);
    await eventually(async () => assert.deepEqual(await inEast(), { config: 7 }));
    const pods = { spec: { containers: [{ name: "main", image: "app:1" }] } };
    const patch = author.patch(
      { namespace, name: "config" },
      { type: "merge", patch: { spec: { deep: [{ er: pods }] } } as never },
    );
    await assert.rejects(patch, /no WorkloadStrategy says how many Pods a Widget runs/);
  });
});

describe("an object that no label assigns to a cluster", () => {
  it("is not synced for a finalizer and a soft finalizer of the cluster", async (t) => {
    const { stage, inEast } = await start(t);
    const user = { username: "alice", groups: ["system:kcp:admin"] };
    const author = stage.plane.clientFor("root", user).resource(deployments);
    const { metadata, spec } = deployment("huge");
    const held = {
      ...metadata,
      labels: { ...metadata.labels, "state.workload.kcp.io/east": "" },
      finalizers: ["workload.kcp.io/syncer-east"],
      annotations: {
        "finalizers.workload.kcp.io/east": "mine",
        [limitGateAnnotation("east")]: JSON.stringify({ generation: 1 }),
      },
    };
    await eventually(() =>
      author.create({ metadata: held, spec: { ...spec, replicas: 50 } } as never),
    );
    await stage.client.resource(deployments).create(assigned("small", 1));
    await eventually(async () => assert.deepEqual(await inEast(), { small: 1 }));
    const synced = await author.get({ namespace, name: "huge" });
    assert.notEqual(synced.metadata.annotations?.[limitGateAnnotation("east")], '{"generation":1}');
  });
});

describe("a per-cluster object", () => {
  it("is scaled, patched and sent to other clusters by the controllers only", async (t) => {
    const { stage, inEast } = await start(t);
    await stage.apply("web", 2);
    await stage.untilShares("web", { east: 2 });
    await eventually(async () => assert.deepEqual(await inEast(), { "web--east": 2 }));
    const author = stage.plane.clientFor("root", {
      username: "alice",
      groups: ["system:kcp:admin"],
    });
    const resource = author.resource(deployments);
    const copy = { namespace, name: "web--east" };
    const metadata = (member: object) => ({ metadata: member });
    for (const [patch, subresource] of [
      [{ spec: { replicas: 50 } }],
      [{ spec: { replicas: 50 } }, "scale"],
      [metadata({ labels: { "workload.kcp.io/cluster": "west" } })],
      [metadata({ labels: { "state.workload.kcp.io/west": "Sync" } })],
      [metadata({ labels: { [ownedByLabel]: "other" } })],
      [metadata({ annotations: { "experimental.spec-diff.workload.kcp.io/east": "[]" } })],
      [
        {
          ...metadata({ annotations: { "experimental.spec-diff.workload.kcp.io/east": "[]" } }),
          status: {},
        },
        "status",
      ],
    ] as const) {
      const change = { type: "merge", patch: patch as never } as const;
      const sent: Promise<unknown> =
        subresource === undefined
          ? resource.patch(copy, change)
          : resource.subresource(subresource).patch(copy, change);
      await assert.rejects(
        sent,
        /by the multi-cluster controllers|multi-cluster controllers write/,
      );
    }
    assert.deepEqual(await inEast(), { "web--east": 2 });
    // What is not about its placement is its user's.
    await resource.patch(copy, {
      type: "merge",
      patch: { metadata: { annotations: { note: "x" } } },
    });
  });
});
