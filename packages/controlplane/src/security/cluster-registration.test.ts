/** Goal: whom this server connects to is the operator's to say, and a cluster that answers with too much of anything costs others nothing. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, describe, it, type TestContext } from "node:test";
import { gzipSync } from "node:zlib";
import { systemClock } from "@kcp-ts/machinery/base";
import { syncTargets } from "@kcp-ts/multicluster";
import { findCondition } from "@kcp-ts/sdk";
import {
  createCertificateAuthority,
  exportKey,
  generateKey,
  issueCertificate,
} from "../certificates/index.ts";
import { statusOf } from "../physical-clusters/agents.ts";
import { impatient } from "../physical-clusters/fixture.ts";
import { eventually } from "../testing/index.ts";
import { admin, alice, bob, kinds, master, Tenants } from "../workspaces/tenants.ts";

const rbac = "rbac.authorization.k8s.io";

describe("registering a cluster", () => {
  let tenants: Tenants;
  before(async () => {
    tenants = await Tenants.start();
    await tenants.workspace("root", "org", { user: master });
    await tenants.grant("root:org", alice, ["cluster-admin"]);
    await tenants.grant("root:org", bob, ["cluster-admin"]);
  });
  after(() => tenants.close());

  const create = (user: typeof alice, name: string, spec: object) =>
    statusOf(
      tenants.at("root:org", user).resource(syncTargets).create({ metadata: { name }, spec }),
    );
  const patch = (user: typeof alice, name: string, change: object) =>
    statusOf(
      tenants
        .at("root:org", user)
        .resource(syncTargets)
        .patch({ name }, { type: "merge", patch: change as never }),
    );
  const ref = { kubeconfigSecretRef: { namespace: "default", name: "k" } };

  it("is refused to who rules a workspace, in every mode and by every way", async () => {
    for (const spec of [ref, { mode: "Pull" }, { mode: "None" }, {}])
      assert.equal(await create(alice, "own", spec), 403, JSON.stringify(spec));
    const apply = tenants
      .at("root:org", alice)
      .resource(syncTargets)
      .apply({ metadata: { name: "own" }, spec: ref }, { fieldManager: "x", force: true });
    assert.equal(await statusOf(apply), 403);
    // Whom she lets in acts for her, and for nobody else.
    await tenants
      .at("root:org", alice)
      .resource(kinds.clusterRoles)
      .create({
        metadata: { name: "registrar" },
        rules: [
          { apiGroups: [syncTargets.group], resources: ["synctargets"], verbs: ["register"] },
        ],
      } as never);
    assert.equal(await create(alice, "own", ref), 403);
  });

  it("is for operators, and for those whom they grant the verb in root", async () => {
    assert.equal(await create(master, "of-master", ref), 200);
    assert.equal(await create(admin, "of-admin", { mode: "Pull" }), 200);
    const root = tenants.at("root", master);
    await root.resource(kinds.clusterRoles).create({
      metadata: { name: "cluster-registrar" },
      rules: [{ apiGroups: [syncTargets.group], resources: ["synctargets"], verbs: ["register"] }],
    } as never);
    await root.resource(kinds.clusterRoleBindings).create({
      metadata: { name: "cluster-registrars" },
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "cluster-registrar" },
      subjects: [{ apiGroup: rbac, kind: "User", name: "bob" }],
    } as never);
    await eventually(async () => assert.equal(await create(bob, "of-bob", ref), 200));
    assert.equal(await create(alice, "of-alice", ref), 403);
  });

  it("covers leading a registered one elsewhere, and nothing else of it", async () => {
    const elsewhere = { kubeconfigSecretRef: { namespace: "default", name: "other" } };
    assert.equal(await patch(alice, "of-master", { spec: elsewhere }), 403);
    assert.equal(await patch(alice, "of-master", { spec: { mode: "Pull" } }), 403);
    assert.equal(await patch(alice, "of-admin", { spec: { mode: "Push", ...ref } }), 403);
    assert.equal(await patch(alice, "of-master", { spec: { unschedulable: true } }), 200);
    assert.equal(await patch(alice, "of-master", { metadata: { labels: { zone: "a" } } }), 200);
  });
});

type Answer = (url: string, response: ServerResponse) => void;

/** A server that answers as it likes. */
async function hostile(
  t: TestContext,
  answer: Answer,
): Promise<{ kubeconfig: string; asked: string[] }> {
  const now = systemClock.now();
  const authority = createCertificateAuthority({ commonName: "hostile", now });
  const key = generateKey();
  const { certificatePem: cert } = issueCertificate({
    ...{ authority, key, now, subject: { commonName: "hostile" } },
    ...{ purposes: ["serverAuth"], hostnames: ["127.0.0.1"] },
  });
  const asked: string[] = [];
  const server: Server = createServer({ cert, key: exportKey(key) }, (request, response) => {
    asked.push(request.url ?? "");
    response.on("error", () => {});
    answer(request.url ?? "", response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ca = Buffer.from(authority.certificatePem).toString("base64");
  const kubeconfig = JSON.stringify({
    ...{ apiVersion: "v1", kind: "Config", "current-context": "x" },
    clusters: [{ name: "x", cluster: { server: url, "certificate-authority-data": ca } }],
    users: [{ name: "x", user: { token: "t" } }],
    contexts: [{ name: "x", context: { cluster: "x", user: "x" } }],
  });
  return { kubeconfig, asked };
}

const json = { "content-type": "application/json" };
const many = Buffer.from(`[${"[{}],".repeat(10_000)}[]]`);
const long = Buffer.concat([
  Buffer.from('{"kind":"APIGroupDiscoveryList","items":['),
  ...Array.from({ length: 1000 }, () => Buffer.concat([many, Buffer.from(",")])),
  Buffer.from("[]]}"),
]);
const packed = gzipSync(long);
const version = JSON.stringify({ gitVersion: "v1.36.0" });

/** Sixty megabytes and more for everything but what it takes to be asked further. */
const waysToAnswer: Readonly<Record<string, Answer>> = {
  "with sixty megabytes of JSON": (url, response) => {
    if (url.startsWith("/version")) response.writeHead(200, json).end(version);
    else if (url.startsWith("/readyz")) response.writeHead(200).end("ok");
    else response.writeHead(200, json).end(long);
  },
  "with little that becomes sixty megabytes": (url, response) => {
    if (url.startsWith("/version")) response.writeHead(200, json).end(version);
    else if (url.startsWith("/readyz")) response.writeHead(200).end("ok");
    else response.writeHead(200, { ...json, "content-encoding": "gzip" }).end(packed);
  },
  "with errors of sixty megabytes": (_url, response) => {
    response.writeHead(500, json).end(long);
  },
  "with a version of sixty megabytes": (_url, response) => {
    response.writeHead(200, json).end(long);
  },
  "with headers of a megabyte": (_url, response) => {
    response.writeHead(200, { ...json, "x-long": "x".repeat(1 << 20) }).end(version);
  },
  "by sending elsewhere": (_url, response) => {
    response.writeHead(302, { location: "https://127.0.0.1:1/elsewhere" }).end();
  },
};

describe("a cluster that answers", () => {
  let tenants: Tenants;
  before(async () => {
    tenants = await Tenants.start({ physicalClusters: impatient });
  });
  after(() => tenants.close());

  for (const [index, [way, answer]] of Object.entries(waysToAnswer).entries()) {
    it(`${way} is told so on its SyncTarget, and takes little memory`, async (t) => {
      const { kubeconfig, asked } = await hostile(t, answer);
      const client = tenants.at("root", master);
      const name = `hostile-${index}`;
      const before = process.memoryUsage().rss;
      await client.resource(syncTargets).create({ metadata: { name }, spec: { kubeconfig } });
      await eventually(
        async () => {
          const { status } = await client.resource(syncTargets).get({ name });
          const conditions = status?.conditions ?? [];
          const bad = ["Ready", "APIImporterReady"].map((type) => findCondition(conditions, type));
          assert.ok(
            bad.some((one) => one?.status === "False" && one.message !== ""),
            JSON.stringify(conditions),
          );
          assert.ok(asked.length >= 3, "asked once only");
        },
        { timeoutMs: 120_000 },
      );
      const grownMegabytes = (process.memoryUsage().rss - before) / (1 << 20);
      assert.ok(grownMegabytes < 400, `${grownMegabytes} MB`);
      await client.resource(syncTargets).delete({ name });
    });
  }
});
