/** What a new user meets: a controller of an own kind, from its first run on. */
import assert from "node:assert/strict";
import { type AddressInfo, connect as connectSocket, createServer } from "node:net";
import { describe, it } from "node:test";
import { rootCertificates } from "node:tls";
import { fileURLToPath } from "node:url";
import {
  AllClustersError,
  type ControllerDefinition,
  connect,
  controlledBy,
  controllerFor,
  defineResource,
  fieldConflicts,
  type KubernetesObject,
  type Log,
  logicalClusters,
  parseKubeconfig,
  run,
} from "@kcp-ts/sdk";
import {
  configMaps,
  events,
  namespaces,
  secrets,
  serviceAccounts,
  services,
} from "@kcp-ts/sdk/kinds";
import { defineKind, object, string } from "@kcp-ts/sdk/schema";
import { eventually } from "@kcp-ts/testkit";
import { customResourceDefinitions } from "./install-crds.ts";
import { startTestControlPlane, type TestControlPlane } from "./test-control-plane.ts";

interface Website extends KubernetesObject {
  readonly spec: { readonly title: string; readonly pages?: number };
  readonly status?: { readonly ready?: boolean };
}
const websites = defineResource<Website>({
  group: "example.com",
  version: "v1",
  resource: "websites",
  kind: "Website",
  namespaced: true,
});
const crd = fileURLToPath(new URL("../../../examples/website.crd.yaml", import.meta.url));
const at = { name: "hello", namespace: "default" };

function lines(): Log & { readonly all: string[] } {
  const all: string[] = [];
  const add = (level: string) => (message: string) => void all.push(`${level} ${message}`);
  return { all, debug() {}, info: add("info"), warn: add("warn"), error: add("error") };
}

const pages: ControllerDefinition = controllerFor(websites, { name: "pages" })
  .owns(configMaps)
  .reconcile(async (website, { client }) => {
    const { name, namespace } = website.metadata;
    const metadata = { name, namespace, ownerReferences: [controlledBy(website)] };
    const data = { "index.html": `<h1>${website.spec.title}</h1>` };
    await client.resource(configMaps).apply({ metadata, data });
    await client.resource(websites).setStatus(website, { ready: true });
  });

async function withProgram(
  k: TestControlPlane,
  options: Omit<Parameters<typeof run>[0], "signal">,
  test: () => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const running = run({ ...options, signal: stop.signal });
  try {
    await Promise.race([test(), running]);
  } finally {
    stop.abort();
    await running;
    await k.close();
  }
}

