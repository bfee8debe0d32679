import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { objectsMax } from "@kcp-ts/machinery/bounds";
import { rootCluster } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import { apiResourceImports, runAgent, syncTargets } from "@kcp-ts/multicluster";
import { defineResource, findCondition } from "@kcp-ts/sdk";
import { clusterRoles, secrets } from "@kcp-ts/sdk/kinds";
import { startTestControlPlane } from "@kcp-ts/testing/internal";
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

function tokenOf(kubeconfig: string): string {
  const token = /"token": "([^"]+)"/.exec(kubeconfig)?.[1];
  assert.ok(token !== undefined);
  return token;
}

describe("a physical cluster", () => {
  it("is ready after it is registered, and what it serves appears", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "us-east1" });
    await register(plane.client, "us-east1", { kubeconfig: east.kubeconfig });
    const target = await untilCondition(plane.client, "us-east1", { status: "True" });
    assert.match(target.status?.version ?? "", /^v1\.36/);
    const available = { compatible: "True", available: "True" };
    await untilImport(plane.client, "deployments.us-east1.v1.apps", available);
    await plane.client.resource(deployments).create(deployment("web"));
    const table = await plane.client.resource(deployments).table({ namespace: "default" });
    const [row] = table.rows;
    const readyAt = table.columnDefinitions.findIndex(({ name }) => name === "Ready");
    assert.equal(row?.cells[readyAt], "0/2");
  });

  it("reports the capacity of its nodes in sum", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const nodes = [
      { name: "a", capacity: { cpu: "1500m", memory: "1Gi" } },
      { name: "b", capacity: { cpu: "1", memory: "512Mi" } },
    ];
    const east = await startPhysicalCluster(t, { name: "east", nodes });
    await register(plane.client, "east", { kubeconfig: east.kubeconfig });
    await eventually(async () => {
      const { status } = await plane.client.resource(syncTargets).get({ name: "east" });
      assert.equal(status?.capacity?.["cpu"], "2500m");
      assert.equal(status?.capacity?.["memory"], "1536Mi");
    });
  });

  it("is connected to by a kubeconfig in a Secret, and by a new one when the Secret changes", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    const kubeconfigSecretRef = { namespace: "default", name: "east" };
    await register(plane.client, "east", { kubeconfigSecretRef });
    const absent = { status: "False", reason: "KubeConfigSecretNotFound" };
    await untilCondition(plane.client, "east", absent);
    const data = { kubeconfig: Buffer.from(east.kubeconfig).toString("base64") };
    await plane.client.resource(secrets).create({ metadata: kubeconfigSecretRef, data });
    // Who may write the Secret does not say whom this server connects to: nobody has seen where it
    // leads when the cluster was registered.
    const unknown = { status: "False", reason: "ServerNotRegistered" };
    const found = await untilCondition(plane.client, "east", unknown);
    const message = findCondition(found.status?.conditions, "Ready")?.message ?? "";
    const server = /registered-server: (\S+)$/.exec(message)?.[1] ?? "";
    const annotations = { "workload.kcp.io/registered-server": server };
    const confirm = { type: "merge", patch: { metadata: { annotations } } } as const;
    await plane.client.resource(syncTargets).patch({ name: "east" }, confirm);
    await untilCondition(plane.client, "east", { status: "True" });
    const broken = { kubeconfig: Buffer.from("clusters: []").toString("base64") };
    await plane.client
      .resource(secrets)
      .patch(kubeconfigSecretRef, { type: "merge", patch: { data: broken } });
    await untilCondition(plane.client, "east", { status: "False", reason: "InvalidKubeConfig" });
  });

  it("keeps its registered connection when its Secret changes, until the change is confirmed", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    const west = await startPhysicalCluster(t, { name: "west", generation: "1.28" });
    const kubeconfigSecretRef = { namespace: "default", name: "east" };
    const of = (text: string) => ({ kubeconfig: Buffer.from(text).toString("base64") });
    const secret = { metadata: kubeconfigSecretRef, data: of(east.kubeconfig) };
    await plane.client.resource(secrets).create(secret);
    await register(plane.client, "east", { kubeconfigSecretRef });
    await untilCondition(plane.client, "east", { status: "True" });
    const change = { type: "merge", patch: { data: of(west.kubeconfig) } } as const;
    await plane.client.resource(secrets).patch(kubeconfigSecretRef, change);
    const reason = "ServerNotRegistered";
    await untilCondition(plane.client, "east", { status: "False", reason });
    // Other changes of the SyncTarget confirm nothing, not even by who has the right.
    const labelled = { type: "merge", patch: { metadata: { labels: { zone: "a" } } } } as const;
    const target = await plane.client.resource(syncTargets).patch({ name: "east" }, labelled);
    const annotation = "workload.kcp.io/registered-server";
    assert.ok(east.kubeconfig.includes(target.metadata.annotations?.[annotation] ?? "none"));
    const { status } = await untilCondition(plane.client, "east", { status: "False", reason });
    assert.match(status?.version ?? "", /^(v1\.36.*)?$/);
  });

  it("of the same name in another logical cluster is another one", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    const west = await startPhysicalCluster(t, { name: "west", generation: "1.28" });
    const [a, b, c] = ["a", "b", "c"].map((name) => plane.clientFor(name));
    assert.ok(a !== undefined && b !== undefined && c !== undefined);
    await register(a, "one", { kubeconfig: east.kubeconfig });
    await register(b, "one", { kubeconfig: west.kubeconfig });
    const inA = await untilCondition(a, "one", { status: "True" });
    const inB = await untilCondition(b, "one", { status: "True" });
    assert.match(inA.status?.version ?? "", /^v1\.36/);
    assert.match(inB.status?.version ?? "", /^v1\.28/);
    assert.deepEqual((await c.resource(syncTargets).list()).items, []);
    await b.resource(syncTargets).delete({ name: "one" });
    await eventually(async () => {
      assert.deepEqual((await b.resource(apiResourceImports).list()).items, []);
      assert.equal(await b.resource(syncTargets).find({ name: "one" }), undefined);
    });
    await untilImport(a, "deployments.one.v1.apps", { compatible: "True", available: "True" });
  });
});

