import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  Controller,
  connect,
  defineResource,
  Informer,
  isTransportError,
  type KubernetesObject,
  logicalClusters,
  Manager,
  parseKubeconfig,
} from "@kcp-ts/sdk";
import { configMaps, namespaces } from "@kcp-ts/sdk/kinds";
import { eventually, flushEventLoop } from "@kcp-ts/testkit";
import { startTestControlPlane, type TestControlPlaneOptions } from "./internal.ts";

interface Website extends KubernetesObject {
  readonly spec?: { readonly title?: string; readonly pages?: number };
}

const websites = defineResource<Website>({
  group: "example.com",
  version: "v1",
  resource: "websites",
  kind: "Website",
  namespaced: true,
});

async function started(t: TestContext, options: TestControlPlaneOptions = {}) {
  const k = await startTestControlPlane({ controlLoops: false, ...options });
  t.after(() => k.close());
  return k;
}

const named = (name: string, data: Record<string, string> = {}) => ({
  metadata: { name, namespace: "default" },
  data,
});

describe("a test control plane", () => {
  it("serves an in-process administrator", async (t) => {
    const k = await started(t);
    const created = await k.client.resource(configMaps).create(named("a", { x: "1" }));
    assert.equal(created.metadata.annotations?.["kcp.io/cluster"], "root");
    const listed = await k.client.resource(configMaps).list();
    assert.deepEqual(
      listed.items.map(({ data }) => data),
      [{ x: "1" }],
    );
  });

  it("isolates logical clusters from each other", async (t) => {
    const k = await started(t);
    await k.clientFor("team-a").resource(configMaps).create(named("a"));
    await k.clientFor("team-b").resource(configMaps).create(named("b"));
    const names = async (cluster: string) =>
      (await k.clientFor(cluster).resource(configMaps).list()).items.map((o) => o.metadata.name);
    assert.deepEqual(await names("team-a"), ["a"]);
    assert.deepEqual(await names("team-b"), ["b"]);
    assert.deepEqual((await names("*")).sort(), ["a", "b"]);
  });

  it("rejects users without permissions, and calls the embedder's authorizers", async (t) => {
    const alice = { username: "alice", groups: ["developers"] };
    const plain = await started(t);
    await assert.rejects(
      plain.clientFor("root", alice).resource(configMaps).list(),
      (error: unknown) => isStatusError(error, "Forbidden"),
    );
    const k = await started(t, {
      authorizers: [
        {
          authorize: ({ user, cluster }) => ({
            allowed: user.groups.includes("developers") && cluster === "team-a",
            reason: "",
          }),
        },
      ],
    });
    await k.clientFor("team-a", alice).resource(configMaps).list();
    await assert.rejects(k.clientFor("team-b", alice).resource(configMaps).list(), /forbidden/);
  });

  it("can run many times in a process, without sharing objects", async (t) => {
    const planes = await Promise.all(Array.from({ length: 5 }, () => started(t)));
    await Promise.all(planes.map((k, at) => k.client.resource(configMaps).create(named(`n${at}`))));
    for (const [at, k] of planes.entries()) {
      const { items } = await k.client.resource(configMaps).list();
      assert.deepEqual(
        items.map(({ metadata }) => metadata.name),
        [`n${at}`],
      );
    }
  });

  it("calls admission plug-ins", async (t) => {
    const k = await started(t, {
      admissionPlugins: [
        {
          name: "NoSecretsInConfigMaps",
          validate(_request, object) {
            if (JSON.stringify(object).includes("password")) throw new Error("no passwords");
          },
        },
      ],
      log: silent,
    });
    await k.client.resource(configMaps).create(named("fine"));
    await assert.rejects(k.client.resource(configMaps).create(named("bad", { password: "x" })));
  });

  it("runs controllers over all logical clusters and stops them with itself", async (t) => {
    let ended = false;
    const k = await started(t, {
      controllers: [
        async ({ client, signal }) => {
          const clusters = logicalClusters({ client });
          const controller = new Controller({
            name: "stamp",
            clusters,
            reconcile: async ({ name, namespace }, context) => {
              const target = { name, namespace };
              const found = await context.client.resource(configMaps).find(target);
              if (found === undefined || found.data?.["stamped"] === "yes") return;
              await context.client
                .resource(configMaps)
                .patch(target, { type: "merge", patch: { data: { stamped: "yes" } } });
            },
          }).watch(configMaps);
          await new Manager({ clusters: [clusters], controllers: [controller] }).run(signal);
          ended = true;
        },
      ],
    });
    for (const cluster of ["one", "two"]) {
      await k.clientFor(cluster).resource(configMaps).create(named("a"));
    }
    await eventually(async () => {
      const { items } = await k.clientFor("*").resource(configMaps).list();
      assert.deepEqual(
        items.map(({ data }) => data?.["stamped"]),
        ["yes", "yes"],
      );
    });
    await k.close();
    assert.ok(ended);
  });

  it("passes every request through middleware, the first outermost", async (t) => {
    const seen: string[] = [];
    const layer = (name: string) => (request: unknown, next: (request: never) => unknown) => {
      seen.push(name);
      return next(request as never) as never;
    };
    const k = await started(t, { middleware: [layer("outer"), layer("inner")] });
    await k.client.resource(configMaps).list();
    assert.deepEqual(seen, ["outer", "inner"]);
  });

  it("opens a port and returns kubeconfigs on request", async (t) => {
    const k = await started(t);
    await k.clientFor("team-a").resource(configMaps).create(named("a"));
    const text = await k.kubeconfig({ cluster: "team-a" });
    const connection = connect(parseKubeconfig(text, { trust: "inline" }));
    t.after(() => connection.close());
    const { items } = await connection.client.resource(configMaps).list();
    assert.equal(items.length, 1);
    const bob = await k.kubeconfig({ user: { username: "bob", groups: [] } });
    const bobs = connect(parseKubeconfig(bob, { trust: "inline" }));
    t.after(() => bobs.close());
    await assert.rejects(bobs.client.resource(configMaps).list(), /"bob" cannot list/);
    assert.equal((await k.listen()).url, (await k.listen()).url);
  });

  it("compresses long lists for clients over sockets, which decode them", async (t) => {
    const k = await started(t);
    const maps = k.client.resource(configMaps);
    const data = { text: "ä".repeat(2000) };
    await Promise.all(Array.from({ length: 100 }, (_, i) => maps.create(named(`n${i}`, data))));
    const text = await k.kubeconfig();
    const { client, close } = connect(parseKubeconfig(text, { trust: "inline" }));
    t.after(close);
    const path = "/api/v1/namespaces/default/configmaps";
    const response = await client.send({ method: "GET", path, mayBeLong: true });
    assert.equal(response.headers["content-encoding"], "gzip");
    await response.body.text();
    const overSocket = await client.resource(configMaps).list({ namespace: "default" });
    assert.deepEqual(overSocket.items, (await maps.list({ namespace: "default" })).items);
  });

  it("is closed once, for any number of calls, and serves no more requests", async () => {
    const k = await startTestControlPlane({ log: silent, controlLoops: false });
    const watching = (async () => {
      for await (const _ of k.client.resource(configMaps).watch()) {
        // Nothing is written.
      }
    })();
    await eventually(() => assert.equal(k.faults.openWatches, 1));
    await Promise.all([k.close(), k.close(), k[Symbol.asyncDispose]()]);
    await watching;
    assert.equal(k.server.isReady, false);
  });

  it("installs CustomResourceDefinitions from files, into the given logical clusters", async (t) => {
    const path = fileURLToPath(new URL("../../../examples/website.crd.yaml", import.meta.url));
    const k = await started(t, { crds: [path] });
    const metadata = { name: "a", namespace: "default" };
    const site = { metadata, spec: { title: "A" } };
    const created = await k.client.resource(websites).create(site);
    assert.equal(created.spec?.pages, 1, "the schema's default");
    const elsewhere = k.clientFor("team-a");
    await assert.rejects(elsewhere.resource(websites).create(site), /could not find/);
    assert.deepEqual(await k.installCrds([path], "team-a"), ["websites.example.com"]);
    await elsewhere.resource(websites).create(site);
    assert.deepEqual(await k.installCrds([path], "team-a"), ["websites.example.com"], "again");
  });

  it("reports files without a CustomResourceDefinition", async () => {
    await assert.rejects(startTestControlPlane({ crds: ["package.json"] }), /apiVersion and kind/);
  });
});

