/**
 * Goal: a stored value that is damaged fails alone. Whatever else there is, of its resource and of
 * others, in its cluster and in others, is served, followed and cleared away as if it were not
 * there, also by a server that starts with it.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Entry, StorageKey } from "@kcp-ts/apiserver/storage";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { GarbageCollector } from "@kcp-ts/controllers";
import { isStatusError } from "@kcp-ts/machinery/status";
import { Client } from "@kcp-ts/sdk";
import { FakeClock } from "@kcp-ts/testkit";
import { ControllersFixture, eventually, ownedBy, type Tenant } from "./controllers-fixture.ts";

const namespace = "default";
const { signal } = new AbortController();

type Damage = (whole: Uint8Array) => Uint8Array;
const damages: Record<string, Damage> = {
  "nothing at all": () => new Uint8Array(0),
  "some text": () => Buffer.from("not an object"),
  "JSON without an envelope": () =>
    Buffer.from('{"0":{"metadata":{}},"kind":"Widget","metadata":{"name":"damaged"}}'),
  "the first half": (workload) => workload.slice(0, workload.length >> 1),
  "a changed byte of the text": (workload) =>
    workload.map((byte, at) => (at === workload.length - 10 ? byte ^ 4 : byte)),
  "an envelope that leads astray": (workload) =>
    workload.map((byte, at) => (at === 13 ? 0xff : byte)),
};

/** One value of every resource that is stored, damaged in every way. */
async function damage(storage: MemoryStorage, prefix: string): Promise<number> {
  const page = await storage.list("/" as StorageKey, { signal, entriesMax: 10_000 });
  const ofResource = new Map<string, Entry>();
  for (const entry of page.entries)
    ofResource.set(entry.key.split("/").slice(0, 5).join("/"), entry);
  let count = 0;
  for (const { key, value } of ofResource.values())
    for (const harm of Object.values(damages)) {
      const at = `${key.slice(0, key.lastIndexOf("/") + 1)}${prefix}-${count++}` as StorageKey;
      await storage.commit({ key: at, value: harm(value), expected: "absent" }, { signal });
    }
  return count;
}

async function fill(tenant: Tenant): Promise<void> {
  await tenant.defineWidgets();
  await tenant.widgets.create({ metadata: { namespace, name: "stays" } });
  await tenant.configMap("stays");
  await tenant.secrets.create({ metadata: { namespace, name: "stays" } });
}

async function isAlive(tenant: Tenant): Promise<void> {
  const owner = await tenant.widgets.create({ metadata: { namespace, name: "owner" } });
  await tenant.configMap("owned", { ownerReferences: [ownedBy(owner)] });
  await tenant.widgets.create({
    metadata: { namespace, name: "owned", ownerReferences: [ownedBy(owner)] },
  });
  await tenant.widgets.delete({ namespace, name: "owner" });
  await eventually(async () => (await tenant.configMapNames(namespace)).join() === "stays");
  await eventually(async () => (await tenant.widgets.list()).items.length === 1);
  await tenant.namespace("goes");
  await eventually(async () =>
    (await tenant.configMaps.list({ namespace: "goes" })).items.some(
      ({ metadata }) => metadata.name === "kube-root-ca.crt",
    ),
  );
  await tenant.namespaces.delete({ name: "goes" });
  await eventually(async () => (await tenant.namespaces.find({ name: "goes" })) === undefined);
}