describe("the mode of a SyncTarget", () => {
  it("None: no controller of this server works in the cluster, and a syncer that runs elsewhere makes it ready", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    const { kubeconfig } = east;
    const { metadata } = await register(plane.client, "east", { mode: "None", kubeconfig });
    await untilCondition(plane.client, "east", { status: "Unknown", reason: "WaitingForAgent" });
    assert.deepEqual((await plane.client.resource(apiResourceImports).list()).items, []);
    const stopping = new AbortController();
    const { signal } = stopping;
    const target = { cluster: rootCluster, name: "east", uid: metadata.uid ?? "" };
    const running = runAgent(
      {
        upstream: plane.client,
        downstream: east.client,
        target,
        resources: ["deployments.apps"],
        onError: () => {},
      },
      signal,
    );
    t.after(async () => {
      stopping.abort();
      await running;
    });
    await untilCondition(plane.client, "east", { status: "True" });
    const available = { compatible: "True", available: "True" };
    await untilImport(plane.client, "deployments.east.v1.apps", available);
  });

  it("Push without a kubeconfig is reported with the missing field", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    await register(plane.client, "east", {});
    const reason = "InvalidKubeConfig";
    const target = await untilCondition(plane.client, "east", { status: "False", reason });
    const message = findCondition(target.status?.conditions, "Ready")?.message ?? "";
    assert.match(
      message,
      /set spec\.kubeconfig or spec\.kubeconfigSecretRef, or .* spec\.mode Pull/,
    );
  });

  it("is among the columns, with what people look for", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    const { kubeconfig } = east;
    await register(plane.client, "east", { kubeconfig, resources: ["deployments.apps"] });
    const row = await eventually(async () => {
      const table = await plane.client.resource(syncTargets).table();
      const names = table.columnDefinitions.map(({ name }) => name);
      const cells = table.rows[0]?.cells ?? [];
      const row = Object.fromEntries(names.map((name, at) => [name, cells[at]]));
      assert.equal(row["Ready"], "True");
      assert.match(String(row["Synced API resources"]), /deployments\.apps/);
      return row;
    });
    assert.equal(row["Location"], "east");
    assert.equal(row["Mode"], "Push");
    assert.equal(row["Reason"], "ClusterReady");
    assert.match(String(row["Version"]), /^v1\.36/);
  });
});