describe("the controllers of a test control plane", () => {
  it("empty terminating namespaces, and finalize them", async (t) => {
    const k = await started(t, { controlLoops: true });
    const client = k.clientFor("team-a");
    await client.resource(namespaces).create({ metadata: { name: "short" } });
    const metadata = { name: "a", namespace: "short" };
    await client.resource(configMaps).create({ metadata });
    await client.resource(namespaces).delete({ name: "short" });
    await eventually(async () => {
      assert.equal(await client.resource(namespaces).find({ name: "short" }), undefined);
    });
    assert.equal(await client.resource(configMaps).find(metadata), undefined);
  });

  it("delete objects whose owners are deleted", async (t) => {
    const k = await started(t, { controlLoops: true });
    const client = k.client.resource(configMaps);
    const { metadata } = await client.create(named("owner"));
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: "owner", uid: metadata.uid ?? "" };
    await client.create({
      metadata: { name: "owned", namespace: "default", ownerReferences: [owner] },
    });
    await client.delete({ namespace: "default", name: "owner" });
    await eventually(async () => {
      assert.equal(await client.find({ namespace: "default", name: "owned" }), undefined);
    });
  });

  it("create the default objects of every namespace", async (t) => {
    const k = await started(t, { controlLoops: true });
    await k.client.resource(namespaces).create({ metadata: { name: "new" } });
    const at = { namespace: "new", name: "kube-root-ca.crt" };
    const { data } = await eventually(() => k.client.resource(configMaps).get(at));
    assert.equal(data?.["ca.crt"], (await k.listen()).caPem);
  });

  it("stop with it at once, also on a stopped clock", async () => {
    const k = await startTestControlPlane({ clock: "fake" });
    await k.client.resource(configMaps).create(named("a"));
    await flushEventLoop(20);
    await k.close();
    assert.equal(k.clock.pendingTimers, 0);
  });
});