describe("values that are damaged", () => {
  it("fail alone, whether they came while the server ran or were there before", async () => {
    const storage = new MemoryStorage();
    let plane = await ControllersFixture.start(storage);
    const tenants = () => ["a", "b"].map((name) => plane.in(name));
    plane.startControllers();
    for (const tenant of tenants()) await fill(tenant);
    assert.ok((await damage(storage, "live")) > 50);
    for (const tenant of tenants()) await isAlive(tenant);
    const { items } = await plane.client
      .inCluster("*")
      .resource(plane.in("a").widgets.resource)
      .listMetadata();
    assert.deepEqual(
      items
        .map(({ metadata }) => `${metadata.annotations?.["kcp.io/cluster"]} ${metadata.name}`)
        .sort(),
      ["a stays", "b stays"],
    );
    assert.deepEqual(plane.errors, []);

    await plane.stopAll();
    await damage(storage, "earlier");
    plane = await ControllersFixture.start(storage);
    plane.startControllers();
    for (const tenant of tenants()) await isAlive(tenant);
    assert.deepEqual(plane.errors, []);
    await plane.close();
  });

  it("are an error for who asks for them by name, logged once and counted", async () => {
    const storage = new MemoryStorage();
    const plane = await ControllersFixture.start(storage);
    const tenant = plane.in("a");
    await fill(tenant);
    await damage(storage, "damaged");
    const configMaps = (
      await storage.list("/" as StorageKey, { signal, entriesMax: 10_000 })
    ).entries
      .map(({ key }) => key)
      .filter((key) => /^\/\/configmaps\/\/a\/default\/damaged/.test(key));
    assert.equal(configMaps.length, Object.keys(damages).length);
    for (const key of configMaps.slice(0, 4)) {
      const name = key.slice(key.lastIndexOf("/") + 1);
      await assert.rejects(tenant.configMaps.get({ namespace, name }), (error) => {
        assert.ok(isStatusError(error, "InternalError"), String(error));
        return true;
      });
    }
    for (let times = 0; times < 3; times++) await tenant.configMaps.list({ namespace });
    const metrics = await plane.client.read({ method: "GET", path: "/metrics" });
    const counted =
      /^apiserver_storage_decode_errors_total\{group="",resource="configmaps"\} (\d+)$/m;
    assert.ok(Number(counted.exec(metrics.text)?.[1]) >= configMaps.length, "counted");
    const logged = plane.logged.filter((line) => line.includes("is damaged"));
    assert.equal(new Set(logged).size, logged.length, "each is logged once");
    for (const key of configMaps)
      assert.ok(logged.some((line) => line.includes(`"${key.slice(key.lastIndexOf("/") + 1)}"`)));
    await plane.close();
  });

  it("are deleted by their names with the option for it, and no other object is", async () => {
    const storage = new MemoryStorage();
    const plane = await ControllersFixture.start(storage);
    const [tenant, other] = [plane.in("a"), plane.in("b")];
    for (const one of [tenant, other]) await fill(one);
    await damage(storage, "damaged");
    const keys = async (place: string) =>
      (await storage.list("/" as StorageKey, { signal, entriesMax: 10_000 })).entries
        .map(({ key }) => key as string)
        .filter((key) => key.includes(place));
    const client = plane.client.inCluster("a");
    const remove = (path: string, options: object, headers: Record<string, string> = {}) =>
      client.json({ method: "DELETE", path, body: options as never, headers });
    const unsafe = { ignoreStoreReadErrorWithClusterBreakingPotential: true };
    const inNamespace = (resource: string) => `/namespaces/${namespace}/${resource}`;
    const resources = [
      ["/configmaps//a/default/damaged", `/api/v1${inNamespace("configmaps")}`],
      ["/secrets//a/default/damaged", `/api/v1${inNamespace("secrets")}`],
      ["/namespaces//a//damaged", "/api/v1/namespaces"],
      ["/a/default/damaged", `/apis/example.com/v1${inNamespace("widgets")}`],
    ] as const;
    for (const [place, path] of resources) {
      const found = await keys(place);
      assert.equal(found.length, Object.keys(damages).length, found.join(" "));
      for (const [index, key] of found.entries()) {
        const at = `${path}/${key.slice(key.lastIndexOf("/") + 1)}`;
        // A value that can still be parsed is deleted with and without the option.
        const refused = (error: unknown) => isStatusError(error, "InternalError");
        if (index < 4) await assert.rejects(remove(at, {}), refused, at);
        const answer = await remove(at, unsafe);
        assert.equal((answer as { status?: string }).status, "Success", at);
        await assert.rejects(remove(at, unsafe), (error) => isStatusError(error, "NotFound"), at);
      }
      assert.deepEqual(await keys(place), []);
    }
    assert.ok(
      (await keys("/configmaps//b/default/damaged")).length > 0,
      "nothing of another tenant is deleted",
    );
    const path = `/api/v1${inNamespace("configmaps")}`;
    const invalid = (text: string) => (error: unknown) =>
      isStatusError(error, "Invalid") && error.message.includes(text);
    await assert.rejects(remove(`${path}/stays`, unsafe), invalid("to delete corrupt object(s)"));
    await assert.rejects(remove(path, unsafe), invalid("not allowed with DELETECOLLECTION"));
    for (const option of [
      { gracePeriodSeconds: 0 },
      { propagationPolicy: "Orphan" },
      { preconditions: { uid: "u" } },
      { dryRun: ["All"] },
    ])
      await assert.rejects(
        remove(`${path}/stays`, { ...unsafe, ...option }),
        invalid(`cannot be set together with .${Object.keys(option)[0]}`),
      );
    assert.ok(await tenant.configMaps.find({ namespace, name: "stays" }));
    await plane.close();
  });

  it("are deleted only by users with the verb for it", async () => {
    const storage = new MemoryStorage();
    const plane = await ControllersFixture.start(storage);
    await fill(plane.in("a"));
    await damage(storage, "damaged");
    const client = plane.client.inCluster("a");
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    const [key = ""] = (
      await storage.list("//configmaps//a/default/damaged" as StorageKey, { signal, entriesMax: 1 })
    ).entries.map((entry) => entry.key as string);
    const group = "rbac.authorization.k8s.io";
    const grant = async (name: string, verbs: readonly string[]) => {
      const rules = [
        { apiGroups: [""], resources: ["configmaps"], verbs: [...verbs] },
        { nonResourceURLs: ["/"], verbs: ["access"] },
      ];
      const roles = `/apis/${group}/v1`;
      await client.json({
        method: "POST",
        path: `${roles}/clusterroles`,
        body: { metadata: { name }, rules },
      });
      const roleRef = { apiGroup: group, kind: "ClusterRole", name };
      const subjects = [{ apiGroup: group, kind: "User", name }];
      await client.json({
        method: "POST",
        path: `${roles}/clusterrolebindings`,
        body: { metadata: { name }, roleRef, subjects },
      });
    };
    await grant("deleter", ["delete", "get"]);
    await grant("operator", ["delete", "unsafe-delete-ignore-read-errors"]);
    const removeAs = (user: string) =>
      client.json({
        method: "DELETE",
        path: `${path}/${key.slice(key.lastIndexOf("/") + 1)}`,
        headers: { "impersonate-user": user },
        body: { ignoreStoreReadErrorWithClusterBreakingPotential: true },
      });
    await assert.rejects(removeAs("deleter"), (error) => {
      assert.ok(isStatusError(error, "Forbidden"), String(error));
      assert.match(error.message, /cannot unsafe-delete-ignore-read-errors resource "configmaps"/);
      return true;
    });
    await removeAs("operator");
    await plane.close();
  });

  it("a resource that cannot be read keeps the garbage of others waiting for half a minute at most", async () => {
    const plane = await ControllersFixture.start();
    const tenant = plane.in("a");
    const clock = new FakeClock();
    const errors: unknown[] = [];
    const stop = new AbortController();
    const { resource: configMaps } = tenant.configMaps;
    const set = [{ ...configMaps, resource: "unreadables" }, configMaps];
    const { transport } = plane.client;
    const client = new Client({
      transport: {
        send: async (request) => {
          if (request.path.includes("unreadables")) throw new Error("cannot be read");
          return transport.send(request);
        },
        close: async () => {},
      },
    });
    const collector = new GarbageCollector({
      client,
      clock,
      resources: { run: async (_, onChange) => onChange(set) },
      onError: (error) => void errors.push(error),
    });
    const owner = await tenant.configMap("owner");
    await tenant.configMap("child", { ownerReferences: [ownedBy(owner)] });
    await tenant.configMaps.delete({ namespace, name: "owner" });
    const running = collector.run(stop.signal);
    await eventually(() => errors.length > 0);
    await eventually(async () => {
      clock.advance(1000);
      return (await tenant.configMapNames(namespace)).length === 0;
    });
    assert.ok(clock.monotonic() >= 30_000, "the first state of all is waited for before");
    stop.abort();
    await running;
    await plane.close();
  });
});
