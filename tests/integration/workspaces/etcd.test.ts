/**
 * Goal: workspaces and shared APIs live and die the same when their store is an etcd that two
 * servers share, who each see only later what the other has done.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { StorageKey } from "@kcp-ts/apiserver/storage";
import { EtcdStorage } from "@kcp-ts/apiserver/storage/etcd";
import { systemClock, systemRandom } from "@kcp-ts/machinery/base";
import { type DynamicObject, defineResource } from "@kcp-ts/sdk";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { type EtcdCluster, etcdMissing, eventually, startEtcd } from "@kcp-ts/testkit";
import { kinds, phaseOf, specOf } from "./workspace-fixture.ts";

const apis = (version: string, resource: string, kind: string) =>
  defineResource<DynamicObject>({
    group: "apis.kcp.io",
    version,
    resource,
    kind,
    namespaced: false,
  });
const schemas = apis("v1alpha1", "apiresourceschemas", "APIResourceSchema");
const exports = apis("v1alpha2", "apiexports", "APIExport");
const bindings = apis("v1alpha2", "apibindings", "APIBinding");
const cowboys = defineResource<DynamicObject>({
  group: "wildwest.dev",
  version: "v1",
  resource: "cowboys",
  kind: "Cowboy",
  namespaced: true,
});
const { signal } = new AbortController();
const gracePeriods = { timeoutMs: 120_000 };

describe("workspaces on an etcd that two servers share", { skip: etcdMissing() ?? false }, () => {
  let etcd: EtcdCluster;
  let first: TestControlPlane;
  let second: TestControlPlane;
  const open = () =>
    EtcdStorage.open({ endpoints: etcd.endpoints, clock: systemClock, random: systemRandom });

  before(async () => {
    etcd = await startEtcd();
    first = await startTestControlPlane({ storage: await open() });
    second = await startTestControlPlane({ storage: await open(), controlLoops: false });
  });
  after(async () => {
    await second?.close();
    await first?.close();
    await etcd?.dispose();
  });

  const made = (plane: TestControlPlane, path: string, name: string, type = "universal") =>
    plane
      .clientFor(path)
      .resource(kinds.workspaces)
      .create({ metadata: { name }, spec: { type: { name: type, path: "root" } } } as never);
  const keysOf = async (cluster: string) => {
    const storage = await open();
    try {
      const { entries } = await storage.list("/" as StorageKey, { signal, entriesMax: 100_000 });
      return entries.map(({ key }) => String(key)).filter((key) => key.includes(`/${cluster}/`));
    } finally {
      await storage.close();
    }
  };

  it("are made by one, used by the other, and deleted with all that is below them", async () => {
    const parent = await made(first, "root", "parent");
    assert.equal(phaseOf(parent), "Ready");
    await eventually(() => made(second, "root:parent", "child"), gracePeriods);
    const configMap = { metadata: { name: "deep", namespace: "default" } };
    await eventually(
      () => first.clientFor("root:parent:child").resource(kinds.configMaps).create(configMap),
      gracePeriods,
    );
    const child = await first
      .clientFor("root:parent")
      .resource(kinds.workspaces)
      .get({ name: "child" });
    await second.clientFor("root").resource(kinds.workspaces).delete({ name: "parent" });
    for (const plane of [first, second])
      await eventually(async () => {
        const found = plane.clientFor("root").resource(kinds.workspaces).find({ name: "parent" });
        assert.equal(await found, undefined);
      }, gracePeriods);
    for (const object of [parent, child])
      await eventually(
        async () => assert.deepEqual(await keysOf(String(specOf(object)["cluster"])), []),
        gracePeriods,
      );
  });

  it("wait for controllers of their type, and follow what these say through either server", async () => {
    await first
      .clientFor("root")
      .resource(kinds.types)
      .create({
        metadata: { name: "slow" },
        spec: {
          initializer: true,
          terminator: true,
          extend: { with: [{ name: "universal", path: "root" }] },
        },
      } as never);
    const waiting = await eventually(() => made(second, "root", "slow", "slow"), gracePeriods);
    assert.equal(phaseOf(waiting), "Initializing");
    const cluster = String(specOf(waiting)["cluster"]);
    const remove = (plane: TestControlPlane, list: string) =>
      eventually(async () => {
        const logical = plane.clientFor(cluster).resource(kinds.logicalClusters);
        const found = await logical.get({ name: "cluster" });
        const { [list]: removed, ...status } = found["status"] as Record<string, unknown>;
        assert.notEqual(removed, undefined);
        await logical.updateStatus({ ...found, status } as never);
      }, gracePeriods);
    await remove(first, "initializers");
    const workspaces = second.clientFor("root").resource(kinds.workspaces);
    await eventually(
      async () => assert.equal(phaseOf(await workspaces.get({ name: "slow" })), "Ready"),
      gracePeriods,
    );
    await workspaces.delete({ name: "slow" });
    await remove(first, "terminators");
    await eventually(
      async () => assert.equal(await workspaces.find({ name: "slow" }), undefined),
      gracePeriods,
    );
    await eventually(async () => assert.deepEqual(await keysOf(cluster), []), gracePeriods);
  });

  it("bind on one to what was offered on the other, and are kept by their type on both", async () => {
    for (const name of ["provider", "consumer"]) await made(first, "root", name);
    const provider = first.clientFor("root:provider");
    await provider
      .resource(schemas)
      .create({
        metadata: { name: "v1.cowboys.wildwest.dev" },
        spec: {
          group: "wildwest.dev",
          names: { plural: "cowboys", singular: "cowboy", kind: "Cowboy", listKind: "CowboyList" },
          scope: "Namespaced",
          versions: [{ name: "v1", served: true, storage: true, schema: { type: "object" } }],
        },
      } as never);
    await provider
      .resource(exports)
      .create({
        metadata: { name: "cowboys" },
        spec: {
          resources: [
            { name: "cowboys", group: "wildwest.dev", schema: "v1.cowboys.wildwest.dev" },
          ],
        },
      } as never);
    const reference = { export: { path: "root:provider", name: "cowboys" } };
    const consumer = (plane: TestControlPlane) => plane.clientFor("root:consumer");
    await eventually(
      () =>
        consumer(second)
          .resource(bindings)
          .create({ metadata: { name: "cowboys" }, spec: { reference } } as never),
      gracePeriods,
    );
    for (const [plane, name] of [
      [first, "john"],
      [second, "jane"],
    ] as const)
      await eventually(
        () =>
          consumer(plane)
            .resource(cowboys)
            .create({ metadata: { name, namespace: "default" } }),
        gracePeriods,
      );
    const types = second.clientFor("root").resource(kinds.types);
    const spec = { defaultAPIBindingLifecycle: "Maintain" };
    await types.create({ metadata: { name: "western" }, spec } as never);
    await eventually(() => made(first, "root", "kept", "western"), gracePeriods);
    const western = await types.get({ name: "western" });
    const defaultAPIBindings = [{ path: "root:provider", export: "cowboys" }];
    await types.update({ ...western, spec: { ...specOf(western), defaultAPIBindings } } as never);
    for (const plane of [first, second])
      await eventually(async () => {
        const { items } = await plane.clientFor("root:kept").resource(bindings).list({});
        assert.deepEqual(items.map(phaseOf), ["Bound"]);
      }, gracePeriods);
  });
});