describe("a fake clock", () => {
  it("dates objects and moves only when the test moves it", async (t) => {
    const k = await startTestControlPlane({ clock: "fake", controlLoops: false });
    t.after(() => k.close());
    const created = await k.client.resource(configMaps).create(named("a"));
    assert.equal(created.metadata.creationTimestamp, "2026-01-01T00:00:00Z");
    k.clock.advance(3_600_000);
    const later = await k.client.resource(configMaps).create(named("b"));
    assert.equal(later.metadata.creationTimestamp, "2026-01-01T01:00:00Z");
  });

  it("delays timers until it has moved", async (t) => {
    const k = await startTestControlPlane({ clock: "fake", controlLoops: false });
    t.after(() => k.close());
    k.faults.add({ latencyMs: 5000, times: 1 });
    let isAnswered = false;
    const listing = k.client
      .resource(configMaps)
      .list()
      .then(() => {
        isAnswered = true;
      });
    await flushEventLoop();
    await k.clock.advanceAndFlush(4999);
    assert.equal(isAnswered, false);
    await k.clock.advanceAndFlush(1);
    await listing;
  });
});

describe("faults", () => {
  it("respond with an error as often as configured, to the requests that they match", async (t) => {
    const k = await started(t);
    const fault = k.faults.add({
      match: { resource: "configmaps", method: "POST", cluster: "root", namespace: "default" },
      error: { code: 500, message: "broken on purpose" },
      times: 2,
    });
    const create = (name: string) => k.client.resource(configMaps).create(named(name));
    await assert.rejects(create("a"), /broken on purpose/);
    await k.clientFor("other").resource(configMaps).create(named("a"));
    await assert.rejects(create("a"), /broken on purpose/);
    assert.equal(fault.hits, 2);
    await create("a");
    await assert.rejects(create("a"), (error: unknown) => isStatusError(error, "AlreadyExists"));
  });

  it("lose a request before the server gets it, or a response after it", async (t) => {
    const k = await started(t);
    const client = k.client.resource(configMaps);
    k.faults.add({ match: { method: "POST" }, drop: "before", times: 1 });
    await assert.rejects(client.create(named("a")), (e: unknown) =>
      isTransportError(e, "connection-lost"),
    );
    assert.equal(await client.find({ namespace: "default", name: "a" }), undefined);
    k.faults.add({ match: { method: "POST" }, drop: "after", times: 1 });
    await assert.rejects(client.create(named("a")), (e: unknown) =>
      isTransportError(e, "connection-lost"),
    );
    assert.ok(await client.find({ namespace: "default", name: "a" }));
  });

  it("are retried by clients when they set Retry-After", async (t) => {
    const k = await started(t);
    const fault = k.faults.add({ error: { code: 429, retryAfterSeconds: 0 }, times: 3 });
    await k.client.resource(configMaps).list();
    assert.equal(fault.hits, 3);
  });

  it("stop when they are removed or cleared", async (t) => {
    const k = await started(t);
    const fault = k.faults.add({ error: { code: 503 } });
    await assert.rejects(k.client.resource(configMaps).list());
    fault.remove();
    await k.client.resource(configMaps).list();
    k.faults.add({ error: { code: 503 } });
    k.faults.clear();
    await k.client.resource(configMaps).list();
  });

  for (const way of ["in process", "over a socket"] as const) {
    it(`drop watches that informers ${way} take up again without a loss`, async (t) => {
      const k = await started(t);
      const connection = connect(parseKubeconfig(await k.kubeconfig(), { trust: "inline" }));
      t.after(() => connection.close());
      const client = way === "in process" ? k.client : connection.client;
      const names = new Set<string>();
      const informer = new Informer({ client, resource: configMaps, scope: "all-clusters" });
      informer.addHandler({ added: (object) => names.add(object.metadata.name) });
      const stop = new AbortController();
      const running = informer.run(stop.signal);
      await informer.synced();
      await eventually(() => assert.equal(k.faults.openWatches, 1));
      assert.equal(k.faults.dropWatches({ resource: "secrets" }), 0);
      assert.equal(k.faults.dropWatches({ resource: "configmaps" }), 1);
      await k.client.resource(configMaps).create(named("after"));
      await eventually(() => assert.ok(names.has("after")));
      stop.abort();
      await running;
      await eventually(() => assert.equal(k.faults.openWatches, 0));
    });
  }
});

const silent = {
  isDebugEnabled: false,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
