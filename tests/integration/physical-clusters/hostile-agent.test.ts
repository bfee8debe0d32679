/**
 * Goal: a client with an agent's token decides nothing outside of its cluster: its objects run in
 * no other cluster, and gain it no permissions.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import {
  agentViewPath,
  apiAccessLabel,
  apiResourceImports,
  clusterLabel,
  importOwner,
  ownedByLabel,
  stateLabel,
  syncerFinalizer,
  syncerLeaseName,
  syncerLeaseNamespace,
  syncPolicies,
} from "@kcp-ts/multicluster";
import { configMaps, events as eventsKind, leases, pods, secrets } from "@kcp-ts/sdk/kinds";
import type { TestControlPlane } from "@kcp-ts/testing/internal";
import { type Agent, registerPullTarget, statusOf } from "./agents.ts";
import {
  deployment,
  deployments,
  eventually,
  register,
  startControlPlaneWithClusters,
  startPhysicalCluster,
  untilImport,
} from "./fixture.ts";

function leaseOf(target: string) {
  return { namespace: syncerLeaseNamespace, name: syncerLeaseName(target) };
}

interface ImportChange {
  readonly metadata?: object;
  readonly spec?: object;
}

const apps = "/clusters/root/apis/apps/v1/namespaces/default/deployments";
const inCore = "/clusters/root/api/v1/namespaces/default";
const upsync = { [stateLabel("mine")]: "Upsync" };

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

interface Stage {
  readonly plane: TestControlPlane;
  readonly agent: Agent;
  /** The status of a response to a client with the agent's token, in its virtual workspace. */
  readonly ask: (
    method: Method,
    path: string,
    body?: object,
    contentType?: string,
  ) => Promise<number>;
}

/** A cluster that is run as it should be, and an agent's token in wrong hands. */
async function stage(t: TestContext): Promise<Stage> {
  const plane = await startControlPlaneWithClusters(t);
  const east = await startPhysicalCluster(t, { name: "east" });
  await register(plane.client, "east", {
    kubeconfig: east.kubeconfig,
    resources: ["deployments.apps", "pods", "secrets", "configmaps", "serviceaccounts"],
  });
  const available = { compatible: "True", available: "True" };
  await untilImport(plane.client, "deployments.east.v1.apps", available);
  await untilImport(plane.client, "pods.east.v1.core", available);
  const agent = await registerPullTarget(t, plane, "mine");
  // Something of the namespace is its own: without that, it would have nothing to say there at all.
  const labels = { [clusterLabel]: "mine" };
  await plane.client
    .resource(configMaps)
    .create({ metadata: { namespace: "default", name: "given", labels }, data: {} });
  const own = agentViewPath(agent.target);
  const ask: Stage["ask"] = (method, path, body, contentType) =>
    statusOf(
      agent.client.json({
        method,
        path: `${own}${path}`,
        ...(body === undefined ? {} : { body: body as never }),
        ...(method === "PATCH" || contentType !== undefined
          ? { contentType: contentType ?? "application/merge-patch+json" }
          : {}),
      }),
    );
  return { plane, agent, ask };
}

function labelled(name: string, labels: Record<string, string>, podSpec: object = {}) {
  const { metadata, ...rest } = deployment(name, podSpec);
  const all = { ...metadata, labels: { ...metadata.labels, ...labels } };
  return { apiVersion: "apps/v1", kind: "Deployment", ...rest, metadata: all };
}

function pod(name: string, metadata: object = {}, spec: object = {}) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", labels: upsync, ...metadata },
    spec: { containers: [{ name: "c", image: "nginx" }], ...spec },
  };
}

const applyType = "application/apply-patch+yaml";
const asSyncer = "?fieldManager=kcp-syncer";

/** The operator of the SyncTarget has Deployments come up: an agent may create them then. */
async function letDeploymentsComeUp({ plane }: Stage): Promise<void> {
  await plane.client
    .resource(syncPolicies)
    .create({
      metadata: { name: "both" },
      spec: {
        syncTargets: ["mine"],
        resources: [{ group: "apps", resource: "deployments", direction: "Both" }],
      },
    });
}

