/**
 * Goal: every verb of the client means the same on our server, whatever it stores in, and on a real
 * kube-apiserver, over both protocols, while the network is slow and drops connections. Method: one
 * history of requests through a proxy that passes bytes on late. Connections are dropped in front
 * of reads, which are safe to send again.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import type { Client, NodeTransport, ResourceClient } from "@kcp-ts/sdk";
import { type ConfigMap, configMaps, serviceAccounts } from "@kcp-ts/sdk/kinds";
import { FaultProxy } from "@kcp-ts/testkit";
import { clientOver, servers, throughProxy } from "./faulty-network.ts";
import type { SoakServer } from "./soak-server.ts";

const namespace = "default";

interface Way {
  readonly client: Client;
  readonly maps: ResourceClient<ConfigMap>;
  /** What the objects of one test have in common, and no other's. */
  readonly label: string;
  drop(): void;
}

for (const [name, start, missing] of servers) {
  describe(`a client on ${name}, through a faulty network`, { skip: missing ?? false }, () => {
    let server: SoakServer;
    before(async () => {
      server = await start(systemClock);
    });
    after(() => server.close());

    for (const protocol of ["negotiate", "http1"] as const) {
      const run = (what: string, test: (way: Way) => Promise<void>): void => {
        it(`${what} over ${protocol}`, async () => {
          const proxy = await FaultProxy.start({ host: "127.0.0.1", port: server.port });
          const transport = throughProxy(server, proxy, { clock: systemClock, protocol });
          try {
            proxy.setFaults({ latencyMs: 3 });
            await test(wayThrough(server, proxy, transport, `${what.split(" ")[0]}-${protocol}`));
          } finally {
            await transport.close();
            await proxy.dispose();
          }
        });
      };
      run("writes and reads", writes);
      run("patches and applies", patches);
      run("lists by pages, as metadata and as a table", lists);
      run("watches and reads initial events", watches);
      run("speaks to subresources", subresources);
    }
  });
}

function wayThrough(
  server: SoakServer,
  proxy: FaultProxy,
  transport: NodeTransport,
  label: string,
): Way {
  const plain = clientOver(transport, server, systemClock);
  const client = server.clusters.length > 1 ? plain.inCluster("root") : plain;
  return { client, maps: client.resource(configMaps), label, drop: () => proxy.dropConnections() };
}

async function writes({ maps, label, drop }: Way): Promise<void> {
  const target = { namespace, name: label };
  const made = await maps.create({ metadata: target, data: { a: "1" } });
  drop();
  assert.deepEqual(await maps.get(target), made);
  await assert.rejects(maps.create({ metadata: target }), { reason: "AlreadyExists" });
  const updated = await maps.update({ ...made, data: { a: "2" } }, { fieldManager: "tester" });
  assert.ok(updated.metadata.managedFields?.some(({ manager }) => manager === "tester"));
  await assert.rejects(maps.update({ ...made, data: { a: "3" } }), { reason: "Conflict" });
  await maps.modify(target, (map) => ({ ...map, data: { ...map.data, b: "1" } }));
  await maps.create({ metadata: { namespace, name: `${label}-dry` } }, { dryRun: true });
  drop();
  assert.equal(await maps.find({ namespace, name: `${label}-dry` }), undefined);
  assert.deepEqual((await maps.get(target)).data, { a: "2", b: "1" });
  const preconditions = { uid: "another" };
  await assert.rejects(maps.delete(target, { preconditions }), { reason: "Conflict" });
  await maps.delete(target);
  drop();
  await assert.rejects(maps.get(target), { reason: "NotFound", code: 404 });
}

