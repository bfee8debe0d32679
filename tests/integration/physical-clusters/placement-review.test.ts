/**
 * Goal: explain and plan say what is true where clusters are used from other workspaces, to
 * everybody as much as is theirs.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { UserInfo } from "@kcp-ts/apiserver";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type PlacementReviewSpec, placementReviews, syncTargets } from "@kcp-ts/multicluster";
import { type Client, defineResource, type KubernetesObject } from "@kcp-ts/sdk";
import { clusterRoleBindings, clusterRoles } from "@kcp-ts/sdk/kinds";
import { deployment, deployments, eventually } from "./fixture.ts";
import { PlacementFixture } from "./placement-fixture.ts";
import { bind, configMaps, sharedNameOf, startSharedCompute, untilReplicas } from "./tenants.ts";

const names = ["east", "west"].map((name) => sharedNameOf("compute", name));
const web = { resource: "deployment", namespace: "default", name: "web" };

async function ask(client: Client, spec: PlacementReviewSpec) {
  const metadata = {} as { name: string };
  const { status } = await client.resource(placementReviews).create({ metadata, spec });
  assert.ok(status);
  return status;
}

function asking(replicas: number) {
  const { spec, ...rest } = deployment("web");
  return { ...rest, spec: { ...spec, replicas } };
}

const rbac = { group: "rbac.authorization.k8s.io", version: "v1" } as const;
const roles = defineResource<KubernetesObject & { readonly rules?: object }>(clusterRoles);
const roleBindings = defineResource<KubernetesObject & { roleRef?: object; subjects?: object }>(
  clusterRoleBindings,
);

/** Lets a user into a workspace, to do as much there. */
async function admit(client: Client, { username }: UserInfo, rules: readonly object[]) {
  const enter = { nonResourceURLs: ["/"], verbs: ["access"] };
  await client.resource(roles).create({ metadata: { name: username }, rules: [enter, ...rules] });
  await client
    .resource(roleBindings)
    .create({
      metadata: { name: username },
      roleRef: { apiGroup: rbac.group, kind: "ClusterRole", name: username },
      subjects: [{ apiGroup: rbac.group, kind: "User", name: username }],
    });
}

async function forbids(asking: Promise<unknown>): Promise<void> {
  await assert.rejects(asking, (error: unknown) => isStatusError(error, "Forbidden"));
}

