/**
 * Goal: an agent gets what it needs and nothing else, is installed, upgraded and removed, and its
 * token is renewed and revoked.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { systemClock, systemRandom } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  AgentTokenRenewer,
  agentId,
  agentViewPath,
  apiResourceImports,
  clusterLabel,
  readToken,
  stateLabel,
  syncerFieldManager,
  syncerFinalizer,
  syncTargets,
} from "@kcp-ts/multicluster";
import { findCondition, type KubernetesObject } from "@kcp-ts/sdk";
import {
  serviceAccounts as accounts,
  clusterRoles,
  namespaces,
  pods,
  secrets,
} from "@kcp-ts/sdk/kinds";
import {
  clientWith,
  registerPullTarget,
  secretFiles,
  startInstalledAgent,
  statusOf,
} from "./agents.ts";
import {
  deployment,
  deployments,
  eventually,
  register,
  startControlPlaneWithClusters,
  startPhysicalCluster,
  untilCondition,
  untilImport,
} from "./fixture.ts";

describe("the token of an agent", () => {
  it("opens its own view, and nothing else", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    const pushed = await register(plane.client, "pushed", { kubeconfig: east.kubeconfig });
    await untilImport(plane.client, "deployments.pushed.v1.apps", {
      compatible: "True",
      available: "True",
    });
    const agent = await registerPullTarget(t, plane, "mine");
    const other = await registerPullTarget(t, plane, "other");
    const foreign = await registerPullTarget(t, plane, "mine", "elsewhere");
    for (const [name, target] of [
      ["ours", "mine"],
      ["theirs", "other"],
      ["nobodys", ""],
    ] as const) {
      const labels = target === "" ? { app: name } : { app: name, [clusterLabel]: target };
      const { metadata, ...rest } = deployment(name);
      const whole = { ...rest, metadata: { ...metadata, labels } };
      await plane.client.resource(deployments).create(whole);
    }
    const data = { kubeconfig: Buffer.from(east.kubeconfig).toString("base64") };
    const labels = { [clusterLabel]: "other" };
    const metadata = { namespace: "default", name: "kubeconfig", labels };
    await plane.client.resource(secrets).create({ metadata, data });

    const own = agentViewPath(agent.target);
    const root = "/clusters/root";
    const workload = "/apis/workload.kcp.io/v1alpha1/synctargets";
    const imports = "/apis/apiresource.kcp.io/v1alpha1/apiresourceimports";
    const apps = "/apis/apps/v1/namespaces/default/deployments";
    const account = `/api/v1/namespaces/default/serviceaccounts/${agentId(other.target)}/token`;
    const wrongUid = own.replace(agent.target.uid, pushed.metadata.uid ?? "");
    const label = { metadata: { labels: { [clusterLabel]: "other" } } };
    const request = { spec: { expirationSeconds: 600 } };
    /** Method, path, what comes back; and what is sent, for those that send something. */
    const table: readonly (readonly [
      "GET" | "POST" | "PATCH" | "DELETE",
      string,
      number,
      object?,
    ])[] = [
      // What it needs.
      ["GET", `${own}${root}${workload}/mine`, 200],
      ["GET", `${own}${root}${apps}/ours`, 200],
      ["GET", `${own}${root}/api/v1/namespaces/default`, 200],
      ["GET", `${own}/clusters/system:admin/apis`, 200],
      // Other SyncTargets, their kubeconfigs, and their imports.
      ["GET", `${own}${root}${workload}/pushed`, 404],
      ["GET", `${own}${root}${workload}/other`, 404],
      ["GET", `${root}${workload}/mine`, 403],
      ["GET", `${root}${workload}/pushed`, 403],
      ["GET", `${root}${workload}`, 403],
      ["GET", `/clusters/*${workload}`, 403],
      ["GET", `${own}/clusters/*${workload}`, 403],
      ["GET", `${own}${root}${imports}/deployments.pushed.v1.apps`, 404],
      ["DELETE", `${own}${root}${imports}/deployments.pushed.v1.apps`, 404],
      ["GET", `${root}/api/v1/namespaces/default/secrets/kubeconfig`, 403],
      ["GET", `${own}${root}/api/v1/namespaces/default/secrets/kubeconfig`, 404],
      ["GET", "/clusters/system:admin/api/v1/namespaces/default/secrets", 403],
      ["GET", `${own}/clusters/system:admin/api/v1/namespaces/default/secrets`, 403],
      // Views of others.
      ["GET", `${agentViewPath(other.target)}${root}${workload}/other`, 403],
      ["GET", `${agentViewPath(foreign.target)}/clusters/elsewhere${workload}/mine`, 403],
      ["GET", `${wrongUid}${root}${workload}/mine`, 403],
      // Objects of others.
      ["GET", `${own}${root}${apps}/theirs`, 404],
      ["GET", `${own}${root}${apps}/nobodys`, 404],
      ["DELETE", `${own}${root}${apps}/theirs`, 404],
      ["PATCH", `${own}${root}${apps}/theirs/status`, 404, { status: { replicas: 1 } }],
      [
        "PATCH",
        `${own}${root}${apps}/nobodys`,
        404,
        { metadata: { labels: { [clusterLabel]: "mine" } } },
      ],
      ["PATCH", `${own}${root}${apps}/ours`, 403, label],
      ["POST", `${own}${root}${apps}`, 405, deployment("planted")],
      ["GET", `${root}${apps}/ours`, 403],
      // Other workspaces, through its own view and beside it.
      ["GET", `${own}/clusters/elsewhere${workload}/mine`, 403],
      ["GET", `${own}/clusters/elsewhere/api/v1/namespaces/default`, 403],
      ["GET", `/clusters/elsewhere${workload}/mine`, 403],
      // What would make it more than it is.
      ["GET", `${own}${root}/apis/rbac.authorization.k8s.io/v1/clusterroles`, 404],
      ["POST", `${own}${root}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings`, 404, {}],
      ["POST", `${own}${root}/api/v1/namespaces/default/secrets`, 405, { metadata: { name: "s" } }],
      ["POST", `${own}${root}/api/v1/namespaces`, 405, { metadata: { name: "n" } }],
      ["GET", `${own}${root}/api/v1/namespaces`, 405],
      ["GET", `${own}${root}/api/v1/events`, 405],
      ["PATCH", `${own}${root}${workload}/mine`, 405, { spec: { mode: "None" } }],
      ["PATCH", `${own}${root}${workload}/other/status`, 404, { status: { version: "v0" } }],
      ["POST", `${root}${account}`, 403, request],
      ["POST", `${own}${root}${account}`, 404, request],
      ["GET", `${own}${root}/metrics`, 404],
      ["GET", "/services/syncer/root/mine", 403],
    ];
    for (const [method, path, wanted, body] of table) {
      const answer = agent.client.json({
        method,
        path,
        ...(body === undefined ? {} : { body: body as never }),
        ...(method === "PATCH" ? { contentType: "application/merge-patch+json" } : {}),
      });
      assert.equal(await statusOf(answer), wanted, `${method} ${path}`);
    }
    const inView = agent.view.inCluster("root");
    const seen = await inView.resource(deployments).list();
    assert.deepEqual(
      seen.items.map(({ metadata }) => metadata.name),
      ["ours"],
    );
    assert.deepEqual((await inView.resource(secrets).list()).items, []);
    const targets = await inView.resource(syncTargets).list();
    assert.deepEqual(
      targets.items.map(({ metadata }) => metadata.name),
      ["mine"],
    );
    assert.deepEqual((await inView.resource(apiResourceImports).list()).items, []);
  });

  it("tells a watch of what comes to its target and of what leaves it, and of nothing else", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    await register(plane.client, "pushed", { kubeconfig: east.kubeconfig });
    const available = { compatible: "True", available: "True" };
    await untilImport(plane.client, "deployments.pushed.v1.apps", available);
    const agent = await registerPullTarget(t, plane, "mine");
    const all = plane.client.resource(deployments);
    const inView = agent.view.inCluster("root").resource(deployments);
    const { metadata } = await inView.list();
    const stop = new AbortController();
    t.after(() => stop.abort());
    const { signal } = stop;
    const { resourceVersion } = metadata;
    const events = inView.watch({ resourceVersion, signal })[Symbol.asyncIterator]();
    const next = async () => {
      const { value } = await events.next();
      const { type, object } = value as { type: string; object: KubernetesObject };
      return `${type} ${object.metadata.name}`;
    };
    await all.create(deployment("hidden"));
    await all.create(deployment("shown"));
    const at = { namespace: "default", name: "shown" };
    const assign = (cluster: string | null) =>
      all.patch(at, {
        type: "merge",
        patch: { metadata: { labels: { [clusterLabel]: cluster } } },
      });
    await assign("mine");
    assert.equal(await next(), "ADDED shown");
    // Its resources are reserved: the limit gate opens.
    assert.equal(await next(), "MODIFIED shown");
    // Held by its finalizer, it is still the agent's business when the label is gone.
    const finalizers = [syncerFinalizer("mine")];
    await all.patch(at, { type: "merge", patch: { metadata: { finalizers } } });
    assert.equal(await next(), "MODIFIED shown");
    await assign("other");
    assert.equal(await next(), "MODIFIED shown");
    const released = await inView.patch(at, {
      type: "merge",
      patch: { metadata: { finalizers: null } },
    });
    assert.deepEqual(released.metadata.finalizers ?? [], []);
    assert.equal(await next(), "DELETED shown");
    assert.equal(await statusOf(inView.get(at)), 404);
  });

  it("lets an agent bring up what is marked as such", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    await register(plane.client, "pushed", { kubeconfig: east.kubeconfig });
    const available = { compatible: "True", available: "True" };
    await untilImport(plane.client, "pods.pushed.v1.core", available);
    const agent = await registerPullTarget(t, plane, "mine");
    const inView = agent.view.inCluster("root").resource(pods);
    const labels = { app: "born-there", [stateLabel("mine")]: "Upsync" };
    const metadata = { namespace: "default", name: "born-there", labels };
    const spec = { containers: [{ name: "c", image: "nginx" }] };
    const options = { fieldManager: syncerFieldManager };
    // It speaks where something was given to it.
    const given = { namespace: "default", name: "given", labels: { [clusterLabel]: "mine" } };
    await plane.client.resource(pods).create({ metadata: given, spec } as never);
    await inView.create({ metadata, spec } as never, options);
    const at = { namespace: "default", name: "born-there" };
    assert.equal((await inView.get(at)).metadata.name, "born-there");
    await inView.delete(at);
    assert.equal(await statusOf(inView.get(at)), 404);
  });

  it("is renewed by the agent itself before it runs out, once, and into its own Secret", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    const agent = await registerPullTarget(t, plane, "mine");
    const folder = await mkdtemp(join(tmpdir(), "kcp-token-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const tokenFile = join(folder, "token");
    await writeFile(tokenFile, agent.token);
    await east.client.resource(namespaces).create({ metadata: { name: "agents" } });
    const secret = { namespace: "agents", name: "mine" };
    const data = { token: Buffer.from(agent.token).toString("base64") };
    await east.client.resource(secrets).create({ metadata: secret, data });
    let aheadMs = 0;
    const renewed: number[] = [];
    const keeper = new AgentTokenRenewer({
      tokenFile,
      secret,
      downstream: east.client,
      random: systemRandom,
      upstream: agent.client.inCluster("root"),
      clock: { ...systemClock, now: () => systemClock.now() + aheadMs },
      onError: (error) => assert.fail(String(error)),
      onRenewed: (expiresAtMs) => renewed.push(expiresAtMs),
    });
    const { signal } = new AbortController();
    await keeper.renewIfDue(signal);
    assert.deepEqual(renewed, []);
    aheadMs = 500_000;
    await keeper.renewIfDue(signal);
    assert.equal(renewed.length, 1);
    // The file follows later: no further token is asked for in between.
    aheadMs = 0;
    await keeper.renewIfDue(signal);
    assert.equal(renewed.length, 1);
    const stored = await east.client.resource(secrets).get(secret);
    const token = Buffer.from(stored.data?.["token"] ?? "", "base64").toString();
    assert.equal(readToken(token)?.uid, readToken(agent.token)?.uid);
    assert.ok((readToken(token)?.expiresAtMs ?? 0) >= (readToken(agent.token)?.expiresAtMs ?? 0));
    const view = await clientWith(t, plane, agent.target, token);
    await view.inCluster("root").resource(syncTargets).get({ name: "mine" });
  });

  it("is worth nothing when the SyncTarget is gone, or its account was deleted", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const agent = await registerPullTarget(t, plane, "mine");
    const own = agent.view.inCluster("root").resource(syncTargets);
    await own.get({ name: "mine" });
    const at = { namespace: "default", name: agentId(agent.target) };
    const { metadata } = await plane.client.resource(accounts).get(at);
    await plane.client.resource(accounts).delete(at);
    await eventually(async () => {
      const made = await plane.client.resource(accounts).get(at);
      assert.notEqual(made.metadata.uid, metadata.uid);
    });
    assert.equal(await statusOf(own.get({ name: "mine" })), 401);
    const other = await registerPullTarget(t, plane, "leaving");
    await plane.client.resource(syncTargets).delete({ name: "leaving" });
    await eventually(async () =>
      assert.equal(await plane.client.resource(syncTargets).find({ name: "leaving" }), undefined),
    );
    const inOther = other.view.inCluster("root").resource(syncTargets);
    assert.equal(await statusOf(inOther.get({ name: "leaving" })), 401);
    const left = await plane.client.resource(clusterRoles).find({ name: agentId(other.target) });
    assert.equal(left, undefined);
  });
});