describe("what is wrong with a cluster", () => {
  it("is reported while the cluster is unreachable, and the condition recovers with the cluster", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    await register(plane.client, "east", { kubeconfig: east.kubeconfig });
    await untilCondition(plane.client, "east", { status: "True" });
    const before = await plane.client.resource(apiResourceImports).list();
    await east.faults.cut();
    await untilCondition(plane.client, "east", { status: "False", reason: "ClusterUnreachable" });
    // A lost connection freezes: nothing that is known of the cluster goes.
    const after = await plane.client.resource(apiResourceImports).list();
    assert.equal(after.items.length, before.items.length);
    await east.faults.heal();
    await untilCondition(plane.client, "east", { status: "True" });
  });

  it("is unknown before it is false", async (t) => {
    const plane = await startControlPlaneWithClusters(t, { link: { failuresMax: 1000 } });
    const east = await startPhysicalCluster(t, { name: "east" });
    const { kubeconfig } = east;
    await east.faults.cut();
    await register(plane.client, "east", { kubeconfig });
    await untilCondition(plane.client, "east", { status: "Unknown", reason: "ClusterUnreachable" });
  });

  it("is said when the authority in the kubeconfig has not signed for it", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    const west = await startPhysicalCluster(t, { name: "west" });
    const authority = /"?certificate-authority-data"?: [^\s,]+/;
    const [foreign = ""] = authority.exec(west.kubeconfig) ?? [];
    const kubeconfig = east.kubeconfig.replace(authority, foreign);
    assert.notEqual(kubeconfig, east.kubeconfig);
    await register(plane.client, "east", { kubeconfig });
    const reason = "CertificateNotTrusted";
    await untilCondition(plane.client, "east", { status: "False", reason });
  });

  it("is said when its kubeconfig leads to an address of the operator's, and that is denied", async (t) => {
    const plane = await startControlPlaneWithClusters(t, { denyPrivateAddresses: true });
    const east = await startPhysicalCluster(t, { name: "east" });
    const byName = east.kubeconfig.replaceAll("127.0.0.1", "localhost");
    for (const [name, kubeconfig] of [
      ["by-address", east.kubeconfig],
      ["by-name", byName],
    ] as const) {
      await register(plane.client, name, { kubeconfig });
      const target = await untilCondition(plane.client, name, { status: "False" });
      assert.match(JSON.stringify(target.status), /leads to an address that is not allowed here/);
    }
  });

  it("is said when the credentials are revoked", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    await register(plane.client, "east", { kubeconfig: east.kubeconfig });
    await untilCondition(plane.client, "east", { status: "True" });
    east.faults.unauthorize();
    await untilCondition(plane.client, "east", { status: "False", reason: "CredentialsRejected" });
  });

  it("is said verb by verb when the user may not do what syncing needs", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const physical = await startTestControlPlane({ physicalClusters: false });
    t.after(() => physical.close());
    const user = { username: "syncer", groups: ["system:authenticated"] };
    const rules = [
      { apiGroups: [""], resources: ["namespaces"], verbs: ["*"] },
      { apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "list", "watch"] },
      { nonResourceURLs: ["*"], verbs: ["*"] },
    ];
    const rbac = { group: "rbac.authorization.k8s.io", version: "v1", namespaced: false };
    const named = { metadata: { name: "syncer" } };
    const roles = clusterRoles;
    await physical.client.resource(roles).create({ ...named, rules } as typeof named);
    const bindings = { ...rbac, resource: "clusterrolebindings", kind: "ClusterRoleBinding" };
    await physical.client
      .resource(defineResource(bindings))
      .create({
        ...named,
        roleRef: { apiGroup: rbac.group, kind: "ClusterRole", name: "syncer" },
        subjects: [{ apiGroup: rbac.group, kind: "User", name: user.username }],
      } as typeof named);
    const kubeconfig = await physical.kubeconfig({ user });
    await register(plane.client, "east", { kubeconfig, resources: ["deployments.apps"] });
    const reason = "SyncerUnauthorized";
    const target = await untilCondition(plane.client, "east", { status: "False", reason });
    const message = target.status?.conditions?.find(({ type }) => type === "Ready")?.message ?? "";
    assert.match(
      message,
      /may not create deployments\.apps, patch deployments\.apps, delete deployments\.apps:/,
    );
  });
});

