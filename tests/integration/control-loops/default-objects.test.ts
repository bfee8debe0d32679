/** Goal: every living namespace has what Kubernetes puts into it, and gets it back. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import {
  ControllersFixture,
  eventually,
  observationPeriod,
  type Tenant,
  testCaPem,
} from "./controllers-fixture.ts";

const name = "kube-root-ca.crt";

describe("default objects", () => {
  let fixture: ControllersFixture;
  beforeEach(async () => {
    fixture = await ControllersFixture.start();
  });
  afterEach(() => fixture.close());

  const caOf = async (tenant: Tenant, namespace: string) =>
    (await tenant.configMaps.find({ namespace, name }))?.["data"];
  const hasCa = (tenant: Tenant, namespace: string) => async () =>
    ((await caOf(tenant, namespace)) as { "ca.crt"?: string } | undefined)?.["ca.crt"] ===
    testCaPem;

  it("a new namespace gets the certificate of the server, in every cluster", async () => {
    fixture.startControllers();
    for (const cluster of ["a", "b"]) await fixture.in(cluster).namespace("new");
    for (const cluster of ["a", "b"]) {
      await eventually(hasCa(fixture.in(cluster), "new"));
      assert.deepEqual(await caOf(fixture.in(cluster), "new"), { "ca.crt": testCaPem });
    }
  });

  it("a namespace from before the start gets it too", async () => {
    await fixture.in("a").namespace("old");
    fixture.startControllers();
    await eventually(hasCa(fixture.in("a"), "old"));
  });

  it("it comes back when it is deleted, and is mended when it is changed", async () => {
    fixture.startControllers();
    const tenant = fixture.in("a");
    await tenant.namespace("new");
    await eventually(hasCa(tenant, "new"));
    await tenant.configMaps.delete({ namespace: "new", name });
    await eventually(hasCa(tenant, "new"));
    for (const data of [{}, { "ca.crt": "" }, { "ca.crt": testCaPem, more: "x" }]) {
      await tenant.configMaps.modify({ namespace: "new", name }, (current) => ({
        ...current,
        data,
        metadata: { ...current.metadata, labels: { mine: "yes" } },
      }));
      await eventually(
        async () =>
          JSON.stringify(await caOf(tenant, "new")) === JSON.stringify({ "ca.crt": testCaPem }),
      );
    }
    const { metadata } = await tenant.configMaps.get({ namespace: "new", name });
    assert.deepEqual(metadata.labels, { mine: "yes" });
  });

  it("one that can no longer be changed is replaced", async () => {
    const tenant = fixture.in("a");
    await tenant.namespace("new");
    await tenant.configMaps.create({
      metadata: { namespace: "new", name },
      data: { "ca.crt": "another" },
      immutable: true,
    });
    fixture.startControllers();
    await eventually(hasCa(tenant, "new"));
  });

  it("a namespace that is being deleted gets nothing", async () => {
    const tenant = fixture.in("a");
    await tenant.namespaces.create({ metadata: { name: "doomed", finalizers: ["example.com/x"] } });
    await tenant.namespaces.delete({ name: "doomed" });
    fixture.startControllers();
    await tenant.namespace("living");
    await eventually(hasCa(tenant, "living"));
    await observationPeriod();
    assert.equal(await caOf(tenant, "doomed"), undefined);
    assert.deepEqual(fixture.errors, []);
  });

  it("a namespace has a service account `default`, and gets it back", async () => {
    fixture.startControllers();
    const tenant = fixture.in("a");
    await tenant.namespace("new");
    const target = { namespace: "new", name: "default" };
    const account = async () => (await tenant.serviceAccounts.find(target))?.metadata.uid;
    await eventually(async () => (await account()) !== undefined);
    const uid = await account();
    await tenant.serviceAccounts.delete(target);
    await eventually(async () => ![undefined, uid].includes(await account()));
  });

  it("a cluster without writes stores nothing", async () => {
    fixture.startControllers();
    await fixture.in("used").namespace("new");
    await eventually(hasCa(fixture.in("used"), "new"));
    const unused = fixture.in("unused");
    assert.deepEqual((await unused.namespaces.list()).items, []);
    assert.deepEqual((await unused.configMaps.list()).items, []);
  });
});