async function patches({ maps, label }: Way): Promise<void> {
  const target = { namespace, name: label };
  const applied = { metadata: target, data: { a: "1" } };
  await maps.apply(applied, { fieldManager: "one" });
  await assert.rejects(maps.apply({ ...applied, data: { a: "2" } }, { fieldManager: "two" }), {
    reason: "Conflict",
  });
  await maps.apply({ ...applied, data: { a: "2" } }, { fieldManager: "two", force: true });
  await maps.patch(target, { type: "merge", patch: { data: { b: "1", c: "1" } } });
  await maps.patch(target, { type: "strategic-merge", patch: { data: { c: null } } });
  const operations = [
    { op: "test", path: "/data/b", value: "1" },
    { op: "replace", path: "/data/b", value: "2" },
  ] as const;
  const { data } = await maps.patch(target, { type: "json", operations });
  assert.deepEqual(data, { a: "2", b: "2" });
}

async function lists({ maps, label, drop }: Way): Promise<void> {
  const names = Array.from({ length: 7 }, (_, i) => `${label}-${i}`);
  const selector = { namespace, labelSelector: `way=${label}` };
  for (const name of names) {
    await maps.create({ metadata: { namespace, name, labels: { way: label } }, data: { name } });
  }
  const pages: string[][] = [];
  for await (const { items } of maps.pages({ ...selector, pageSize: 3 })) {
    pages.push(items.map(({ metadata }) => metadata.name));
    drop();
  }
  assert.deepEqual(
    pages.map(({ length }) => length),
    [3, 3, 1],
  );
  assert.deepEqual(pages.flat(), names);
  const members = { metadata: { name: true } } as const;
  const cut: ConfigMap[] = [];
  for await (const batch of maps.batches({ ...selector, pageSize: 2, members })) cut.push(...batch);
  const expected = names.map((name) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name },
  }));
  assert.deepEqual(cut, expected);
  drop();
  const metadata = await maps.listMetadata(selector);
  assert.deepEqual(
    metadata.items.map((item) => [item.kind, item.metadata.name, "data" in item]),
    names.map((name) => ["PartialObjectMetadata", name, false]),
  );
  const table = await maps.table(selector);
  assert.equal(table.columnDefinitions[0]?.name, "Name");
  assert.deepEqual(
    table.rows.map(({ cells }) => cells[0]),
    names,
  );
  await maps.deleteCollection(selector);
  drop();
  assert.equal((await maps.list(selector)).items.length, 0);
}

async function watches({ maps, label, drop }: Way): Promise<void> {
  const target = { namespace, name: label };
  const selector = { namespace, labelSelector: `way=${label}` };
  const object = { metadata: { ...target, labels: { way: label } } };
  await maps.create(object);
  const stop = new AbortController();
  const heard: string[] = [];
  const { metadata } = await maps.list(selector);
  const watch = { ...selector, resourceVersion: metadata.resourceVersion, signal: stop.signal };
  const change = async () => {
    await maps.patch(target, { type: "merge", patch: { data: { a: "1" } } });
    await maps.delete(target);
  };
  let changing: Promise<void> | undefined;
  const onOpen = () => {
    changing = change();
  };
  for await (const event of maps.watch({ ...watch, onOpen })) {
    heard.push(event.type);
    if (event.type === "DELETED") stop.abort();
  }
  await changing;
  assert.deepEqual(heard, ["MODIFIED", "DELETED"]);
  await maps.create(object);
  drop();
  const again = new AbortController();
  const state = { ...selector, sendInitialEvents: true, allowWatchBookmarks: true };
  const initial: string[] = [];
  for await (const event of maps.watch({ ...state, signal: again.signal })) {
    initial.push(event.type);
    if (event.type === "BOOKMARK") again.abort();
  }
  assert.deepEqual(initial, ["ADDED", "BOOKMARK"]);
}

interface TokenRequest {
  readonly apiVersion: "authentication.k8s.io/v1";
  readonly kind: "TokenRequest";
  readonly spec: object;
  readonly status?: { readonly token: string };
}

async function subresources({ client, label }: Way): Promise<void> {
  const accounts = client.resource(serviceAccounts);
  const target = { namespace, name: label };
  await accounts.create({ metadata: target });
  const request = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: {},
  } as const;
  const { status } = await accounts.subresource<TokenRequest>("token").create(target, request);
  assert.equal(status?.token.split(".").length, 3);
}
