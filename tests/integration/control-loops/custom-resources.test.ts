/**
 * Goal: resources that a cluster has defined itself are owned, own and are cleared away like all
 * others.
 */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import {
  ControllersFixture,
  eventually,
  observationPeriod,
  ownedBy,
  type Tenant,
} from "./controllers-fixture.ts";

const namespace = "default";

describe("control loops and custom resources", () => {
  let fixture: ControllersFixture;
  let tenant: Tenant;
  beforeEach(async () => {
    fixture = await ControllersFixture.start();
    tenant = fixture.in("a");
    fixture.startControllers();
    await tenant.namespace("other");
  });
  afterEach(() => fixture.close());

  const widget = (name: string, metadata: object = {}) =>
    tenant.widgets.create({ metadata: { namespace, ...metadata, name } });

  it("what a custom resource owns goes with it", async () => {
    await tenant.defineWidgets();
    const owner = await widget("owner");
    await tenant.configMap("child", { ownerReferences: [ownedBy(owner)] });
    await widget("sibling", { ownerReferences: [ownedBy(owner)] });
    await observationPeriod();
    assert.deepEqual(await tenant.configMapNames(namespace), ["child"]);
    await tenant.widgets.delete({ namespace, name: "owner" });
    await eventually(async () => (await tenant.configMapNames(namespace)).length === 0);
    await eventually(async () => (await tenant.widgets.list()).items.length === 0);
  });

  it("a custom resource goes with its owner, in the foreground too", async () => {
    await tenant.defineWidgets();
    const owner = await tenant.configMap("owner");
    await widget("child", { ownerReferences: [ownedBy(owner, { blockOwnerDeletion: true })] });
    await observationPeriod();
    await tenant.configMaps.delete(
      { namespace, name: "owner" },
      { propagationPolicy: "Foreground" },
    );
    await eventually(async () => (await tenant.configMapNames(namespace)).length === 0);
    assert.deepEqual((await tenant.widgets.list()).items, []);
  });

  it("custom resources are orphaned like others", async () => {
    await tenant.defineWidgets();
    const owner = await tenant.configMap("owner");
    await widget("child", { ownerReferences: [ownedBy(owner)] });
    await tenant.configMaps.delete({ namespace, name: "owner" }, { propagationPolicy: "Orphan" });
    await eventually(async () => (await tenant.configMapNames(namespace)).length === 0);
    await observationPeriod();
    const { metadata } = await tenant.widgets.get({ namespace, name: "child" });
    assert.deepEqual(metadata.ownerReferences ?? [], []);
  });

  it("owners of the same kind in another cluster do not count", async () => {
    await tenant.defineWidgets();
    const other = fixture.in("b");
    await other.defineWidgets();
    const foreign = await other.widgets.create({ metadata: { namespace, name: "owner" } });
    await tenant.configMap("child", { ownerReferences: [ownedBy(foreign)] });
    await eventually(async () => (await tenant.configMapNames(namespace)).length === 0);
    assert.equal((await other.widgets.list()).items.length, 1);
  });

  it("a deleted namespace is cleared of custom resources", async () => {
    await tenant.defineWidgets();
    await tenant.widgets.create({ metadata: { namespace: "other", name: "one" } });
    await widget("stays");
    await tenant.namespaces.delete({ name: "other" });
    await eventually(async () => (await tenant.namespaces.find({ name: "other" })) === undefined);
    const { items } = await tenant.widgets.list();
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ["stays"],
    );
  });

  it("loops that start later know of definitions from before", async () => {
    await fixture.stopControllers();
    await tenant.defineWidgets();
    const owner = await widget("owner");
    await tenant.configMap("child", { ownerReferences: [ownedBy(owner)] });
    fixture.startControllers();
    await observationPeriod();
    await tenant.widgets.delete({ namespace, name: "owner" });
    await eventually(async () => (await tenant.configMapNames(namespace)).length === 0);
  });
});