describe("placement reviews where clusters are used from other workspaces", () => {
  it("show a tenant the clusters that it uses, and show the compute workspace the workloads that would leave them", async (t) => {
    const { plane, compute } = await startSharedCompute(t, { resources: ["deployments.apps"] });
    const [one, two] = [plane.clientFor("one"), plane.clientFor("two")];
    for (const tenant of [one, two]) {
      await bind(tenant, "compute");
      await tenant.resource(deployments).create(asking(4));
      await untilReplicas(tenant, "web", 4);
      await eventually(async () => {
        const { explanation } = await ask(tenant, { explain: web });
        const shares = explanation?.clusters.map(({ name, desired: share, available }) => ({
          name,
          share,
          available,
        }));
        assert.deepEqual(
          shares,
          names.map((name) => ({ name, share: 2, available: 2 })),
        );
        assert.equal(explanation?.unscheduled, 0);
      });
    }
    const { explanation } = await ask(one, { explain: web });
    // How much else is in the clusters is not said.
    for (const { capacity: room, reasons } of explanation?.clusters ?? []) {
      assert.equal(room, undefined);
      assert.deepEqual(reasons, ["Scheduled"]);
    }
    assert.deepEqual((await ask(one, { clusters: {} })).clusters, names);
    const selector = `workload.kcp.io/cluster=${names[1]}`;
    assert.deepEqual((await ask(one, { clusters: { selector } })).clusters, [names[1]]);

    const { plan } = await ask(compute, { plan: { drain: "east" } });
    const move = { kind: "Deployment", namespace: "default", name: "web", unscheduled: 0 };
    const told = { ...move, reasons: [], rejectedBy: [], ofOtherTenant: true };
    const expected = { ...told, from: { east: 2, west: 2 }, to: { west: 4 } };
    assert.deepEqual(plan?.moves, [expected, expected]);
    assert.deepEqual([plan?.replicas, plan?.unchanged, plan?.hiddenMoves], [4, 0, 0]);
    // What may not be told: whose they are.
    assert.doesNotMatch(JSON.stringify(plan), /\b(one|two)\b/);
    // It was a question.
    const { items } = await compute.resource(syncTargets).list();
    assert.ok(items.every(({ spec }) => spec?.drain === undefined));
    // A tenant asks about its own workloads only.
    const own = (await ask(one, { plan: { drain: names[0] as string } })).plan;
    assert.deepEqual(
      own?.moves.map(({ ofOtherTenant: isOfOthers, to }) => ({ isOfOthers, to })),
      [{ isOfOthers: undefined, to: { [names[1] as string]: 4 } }],
    );
    await assert.rejects(ask(one, { plan: { drain: "east" } }), /there is no SyncTarget east/);
  });

  it("answer by what who asks may see", async (t) => {
    const { plane, compute } = await startSharedCompute(t, { resources: ["deployments.apps"] });
    const tenant = plane.clientFor("tenant");
    await bind(tenant, "compute");
    await tenant.resource(deployments).create(asking(2));
    await untilReplicas(tenant, "web", 2);
    const ann: UserInfo = { username: "ann", groups: ["system:authenticated"] };
    const bob: UserInfo = { username: "bob", groups: ["system:authenticated"] };
    const cid: UserInfo = { username: "cid", groups: ["system:authenticated"] };
    const eve: UserInfo = { username: "eve", groups: ["system:authenticated"] };
    const as = (cluster: string, user: UserInfo) => plane.clientFor(cluster, user);
    const read = { apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "list"] };
    await admit(tenant, ann, [read]);
    await admit(tenant, bob, []);
    await admit(compute, bob, []);
    const see = { apiGroups: ["workload.kcp.io"], resources: ["synctargets"], verbs: ["list"] };
    await admit(tenant, cid, [see]);
    const { explanation } = await ask(as("tenant", ann), { explain: web });
    assert.equal(explanation?.replicas, 2);
    assert.deepEqual((await ask(as("tenant", ann), { clusters: {} })).clusters, names);
    const drain = { plan: { drain: names[0] as string } };
    for (const spec of [{ explain: web }, drain, { clusters: {} }]) {
      await forbids(ask(as("tenant", bob), spec));
      // Who may not enter asks nothing.
      await forbids(ask(as("tenant", eve), spec));
    }
    await forbids(ask(as("compute", bob), { plan: { drain: "east" } }));
    // A user who may read clusters, and no workloads, gets the number of the hidden moves.
    const seeing = (await ask(as("tenant", cid), drain)).plan;
    assert.deepEqual([seeing?.moves, seeing?.hiddenMoves], [[], 1]);
    // A user may plan an edit of any workload; moves of hidden workloads are counted.
    const workload = await tenant.resource(deployments).get({ namespace: "default", name: "web" });
    const edited = { ...workload, spec: { ...workload.spec, replicas: 5 } };
    const objects = [{ ...edited, apiVersion: "apps/v1", kind: "Deployment" }];
    const byBob = (await ask(as("tenant", bob), { plan: { objects } })).plan;
    assert.deepEqual([byBob?.moves, byBob?.hiddenMoves], [[], 1]);
    const byAnn = (await ask(as("tenant", ann), { plan: { objects } })).plan;
    assert.deepEqual(byAnn?.moves[0]?.name, "web");
  });
});

describe("placement reviews in a workspace of its own clusters", () => {
  it("explain what follows workloads, and say what cannot be asked", async (t) => {
    const resources = ["deployments.apps", "configmaps"];
    const stage = await PlacementFixture.start(t, {
      clusters: { east: undefined, west: undefined },
      specs: { east: { resources }, west: { resources, unschedulable: true } },
    });
    const { client } = stage;
    const metadata = { name: "app", namespace: "default" };
    await client.resource(configMaps).create({ metadata, data: { a: "1" } });
    await stage.apply("web", 2, { pod: { envFrom: [{ configMapRef: { name: "app" } }] } });
    const explain = { resource: "cm", namespace: "default", name: "app" };
    await eventually(async () => {
      const { dependency: follower } = await ask(client, { explain });
      assert.deepEqual(follower?.clusters, [
        { name: "east", present: true, reasons: ["it follows deployment/web"] },
        { name: "west", present: false, reasons: ["nothing that it follows is there"] },
      ]);
    });
    await assert.rejects(ask(client, { explain: { ...explain, name: "none" } }), /not found/);
    await assert.rejects(ask(client, { explain: { ...web, resource: "lease" } }), /cannot explain/);
    await assert.rejects(
      ask(client, { explain: { ...web, name: "none" } }),
      /is placed by a policy/,
    );
    const isInvalid = (error: unknown) => isStatusError(error, "Invalid");
    await assert.rejects(ask(client, {}), isInvalid);
    const nameless = { kind: "Deployment" } as never;
    for (const plan of [{ objects: [nameless] }, { join: nameless }])
      await assert.rejects(ask(client, { plan }), /a planned object has no metadata.name/);
    const policy = { kind: "Placement", metadata: { name: "p" } };
    const matchExpressions = [{ key: "a", operator: "Exists", values: ["b"] }];
    const invalid = { ...policy, spec: { namespaceSelector: { matchExpressions } } } as never;
    assert.ok((await ask(client, { plan: { objects: [policy as never] } })).plan);
    await assert.rejects(ask(client, { plan: { objects: [invalid] } }), (error: unknown) =>
      isStatusError(error, "BadRequest"),
    );
    const both = { explain: web, clusters: {} };
    await assert.rejects(ask(client, both), isInvalid);
  });
});
