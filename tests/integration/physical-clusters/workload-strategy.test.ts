/**
 * Goal: a custom kind is spread over clusters by a WorkloadStrategy, in the logical cluster that
 * has the strategy and in no other.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type PlacementReviewSpec,
  placementReviews,
  syncTargets,
  workloadStrategies,
} from "@kcp-ts/multicluster";
import {
  type Client,
  defineResource,
  findCondition,
  type KubernetesObject,
  type ResourceClient,
} from "@kcp-ts/sdk";
import { customResourceDefinitions as definitions } from "@kcp-ts/sdk/kinds";
import {
  eventually,
  register,
  startControlPlaneWithClusters,
  startPhysicalCluster,
  untilCondition,
} from "./fixture.ts";

interface Widget extends KubernetesObject {
  readonly spec: { readonly size?: number };
  readonly status?: { readonly healthy?: number };
}

const widgets = defineResource<Widget>({
  group: "example.com",
  version: "v1",
  resource: "widgets",
  kind: "Widget",
  namespaced: true,
});

const integer = { type: "integer" };
const definition = {
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
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: { type: "object", properties: { size: integer } },
              status: { type: "object", properties: { healthy: integer } },
            },
          },
        },
      },
    ],
  },
};

const namespace = "default";
const big = { metadata: { name: "big", namespace }, spec: { size: 5 } };

const sizes = async (resource: ResourceClient<Widget>) => {
  const { items } = await resource.list({ namespace });
  return Object.fromEntries(items.map(({ metadata, spec }) => [metadata.name, spec.size]));
};

const strategy = {
  group: "example.com",
  version: "v1",
  resource: "widgets",
  kind: "Widget",
  strategy: "Divide",
  replicasPath: "spec.size",
  available: "self.status.healthy",
  observed: "has(self.status)",
  status: { healthy: "copies.filter(p, has(p.status.healthy)).map(p, p.status.healthy).sum()" },
} as const;

/** One that counts the kind, and one that does not. */
async function explains(client: Client, other: Client): Promise<void> {
  const ask = async (who: Client, spec: PlacementReviewSpec) =>
    (await who.resource(placementReviews).create({ metadata: {} as { name: string }, spec }))
      .status;
  const explain = { resource: "widget", group: "example.com", namespace, name: "big" };
  const explained = (await ask(client, { explain }))?.explanation?.clusters;
  assert.deepEqual(
    explained?.map(({ name, desired: share, available }) => ({ name, share, available })),
    [
      { name: "east", share: 3, available: 3 },
      { name: "west", share: 2, available: 2 },
    ],
  );
  const planned = (await ask(client, { plan: { drain: "east" } }))?.plan;
  assert.deepEqual(
    planned?.moves.map(({ kind, to }) => ({ kind, to })),
    [{ kind: "Widget", to: { west: 5 } }],
  );
  await assert.rejects(ask(other, { explain }), /cannot explain widget\/big/);
}

describe("a kind with a WorkloadStrategy", () => {
  it("is divided and folded by it, where it counts", async (t) => {
    const gracePeriods = { unreachableAfterMs: 5000, recoveryMs: 0 };
    const plane = await startControlPlaneWithClusters(t, { gracePeriods });
    const other = plane.clientFor("other");
    const clusters = new Map<string, Client>();
    for (const name of ["east", "west"]) {
      const { client, kubeconfig } = await startPhysicalCluster(t, { name });
      clusters.set(name, client);
      await client.resource(definitions).create(definition as never);
      await register(plane.client, name, { kubeconfig, resources: ["widgets.example.com"] });
      await untilCondition(plane.client, name, { status: "True" });
      await eventually(async () => {
        const { status } = await plane.client.resource(syncTargets).get({ name });
        assert.deepEqual(status?.syncedResources, ["widgets.example.com"]);
      });
      if (name === "west")
        await register(other, name, { kubeconfig, resources: ["widgets.example.com"] });
    }
    const [mine, theirs] = [plane.client.resource(widgets), other.resource(widgets)];
    await eventually(() => theirs.create(big));
    await eventually(() => mine.create(big));
    const strategies = plane.client.resource(workloadStrategies);
    const wrong = { ...strategy, available: "self.status." };
    await strategies.create({ metadata: { name: "widgets" }, spec: wrong });
    const accepted = async () => {
      const { status } = await strategies.get({ name: "widgets" });
      return findCondition(status?.conditions, "Accepted");
    };
    await eventually(async () => {
      assert.equal((await accepted())?.status, "False");
      assert.match((await accepted())?.message ?? "", /^available: /);
    });
    assert.deepEqual(await sizes(mine), { big: 5 });

    const patch = { spec: { available: strategy.available } };
    await strategies.patch({ name: "widgets" }, { type: "merge", patch });
    await eventually(async () =>
      assert.deepEqual(await sizes(mine), { big: 5, "big--east": 3, "big--west": 2 }),
    );
    await eventually(async () => assert.equal((await accepted())?.status, "True"));
    for (const [name, client] of clusters) {
      const resource = client.resource(widgets);
      const copy = await eventually(async () => {
        const found = (await resource.list({})).items.find(
          ({ metadata }) => metadata.name === `big--${name}`,
        );
        assert.ok(found !== undefined);
        return found;
      });
      const { namespace: at, name: called } = copy.metadata;
      const status = {
        type: "merge" as const,
        patch: { status: { healthy: copy.spec.size ?? 0 } },
      };
      await resource.patchStatus({ namespace: at, name: called }, status);
    }
    await eventually(async () =>
      assert.equal((await mine.get({ namespace, name: "big" })).status?.healthy, 5),
    );
    await explains(plane.client, other);
    // Without a strategy the object stays unchanged.
    assert.deepEqual(await sizes(theirs), { big: 5 });
    assert.equal((await theirs.get({ namespace, name: "big" })).status?.healthy, undefined);
  });
});