describe("an agent's token", () => {
  it("renews the Lease of its SyncTarget, and writes nothing else of any Lease", async (t) => {
    const { ask, plane } = await stage(t);
    const inDefault = "/clusters/root/apis/coordination.k8s.io/v1/namespaces/default/leases";
    const own = `${inDefault}/kcp-syncer-mine`;
    const renewTime = "2026-01-01T00:00:00.000000Z";
    const renewal = { spec: { holderIdentity: "a", leaseDurationSeconds: 60, renewTime } };
    await eventually(() => plane.client.resource(leases).get(leaseOf("mine")));
    await eventually(() => plane.client.resource(leases).get(leaseOf("east")));
    assert.equal(await ask("GET", own), 200);
    assert.equal(await ask("PATCH", own, renewal), 200);
    const interval = { "workload.kcp.io/renew-interval-seconds": "2" };
    assert.equal(await ask("PATCH", own, { metadata: { annotations: interval } }), 200);
    for (const change of [
      { metadata: { annotations: { "workload.kcp.io/accepted-lease-seconds": "600" } } },
      { metadata: { annotations: { "workload.kcp.io/renew-interval-seconds": "x".repeat(99) } } },
      { metadata: { annotations: { "example.com/note": "x" } } },
      { metadata: { labels: { app: "web" } } },
      { metadata: { labels: null } },
      { metadata: { finalizers: ["example.com/stay"] } },
      { metadata: { ownerReferences: [] } },
      { spec: { leaseTransitions: 7 } },
      { spec: { acquireTime: renewTime } },
    ])
      assert.equal(await ask("PATCH", own, change), 403, JSON.stringify(change));
    assert.equal(await ask("GET", `${inDefault}/kcp-syncer-east`), 404);
    assert.equal(await ask("PATCH", `${inDefault}/kcp-syncer-east`, renewal), 404);
    const elsewhere = inDefault.replace("namespaces/default", "namespaces/kube-system");
    assert.equal(await ask("PATCH", `${elsewhere}/kcp-syncer-mine`, renewal), 404);
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" };
    const made = { ...lease, metadata: { name: "kcp-syncer-mine" }, ...renewal };
    assert.equal(await ask("POST", inDefault, made), 405);
    assert.equal(await ask("PUT", own, made), 405);
    assert.equal(await ask("DELETE", own), 405);
    assert.equal(await ask("GET", inDefault), 405);
  });

  it("creates no object of a kind that does not come up, by any verb", async (t) => {
    const { ask, plane } = await stage(t);
    const wanted = labelled("planted", upsync);
    assert.equal(await ask("POST", `${apps}${asSyncer}`, wanted), 405);
    assert.equal(await ask("POST", `${apps}${asSyncer}&dryRun=All`, wanted), 405);
    const { name: _, ...generated } = wanted.metadata;
    const nameless = { ...wanted, metadata: { ...generated, generateName: "planted-" } };
    assert.equal(await ask("POST", `${apps}${asSyncer}`, nameless), 405);
    assert.equal(await ask("PUT", `${apps}/planted${asSyncer}`, wanted), 405);
    const applied = await ask("PATCH", `${apps}/planted${asSyncer}`, wanted, applyType);
    assert.equal(applied, 403);
    assert.equal(await ask("DELETE", apps), 405);
    for (const kind of ["secrets", "configmaps", "serviceaccounts"]) {
      const object = { metadata: { name: "planted", namespace: "default", labels: upsync } };
      assert.equal(await ask("POST", `${inCore}/${kind}${asSyncer}`, object), 405, kind);
    }
    assert.deepEqual((await plane.client.resource(deployments).list()).items, []);
  });

  it("creates copies that keep the label of their cluster as long as they exist, whichever client writes them", async (t) => {
    const at = await stage(t);
    const { ask, plane } = at;
    await letDeploymentsComeUp(at);
    const stranger = { [stateLabel("east")]: "Upsync" };
    const made = labelled("planted", upsync);
    await eventually(async () => assert.equal(await ask("POST", `${apps}${asSyncer}`, made), 200));
    for (const labels of [
      {},
      stranger,
      { ...upsync, ...stranger },
      { ...upsync, [clusterLabel]: "east" },
      { ...upsync, "kcp.dev/cluster": "east" },
      { ...upsync, [stateLabel("east")]: "Sync" },
      { ...upsync, [ownedByLabel]: "web" },
      { ...upsync, [apiAccessLabel]: "true" },
    ]) {
      const other = labelled("other", labels as Record<string, string>);
      const answer = await ask("POST", `${apps}${asSyncer}`, other);
      assert.equal(answer, 403, JSON.stringify(labels));
    }
    for (const metadata of [
      { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "x", uid: "1" }] },
      { finalizers: [syncerFinalizer("east")] },
      { annotations: { "workload.kcp.io/propagated-to": "east" } },
    ]) {
      const all = {
        ...labelled("other", upsync),
        metadata: { ...made.metadata, name: "other", ...metadata },
      };
      const answer = await ask("POST", `${apps}${asSyncer}`, all);
      assert.equal(answer, 403, JSON.stringify(metadata));
    }
    const place = `${apps}/planted${asSyncer}`;
    const gone = { metadata: { labels: { [stateLabel("mine")]: null } } };
    const empty = { metadata: { labels: { [stateLabel("mine")]: "" } } };
    const remove = {
      op: "remove",
      path: `/metadata/labels/${stateLabel("mine").replace("/", "~1")}`,
    };
    for (const patch of [gone, empty]) assert.equal(await ask("PATCH", place, patch), 403);
    const json = await ask("PATCH", place, [remove], "application/json-patch+json");
    assert.equal(json, 403);
    // The status endpoint changes no label, whatever is sent to it.
    await ask("PATCH", `${apps}/planted/status${asSyncer}`, { ...gone, status: { replicas: 1 } });
    const found = () =>
      plane.client.resource(deployments).get({ namespace: "default", name: "planted" });
    assert.equal((await found()).metadata.labels?.[stateLabel("mine")], "Upsync");
    // The owner of the workspace cannot remove the label either: the origin of the object would be
    // lost.
    for (const patch of [gone, { metadata: { labels: { [clusterLabel]: "east" } } }]) {
      const name = { namespace: "default", name: "planted" };
      const answer = plane.client.resource(deployments).patch(name, { type: "merge", patch });
      assert.equal(await statusOf(answer), 403, JSON.stringify(patch));
    }
    const own = plane.client.resource(deployments).create(labelled("mine", upsync) as never);
    assert.equal(await statusOf(own), 403);
    assert.equal(await ask("DELETE", `${apps}/planted`), 200);
  });

  it("has nothing run elsewhere, no Secrets sent to its cluster and no token made", async (t) => {
    const at = await stage(t);
    const { ask, plane } = at;
    const { client } = plane;
    await letDeploymentsComeUp(at);
    const name = { namespace: "default", name: "treasure" };
    await client.resource(secrets).create({ metadata: name, data: { key: "c2VjcmV0" } });
    const volumes = [{ name: "v", secret: { secretName: "treasure" } }];
    const made = labelled("planted", upsync, { volumes, serviceAccountName: "default" });
    await eventually(async () => assert.equal(await ask("POST", `${apps}${asSyncer}`, made), 200));
    const held = { finalizers: [syncerFinalizer("mine")] };
    assert.equal(
      await ask("POST", `${inCore}/pods${asSyncer}`, pod("spy", held, { volumes })),
      200,
    );
    // What was written before has been looked at when this one, written after it, runs and has its
    // own ConfigMap beside it.
    await client
      .resource(configMaps)
      .create({ metadata: { namespace: "default", name: "settings" }, data: {} });
    const settings = [{ name: "v", configMap: { name: "settings" } }];
    await client.resource(deployments).create(labelled("web", {}, { volumes: settings }) as never);
    await eventually(async () => {
      const found = await client
        .resource(configMaps)
        .get({ namespace: "default", name: "settings" });
      assert.equal(found.metadata.labels?.[stateLabel("east")], "Sync");
    });
    const { items } = await client.resource(deployments).list();
    const names = items.map(({ metadata }) => metadata.name).sort();
    assert.deepEqual(names, ["planted", "web", "web--east"]);
    const treasure = await client.resource(secrets).get(name);
    assert.equal(treasure.metadata.labels, undefined);
    const given = await client.resource(secrets).list({ labelSelector: apiAccessLabel });
    assert.deepEqual(given.items, []);
  });

  it("changes nothing of an object that others wrote, but marks in its own name", async (t) => {
    const { ask, plane } = await stage(t);
    const { client } = plane;
    const both = { [stateLabel("mine")]: "Sync", [stateLabel("east")]: "Sync" };
    await client.resource(deployments).create(labelled("shared", both) as never);
    await client
      .resource(deployments)
      .create(labelled("own", { [clusterLabel]: "mine", [apiAccessLabel]: "true" }) as never);
    const native = { namespace: "default", name: "settings", labels: both };
    await client.resource(configMaps).create({ metadata: native, data: { a: "1" } });
    await client.resource(secrets).create({ metadata: native, data: { a: "MQ==" } });
    const spec = (change: object) => ({ spec: { template: { spec: change } } });
    const refused: readonly (readonly [string, object])[] = [
      [`${apps}/shared`, spec({ containers: [{ name: "web", image: "evil" }] })],
      [`${apps}/own`, spec({ serviceAccountName: "admin" })],
      [`${apps}/own`, { spec: { replicas: 100 } }],
      [`${apps}/own`, { metadata: { labels: { [apiAccessLabel]: "false" } } }],
      [`${apps}/own`, { metadata: { labels: { app: "other" } } }],
      [`${apps}/own`, { metadata: { labels: upsync } }],
      [`${apps}/shared`, { metadata: { labels: upsync } }],
      [`${apps}/shared`, { metadata: { labels: { [stateLabel("east")]: null } } }],
      [
        `${apps}/own`,
        { metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "x", uid: "1" }] } },
      ],
      [`${apps}/own`, { metadata: { finalizers: ["example.com/mine"] } }],
      [`${apps}/own`, { metadata: { finalizers: [syncerFinalizer("east")] } }],
      [`${apps}/own`, { metadata: { annotations: { note: "x" } } }],
      [
        `${apps}/own`,
        { metadata: { annotations: { "workload.kcp.io/dependencies": "secrets/x" } } },
      ],
      [`${apps}/own`, { metadata: { annotations: { "finalizers.workload.kcp.io/mine": "x" } } }],
      [
        `${apps}/own`,
        { metadata: { annotations: { "experimental.spec-diff.workload.kcp.io/east": "[]" } } },
      ],
      [
        `${apps}/own`,
        { metadata: { annotations: { "experimental.status.workload.kcp.io/east": "{}" } } },
      ],
      [`${inCore}/configmaps/settings`, { data: { a: "2" } }],
      [`${inCore}/secrets/settings`, { data: { a: "Mg==" } }],
      [`${inCore}/configmaps/settings`, { metadata: { labels: { "workload.kcp.io/tenant": "" } } }],
      [`${apps}/shared/status`, { status: { replicas: 7 } }],
    ];
    for (const [path, patch] of refused) {
      const answer = await ask("PATCH", `${path}${asSyncer}`, patch);
      assert.equal(answer, 403, `${path} ${JSON.stringify(patch)}`);
    }
    const forced = {
      ...labelled("own", { [clusterLabel]: "mine" }, { serviceAccountName: "admin" }),
    };
    const applied = await ask("PATCH", `${apps}/own${asSyncer}&force=true`, forced, applyType);
    assert.equal(applied, 403);
    for (const path of [`${apps}/shared`, `${apps}/own`])
      assert.equal(await ask("DELETE", path), 403, path);
    // What the protocol has for it.
    const marks: readonly (readonly [string, object])[] = [
      [`${apps}/own`, { metadata: { finalizers: [syncerFinalizer("mine")] } }],
      [
        `${apps}/shared`,
        { metadata: { annotations: { "experimental.status.workload.kcp.io/mine": "{}" } } },
      ],
      [
        `${inCore}/configmaps/settings`,
        { metadata: { annotations: { "sync-error.workload.kcp.io/mine": "{}" } } },
      ],
      [`${apps}/own/status`, { status: { replicas: 7 } }],
    ];
    for (const [path, patch] of marks)
      assert.equal(await ask("PATCH", `${path}${asSyncer}`, patch), 200, JSON.stringify(patch));
  });

  it("upsyncs a field that a SyncPolicy of its SyncTarget names, and no other", async (t) => {
    const { ask, plane } = await stage(t);
    const conflictingFields = [{ path: "spec.replicas", resolution: "Upsync" }] as const;
    await plane.client
      .resource(syncPolicies)
      .create({
        metadata: { name: "autoscaled" },
        spec: { resources: [{ group: "apps", resource: "deployments", conflictingFields }] },
      });
    await plane.client
      .resource(deployments)
      .create(labelled("own", { [clusterLabel]: "mine" }) as never);
    await eventually(async () =>
      assert.equal(await ask("PATCH", `${apps}/own${asSyncer}`, { spec: { replicas: 5 } }), 200),
    );
    const other = { spec: { replicas: 6, minReadySeconds: 9 } };
    assert.equal(await ask("PATCH", `${apps}/own${asSyncer}`, other), 403);
  });

  it("reports Events that nothing keeps from being deleted, with no labels of other clusters", async (t) => {
    const { ask, plane } = await stage(t);
    const event = (name: string, metadata: object) => ({
      apiVersion: "v1",
      kind: "Event",
      metadata: { name, namespace: "default", labels: upsync, ...metadata },
      involvedObject: { kind: "Pod", name: "web", namespace: "default" },
      reason: "Started",
      message: "the cluster mine has started it",
    });
    const events = `${inCore}/events`;
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: "given", uid: "1" };
    const forged: readonly object[] = [
      { finalizers: ["example.com/hold"] },
      { finalizers: [syncerFinalizer("mine")] },
      { ownerReferences: [{ ...owner, blockOwnerDeletion: true }] },
      { annotations: { "workload.kcp.io/propagated-to": "east" } },
      { labels: { ...upsync, [apiAccessLabel]: "true" } },
      { labels: { ...upsync, app: "web" } },
    ];
    for (const [index, metadata] of forged.entries()) {
      const answer = await ask("POST", `${events}${asSyncer}`, event(`e${index}`, metadata));
      assert.equal(answer, 403, JSON.stringify(metadata));
    }
    const own = { ...event("own", { labels: {} }), reportingComponent: "kcp-syncer" };
    assert.equal(await ask("POST", `${events}${asSyncer}`, own), 200);
    assert.equal(await ask("POST", `${events}${asSyncer}`, event("copied", {})), 200);
    for (const metadata of forged) {
      for (const name of ["own", "copied"]) {
        const answer = await ask("PATCH", `${events}/${name}${asSyncer}`, { metadata });
        assert.equal(answer, 403, `${name} ${JSON.stringify(metadata)}`);
      }
    }
    assert.equal(await ask("PATCH", `${events}/copied${asSyncer}`, { count: 2 }), 200);
    const listed = await plane.client.resource(eventsKind).list({ namespace: "default" });
    for (const { metadata } of listed.items) assert.equal(metadata.finalizers, undefined);
  });

  it("imports the APIs that its SyncTarget requests, and decides about no published API", async (t) => {
    const { ask, plane, agent } = await stage(t);
    const imports = "/clusters/root/apis/apiresource.kcp.io/v1alpha1/apiresourceimports";
    const owner = importOwner({ metadata: agent.target } as never);
    const imported = (plural: string, group: string, change: ImportChange = {}) => ({
      apiVersion: "apiresource.kcp.io/v1alpha1",
      kind: "APIResourceImport",
      metadata: {
        name: `${plural}.mine.v1.${group}`,
        ownerReferences: [owner],
        ...change.metadata,
      },
      spec: {
        location: "mine",
        groupVersion: { group, version: "v1" },
        plural,
        kind: "Planted",
        scope: "Namespaced",
        openAPIV3Schema: { type: "object" },
        ...change.spec,
      },
    });
    const refused = [
      // Not requested; and served by the control plane itself.
      imported("widgets", "example.com"),
      imported("secrets", "core"),
      imported("configmaps", "core"),
      imported("workspaces", "tenancy.kcp.io"),
      imported("clusterroles", "rbac.authorization.k8s.io"),
      // A narrower API for every cluster.
      imported("deployments", "apps", { spec: { schemaUpdateStrategy: "UpdatePublished" } }),
      // Another API under this name, or another cluster's.
      imported("deployments", "apps", { spec: { plural: "widgets" } }),
      imported("deployments", "apps", { spec: { location: "east" } }),
      imported("deployments", "apps", { metadata: { name: "deployments.mine.v1.example.com" } }),
      imported("deployments", "apps", { metadata: { finalizers: ["example.com/hold"] } }),
      imported("deployments", "apps", { metadata: { labels: { [clusterLabel]: "east" } } }),
      imported("deployments", "apps", { metadata: { annotations: { note: "x" } } }),
      imported("deployments", "apps", { metadata: { ownerReferences: [{ ...owner, uid: "1" }] } }),
    ];
    for (const object of refused)
      assert.equal(await ask("POST", `${imports}${asSyncer}`, object), 403, JSON.stringify(object));
    assert.equal(await ask("POST", `${imports}${asSyncer}`, imported("deployments", "apps")), 200);
    const place = `${imports}/deployments.mine.v1.apps${asSyncer}`;
    for (const patch of [
      { spec: { schemaUpdateStrategy: "UpdatePublished" } },
      { metadata: { finalizers: ["example.com/hold"] } },
    ])
      assert.equal(await ask("PATCH", place, patch), 403, JSON.stringify(patch));
    // The choice of a user stays, whatever the agent writes.
    const name = "deployments.mine.v1.apps";
    const strategy = { spec: { schemaUpdateStrategy: "UpdateNever" } };
    const chosen = { type: "merge", patch: strategy } as const;
    await plane.client.resource(apiResourceImports).patch({ name }, chosen);
    assert.equal(await ask("PATCH", place, { spec: { schemaUpdateStrategy: null } }), 403);
    assert.equal(await ask("PATCH", place, { spec: { shortNames: ["d"] } }), 200);
  });

  it("deletes copies and what ended in its cluster, and nothing that is in another", async (t) => {
    const { ask, plane } = await stage(t);
    const { client } = plane;
    assert.equal(await ask("POST", `${inCore}/pods${asSyncer}`, pod("copied")), 200);
    await client
      .resource(pods)
      .create(pod("bare", { labels: { [clusterLabel]: "mine" } }) as never);
    const both = { [stateLabel("mine")]: "Sync", [stateLabel("east")]: "Sync" };
    await client.resource(pods).create(pod("shared", { labels: both }) as never);
    assert.equal(await ask("DELETE", `${inCore}/pods/copied`), 200);
    assert.equal(await ask("DELETE", `${inCore}/pods/bare`), 200);
    assert.equal(await ask("DELETE", `${inCore}/pods/shared`), 403);
  });
});