describe("the first run of a controller", () => {
  it("reconciles an own kind, repairs what it owns, and keeps quiet when nothing changes", async () => {
    const k = await startTestControlPlane({ crds: [crd] });
    const log = lines();
    await withProgram(k, { clusters: k.client, controllers: [pages], log, port: 0 }, async () => {
      const client = k.client.resource(websites);
      await client.create({ metadata: at, spec: { title: "Hello" } });
      await eventually(async () => assert.equal((await client.get(at)).status?.ready, true));
      await k.client.resource(configMaps).delete(at);
      const page = await eventually(() => k.client.resource(configMaps).get(at));
      assert.equal(page.data?.["index.html"], "<h1>Hello</h1>");
      const port = /metrics on port (\d+)/.exec(log.all.join("\n"))?.[1];
      const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      assert.match(metrics, /controller_runtime_reconcile_total\{controller="pages"/);
      assert.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200);
    });
    assert.deepEqual(
      log.all.filter((line) => !line.startsWith("info")),
      [],
    );
    assert.match(log.all[0] ?? "", /^info pages started, metrics on port \d+$/);
  });

  it("works in all logical clusters that define the kind, each by itself", async () => {
    const k = await startTestControlPlane();
    for (const cluster of ["team-a", "team-b"]) await k.installCrds([crd], cluster);
    const log = lines();
    const clusters = logicalClusters({ client: k.client, log });
    await withProgram(k, { clusters, controllers: [pages], log }, async () => {
      const create = (cluster: string) =>
        k
          .clientFor(cluster)
          .resource(websites)
          .create({ metadata: at, spec: { title: cluster } });
      const pageOf = (cluster: string) =>
        eventually(async () => {
          const page = await k.clientFor(cluster).resource(configMaps).get(at);
          return page.data?.["index.html"];
        });
      await create("team-a");
      assert.equal(await pageOf("team-a"), "<h1>team-a</h1>");
      await create("team-b");
      assert.equal(await pageOf("team-b"), "<h1>team-b</h1>");
      // A cluster that defines it only now, while the watch runs.
      await k.installCrds([crd], "team-c");
      await create("team-c");
      assert.equal(await pageOf("team-c"), "<h1>team-c</h1>");
      const site = k.clientFor("team-b").resource(websites);
      await site.patch(at, { type: "merge", patch: { spec: { title: "new" } } });
      await eventually(async () => assert.equal(await pageOf("team-b"), "<h1>new</h1>"));
    });
    assert.match(log.all.join("\n"), /only metadata is served/);
    assert.deepEqual(
      log.all.filter((line) => !line.startsWith("info")),
      [],
    );
  });

  it("leaves out objects of a cluster that defines another version", async () => {
    const k = await startTestControlPlane();
    await k.installCrds([crd], "team-a");
    const definition = await k
      .clientFor("team-a")
      .resource(customResourceDefinitions)
      .get({ name: "websites.example.com" });
    const { versions } = definition.spec as { versions: { name: string }[] };
    const other = { ...definition.spec, versions: versions.map((one) => ({ ...one, name: "v9" })) };
    const metadata = { name: "websites.example.com" };
    await k
      .clientFor("team-x")
      .resource(customResourceDefinitions)
      .create({ metadata, spec: other });
    const later = defineResource<Website>({ ...websites, version: "v9" });
    await eventually(() =>
      k
        .clientFor("team-x")
        .resource(later)
        .create({ metadata: at, spec: { title: "x" } }),
    );
    const log = lines();
    const clusters = logicalClusters({ client: k.client, log });
    await withProgram(k, { clusters, controllers: [pages], log }, async () => {
      const client = k.clientFor("team-a");
      await client.resource(websites).create({ metadata: at, spec: { title: "a" } });
      await eventually(() => client.resource(configMaps).get(at));
    });
  });

  it("ends at once, with two ways out, where the user may not read all logical clusters", async () => {
    const k = await startTestControlPlane({ crds: [crd] });
    const alice = k.clientFor("root", { username: "alice", groups: ["system:authenticated"] });
    const clusters = logicalClusters({ client: alice });
    await assert.rejects(
      run({ clusters, controllers: [pages], log: lines(), signal: new AbortController().signal }),
      (error: Error) => {
        assert.ok(error instanceof AllClustersError);
        assert.match(error.message, /alice.*cannot/);
        assert.match(error.message, /singleCluster\(.*exportConsumers\(/);
        return true;
      },
    );
    await k.close();
  });

  it("says in one line that a kind is not served, and starts when it is", async () => {
    const k = await startTestControlPlane();
    const log = lines();
    await withProgram(k, { clusters: k.client, controllers: [pages], log }, async () => {
      await eventually(() => {
        const line = log.all.find((one) => one.startsWith("warn"));
        assert.match(
          line ?? "",
          /^warn watch of websites\.v1\.example\.com: .*not served.*404.*api-resources.*crd/,
        );
        assert.doesNotMatch(line ?? "", /\n/);
      });
      await k.installCrds([crd]);
      await k.client.resource(websites).create({ metadata: at, spec: { title: "late" } });
      await eventually(() => k.client.resource(configMaps).get(at));
    });
  });

  it("says that the namespace of its lease is missing, and leads when it is there", async () => {
    const k = await startTestControlPlane({ crds: [crd] });
    const log = lines();
    const lease = { namespace: "later", name: "pages" };
    const leaderElection = { lease, retryPeriodMs: 50 };
    const program = { clusters: k.client, controllers: [pages], log, leaderElection };
    await withProgram(k, program, async () => {
      await eventually(() =>
        assert.match(
          log.all.join("\n"),
          /warn leader election: namespaces "later" not found \(404\)/,
        ),
      );
      await k.client.resource(namespaces).create({ metadata: { name: "later" } });
      await k.client.resource(websites).create({ metadata: at, spec: { title: "late" } });
      await eventually(() => k.client.resource(configMaps).get(at));
    });
  });

  it("rejects with what to do where its port is taken", async () => {
    const k = await startTestControlPlane({ crds: [crd] });
    const port = Number(new URL(serverOf(await k.kubeconfig())).port);
    const program = { clusters: k.client, controllers: [pages], log: lines(), host: "127.0.0.1" };
    await assert.rejects(run({ ...program, port }), /EADDRINUSE.*Next: give run another port/);
    await k.close();
  });

  it("says of a kind without the status subresource that it has none", async () => {
    const names = { group: "example.com", version: "v1", kind: "Website" };
    const { definition } = defineKind({ ...names, spec: object({ title: string() }) });
    const k = await startTestControlPlane({ crds: [definition] });
    const log = lines();
    await withProgram(k, { clusters: k.client, controllers: [pages], log }, async () => {
      await k.client.resource(websites).create({ metadata: at, spec: { title: "a" } });
      await eventually(() =>
        assert.match(
          log.all.join("\n"),
          /websites\.v1\.example\.com has no status subresource\. Next: add "subresources/,
        ),
      );
    });
  });

  for (const [mistake, change, line] of [
    [
      "a token that the server does not know",
      (text: string) => text.replace(/"token": "[^"]*"/, '"token": "unknown"'),
      /^warn watch of \w+\.v1\S*: Unauthorized \(401\)\. Next: .*whoami/,
    ],
    [
      "a certificate authority of another server",
      (text: string) =>
        text.replace(
          /("certificate-authority-data"): "[^"]*"/,
          (_, name: string) => `${name}: "${btoa(rootCertificates[0] ?? "")}"`,
        ),
      /^warn watch of \w+\.v1\S*: cannot connect .* Next: the certificate authority of the kubeconfig/,
    ],
    [
      "a certificate authority that is no certificate",
      (text: string) =>
        text.replace(/("certificate-authority-data"): "[^"]*"/, '$1: "bm90IGEgY2VydA=="'),
      /^warn watch of \w+\.v1\S*: certificate-authority-data has no certificate in PEM\. Next: /,
    ],
    [
      "a workspace that does not exist",
      (text: string) => text.replace("/clusters/root", "/clusters/root:nowhere"),
      /^warn watch of \w+\.v1\S*: .*root:nowhere.* \(404\)\. Next: correct the path/,
    ],
    [
      "a token in a file that is missing",
      (text: string) => text.replace(/"token": "[^"]*"/, '"tokenFile": "/nowhere/token"'),
      /^warn watch of \w+\.v1\S*: the kubeconfig names a file: .*\/nowhere\/token.* Next: /,
    ],
  ] as const) {
    it(`says in one line for all watches what is wrong with ${mistake}`, async () => {
      const k = await startTestControlPlane({ crds: [crd] });
      const trust = { resolvePath: (path: string) => path };
      const { client, close } = connect(parseKubeconfig(change(await k.kubeconfig()), { trust }));
      const log = lines();
      const both = controllerFor(websites, { name: "both" })
        .owns(configMaps)
        .reads(secrets)
        .reconcile(async () => {});
      await withProgram(k, { clusters: client, controllers: [both], log }, async () => {
        await eventually(() => assert.match(log.all[1] ?? "", line));
      });
      assert.equal(log.all.filter((one) => one.startsWith("warn")).length, 1);
      await close();
    });
  }

  it("says which permission is missing, and where a reconciler has a bug", async () => {
    const k = await startTestControlPlane({ crds: [crd] });
    const log = lines();
    const alice = k.clientFor("root", { username: "alice", groups: ["system:authenticated"] });
    const stop = new AbortController();
    const running = run({ clusters: alice, controllers: [pages], log, signal: stop.signal });
    await eventually(() => assert.match(log.all.join("\n"), /alice.*403.*Role/));
    stop.abort();
    await running;
    const buggy = controllerFor(configMaps, { name: "buggy" }).reconcile(async () => {
      throw new TypeError("title of undefined");
    });
    await withProgram(k, { clusters: k.client, controllers: [buggy], log }, async () => {
      await k.client.resource(configMaps).create({ metadata: at });
      await eventually(() =>
        assert.match(
          log.all.join("\n"),
          /warn buggy: root\|default\/hello: TypeError: title of undefined \(at .*first-run.*\); attempt 1/,
        ),
      );
    });
  });
});

describe("a reconcile", () => {
  it("reads what the one before it wrote, also when the watch is late", async () => {
    const k = await startTestControlPlane({ crds: [crd] });
    let runs = 0;
    const counted: (number | undefined)[] = [];
    const controller = controllerFor(websites, { name: "counter" })
      .owns(configMaps)
      .reconcile(async (website, { client, cached }) => {
        // The watch shows neither of the two writes in this reconcile.
        const { name, namespace } = website.metadata;
        const owned = { namespace, ownerReferences: [controlledBy(website)] };
        counted.push(cached(configMaps).ownedBy(website).length);
        if (++runs > 1) return;
        for (const part of ["a", "b"]) {
          const metadata = { ...owned, name: `${name}-${part}` };
          await client.resource(configMaps).create({ metadata });
        }
        counted.push(cached(configMaps).ownedBy(website).length);
        assert.ok(cached(configMaps).get({ name: `${name}-a`, namespace }));
        await client.resource(configMaps).delete({ name: `${name}-b`, namespace });
        // The certificate of the server may be there, too.
        const own = ({ metadata }: KubernetesObject) => metadata.name.startsWith(name);
        counted.push(cached(configMaps).list({ namespace }).filter(own).length);
        await client.resource(websites).setStatus(website, { ready: true });
        assert.equal(cached(websites).get(website.metadata)?.status?.ready, true);
      });
    await withProgram(
      k,
      { clusters: k.client, controllers: [controller], log: lines() },
      async () => {
        await k.client.resource(websites).create({ metadata: at, spec: { title: "x" } });
        await eventually(() => assert.equal(runs > 1, true));
      },
    );
    assert.deepEqual(counted.slice(0, 4), [0, 2, 1, 1]);
  });

  it("applies under the controller's name, and outside of it under the program's", async () => {
    const k = await startTestControlPlane({ crds: [crd] });
    const managers = async (name: string) =>
      (await k.client.resource(configMaps).get({ ...at, name })).metadata.managedFields?.map(
        ({ manager, operation }) => `${operation} ${manager}`,
      );
    await k.client
      .resource(configMaps)
      .apply({ metadata: { ...at, name: "by-hand" }, data: { a: "1" } });
    assert.deepEqual(await managers("by-hand"), ["Apply kcp-ts-sdk"]);
    await withProgram(k, { clusters: k.client, controllers: [pages], log: lines() }, async () => {
      await k.client.resource(websites).create({ metadata: at, spec: { title: "x" } });
      await eventually(async () => assert.deepEqual(await managers(at.name), ["Apply pages"]));
    });
  });

  it("gets the fields of an apply that others own", async () => {
    const k = await startTestControlPlane();
    const client = k.client.resource(configMaps);
    await client.apply({ metadata: at, data: { a: "1" } }, { fieldManager: "one" });
    const error = await client
      .apply({ metadata: at, data: { a: "2" } }, { fieldManager: "two" })
      .catch((failure: unknown) => failure);
    assert.deepEqual(
      fieldConflicts(error)?.map(({ field }) => field),
      [".data.a"],
    );
    assert.equal(fieldConflicts(new Error("other")), undefined);
    await k.close();
  });
});

describe("the watches of a controller", () => {
  it("are one for each resource, all of them on one connection, whatever the number of clusters", async () => {
    const k = await startTestControlPlane();
    for (const team of ["a", "b", "c"])
      await k.clientFor(team).resource(configMaps).create({ metadata: at });
    const { port: target } = new URL(serverOf(await k.kubeconfig()));
    let connections = 0;
    const relay = createServer((client) => {
      connections++;
      const server = connectSocket(Number(target), "127.0.0.1");
      client.on("error", () => server.destroy()).pipe(server);
      server.on("error", () => client.destroy()).pipe(client);
    });
    await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
    const { port } = relay.address() as AddressInfo;
    const text = (await k.kubeconfig()).replaceAll(`:${target}`, `:${port}`);
    const { client, close } = connect(parseKubeconfig(text, { trust: "inline" }));
    const seen = new Set<string>();
    const one = controllerFor(configMaps)
      .owns(secrets)
      .owns(services)
      .watches(namespaces, () => [])
      .reads(serviceAccounts)
      .reads(events)
      .reconcile(async (_, { key }) => void seen.add(key.cluster));
    const clusters = logicalClusters({ client });
    await withProgram(k, { clusters, controllers: [one], log: lines() }, async () => {
      await eventually(() => assert.ok(["a", "b", "c"].every((team) => seen.has(team))));
      assert.equal(k.faults.openWatches, 6);
      assert.equal(connections, 1);
    });
    await close();
    relay.close();
  });
});

function serverOf(kubeconfig: string): string {
  const { clusters } = parseKubeconfig(kubeconfig, { trust: "inline" });
  return [...clusters.values()][0]?.server ?? "";
}