describe("an agent", () => {
  it("is installed where there is a way into the cluster, works there, is upgraded, and removed with its SyncTarget", async (t) => {
    const plane = await startControlPlaneWithClusters(t, { agentImage: "kcp-syncer:1" });
    await plane.listen();
    const east = await startPhysicalCluster(t, { name: "east" });
    const spec = { mode: "Pull" as const, kubeconfig: east.kubeconfig };
    const { metadata } = await register(plane.client, "east", {
      ...spec,
      resources: ["deployments.apps"],
    });
    const target = { cluster: "root" as ClusterName, name: "east", uid: metadata.uid ?? "" };
    const id = agentId(target);
    const at = { namespace: id, name: id };
    const installed = await eventually(() => east.client.resource(deployments).get(at));
    await untilCondition(plane.client, "east", { type: "SyncerInstalled", status: "True" });
    const { kubeconfig = "", token = "" } = await secretFiles(east.client, id);
    assert.match(kubeconfig, /services\/syncer\/root\/east/);
    assert.equal(readToken(token)?.name, id);
    // Only the agent works in the cluster: assigned objects wait for it.
    await untilCondition(plane.client, "east", { status: "Unknown", reason: "WaitingForAgent" });
    const stop = await startInstalledAgent(t, { plane, target, downstream: east.client });
    await untilCondition(plane.client, "east", { status: "True" });
    const available = { compatible: "True", available: "True" };
    await untilImport(plane.client, "deployments.east.v1.apps", available);
    const { metadata: named, ...rest } = deployment("web");
    const labels = { app: "web", [clusterLabel]: "east" };
    await plane.client.resource(deployments).create({ ...rest, metadata: { ...named, labels } });
    await eventually(async () => {
      const web = await plane.client
        .resource(deployments)
        .get({ namespace: "default", name: "web" });
      assert.equal((web as { status?: { readyReplicas?: number } }).status?.readyReplicas, 2);
    });
    // What is synced decides about arguments and rights.
    const resources = ["deployments.apps", "services"];
    const patch = { spec: { resources } };
    await plane.client.resource(syncTargets).patch({ name: "east" }, { type: "merge", patch });
    await eventually(async () => {
      const upgraded = await east.client.resource(deployments).get(at);
      assert.ok((upgraded.metadata.generation ?? 0) > (installed.metadata.generation ?? 0));
      assert.match(JSON.stringify(upgraded.spec), /--resources=services/);
      const role = await east.client.resource(clusterRoles).get({ name: id });
      assert.match(JSON.stringify(role), /services\/status/);
    });
    await plane.client.resource(syncTargets).delete({ name: "east" });
    await untilCondition(plane.client, "east", { status: "False", reason: "Terminating" });
    await plane.client.resource(deployments).delete({ namespace: "default", name: "web" });
    await eventually(async () => {
      assert.equal(await plane.client.resource(syncTargets).find({ name: "east" }), undefined);
      assert.equal(await east.client.resource(clusterRoles).find({ name: id }), undefined);
      const left = await east.client.resource(namespaces).find({ name: id });
      assert.ok(left === undefined || left.metadata.deletionTimestamp !== undefined);
    });
    await stop();
  });

  it("gets another token when the one that it has belongs to an account of before", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    await plane.listen();
    const east = await startPhysicalCluster(t, { name: "east" });
    const spec = { mode: "Pull" as const, kubeconfig: east.kubeconfig };
    const { metadata } = await register(plane.client, "east", spec);
    const id = agentId({ name: "east", uid: metadata.uid ?? "" });
    const first = await eventually(() => secretFiles(east.client, id));
    const { uid } = readToken(first["token"] ?? "") ?? {};
    assert.ok(uid !== undefined);
    await plane.client.resource(accounts).delete({ namespace: "default", name: id });
    await eventually(async () => {
      const { token = "" } = await secretFiles(east.client, id);
      assert.notEqual(readToken(token)?.uid, uid);
    });
  });

  it("is not installed into a namespace that another client created, and the SyncTarget reports it", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    await plane.listen();
    const east = await startPhysicalCluster(t, { name: "east" });
    const { metadata } = await register(plane.client, "east", { mode: "Pull" });
    const name = agentId({ name: "east", uid: metadata.uid ?? "" });
    await east.client.resource(namespaces).create({ metadata: { name } });
    const patch = { spec: { kubeconfig: east.kubeconfig } };
    await plane.client.resource(syncTargets).patch({ name: "east" }, { type: "merge", patch });
    const reason = "ErrorInstallingSyncer";
    const target = await untilCondition(plane.client, "east", { status: "False", reason });
    const ready = findCondition(target.status?.conditions, "Ready");
    assert.match(ready?.message ?? "", /was not made for this SyncTarget: delete it there/);
    await plane.client.resource(syncTargets).delete({ name: "east" });
    await eventually(async () =>
      assert.equal(await plane.client.resource(syncTargets).find({ name: "east" }), undefined),
    );
    assert.ok((await east.client.resource(namespaces).find({ name })) !== undefined);
  });
});