describe("a kubeconfig that is written into a SyncTarget", () => {
  it("is refused when it cannot be used, without being repeated", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    const { kubeconfig } = east;
    const token = tokenOf(kubeconfig);
    const user = `"token": "${token}"`;
    assert.ok(kubeconfig.includes(user));
    const unusable = [
      `${kubeconfig}\n  : [unbalanced`,
      kubeconfig.replace(/"current-context": "\w+"/, '"current-context": "other"'),
      kubeconfig.replace(user, `"exec": {"command": "sh", "args": ["${token}"]}`),
      kubeconfig.replace(user, `"tokenFile": "/etc/${token}"`),
      kubeconfig.replace("certificate-authority-data", "certificate-authority"),
      kubeconfig.replace("https://", `ftp://${token}@`),
    ];
    for (const text of unusable) {
      await assert.rejects(register(plane.client, "east", { kubeconfig: text }), (error) => {
        assert.ok(isStatusError(error, "Invalid"), String(error));
        assert.ok(!String(error.message).includes(token));
        return true;
      });
    }
  });

  it("is returned to no client, by no verb", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    const { kubeconfig } = east;
    const token = tokenOf(kubeconfig);
    const applied = "kubectl.kubernetes.io/last-applied-configuration";
    const annotations = { [applied]: JSON.stringify({ spec: { kubeconfig } }) };
    const created = await plane.client
      .resource(syncTargets)
      .create({ metadata: { name: "east", annotations }, spec: { kubeconfig } });
    await untilCondition(plane.client, "east", { status: "True" });
    const path = "/apis/workload.kcp.io/v1alpha1/synctargets";
    const accept = { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" };
    const table = `${path}?includeObject=Object`;
    const answers = [
      JSON.stringify(created),
      (await plane.client.read({ method: "GET", path: `${path}/east` })).text,
      (await plane.client.read({ method: "GET", path })).text,
      (await plane.client.read({ method: "GET", path: table, headers: accept })).text,
      (await plane.clientFor("*").read({ method: "GET", path })).text,
    ];
    const stop = new AbortController();
    const { signal } = stop;
    for await (const event of plane.client.resource(syncTargets).watch({ signal })) {
      answers.push(JSON.stringify(event));
      stop.abort();
      break;
    }
    for (const answer of answers) {
      assert.ok(answer.includes("REDACTED"));
      assert.ok(!answer.includes(token));
    }
  });

  it("stays when what is shown is written back, and changes when another one is written", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    const west = await startPhysicalCluster(t, { name: "west", generation: "1.28" });
    const targets = plane.client.resource(syncTargets);
    await register(plane.client, "one", { kubeconfig: east.kubeconfig });
    const shown = await untilCondition(plane.client, "one", { status: "True" });
    await targets.update({ ...shown, metadata: { ...shown.metadata, labels: { a: "b" } } });
    await untilCondition(plane.client, "one", { status: "True" });
    const same = { spec: { kubeconfig: east.kubeconfig } };
    const kept = await targets.patch({ name: "one" }, { type: "merge", patch: same });
    assert.equal(kept.spec?.kubeconfig, shown.spec?.kubeconfig);
    const other = { spec: { kubeconfig: west.kubeconfig } };
    await targets.patch({ name: "one" }, { type: "merge", patch: other });
    await eventually(async () => {
      const { status } = await targets.get({ name: "one" });
      assert.match(status?.version ?? "", /^v1\.28/);
    });
  });

  it("is of no use under another name or in another logical cluster", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const east = await startPhysicalCluster(t, { name: "east" });
    const { spec = {} } = await register(plane.client, "one", { kubeconfig: east.kubeconfig });
    const refused = (error: unknown) => isStatusError(error, "Invalid");
    await assert.rejects(register(plane.client, "two", spec), refused);
    await assert.rejects(register(plane.clientFor("elsewhere"), "one", spec), refused);
    await plane.client.resource(syncTargets).delete({ name: "one" });
  });
});

describe("the name of a SyncTarget", () => {
  it("has at most 56 characters", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    await register(plane.client, "n".repeat(56), { mode: "None" });
    const refused = (error: unknown) => isStatusError(error, "Invalid");
    await assert.rejects(register(plane.client, "n".repeat(57), { mode: "None" }), refused);
    await assert.rejects(register(plane.client, "with.dots", { mode: "None" }), refused);
  });
});

describe("SyncTargets", () => {
  it("beyond a thousand of a workspace, or longer than any kubeconfig, are refused", async (t) => {
    const plane = await startControlPlaneWithClusters(t);
    const refused = (error: unknown) => isStatusError(error, "Forbidden");
    const annotations = { note: "x".repeat(200_000) };
    const parts = {
      apiVersion: "v1",
      kind: "Config",
      "current-context": "x",
      clusters: [{ name: "x", cluster: { server: "https://cluster.example.com" } }],
      users: [{ name: "x", user: { token: "t" } }],
      contexts: [{ name: "x", context: { cluster: "x", user: "x" } }],
    };
    const kubeconfig = JSON.stringify(parts) + " ".repeat(150_000);
    const spec = { mode: "None", kubeconfig } as const;
    const long = { metadata: { name: "long", annotations }, spec };
    await assert.rejects(plane.client.resource(syncTargets).create(long), refused);
    const names = Array.from({ length: objectsMax.syncTargets }, (_, index) => `t${index}`);
    while (names.length > 0) {
      const some = names.splice(0, 50);
      await Promise.all(some.map((name) => register(plane.client, name, { mode: "None" })));
    }
    await assert.rejects(register(plane.client, "more", { mode: "None" }), refused);
    await register(plane.clientFor("elsewhere"), "more", { mode: "None" });
    const [name, labels] = ["t0", { app: "x" }];
    const patch = { type: "merge", patch: { metadata: { labels } } } as const;
    await plane.client.resource(syncTargets).patch({ name }, patch);
    await plane.client.resource(syncTargets).delete({ name });
    await eventually(() => register(plane.client, "more", { mode: "None" }));
  });
});
