/**
 * Goal: nothing that a tenant writes into an object is treated as the object's metadata, and only
 * the server sets its logical cluster.
 *
 * Method: a tenant with an API of its own, whose schema allows any member, writes objects that
 * carry another tenant's metadata where V8 orders it first, through every kind of write; the
 * garbage collector, which has all permissions in all clusters, follows them. The other tenant has
 * the same API and objects of the same names.
 */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { DynamicObject } from "@kcp-ts/sdk";
import { ControllersFixture, eventually, ownedBy, type Tenant } from "../control-loops/index.ts";

const namespace = "default";
const target = { namespace, name: "treasure" };

describe("metadata that a tenant forges", () => {
  let fixture: ControllersFixture;
  let mallory: Tenant;
  let victim: Tenant;
  beforeEach(async () => {
    fixture = await ControllersFixture.start();
    mallory = fixture.in("mallory");
    victim = fixture.in("victim");
    await mallory.defineWidgets();
    await victim.defineWidgets();
  });
  afterEach(() => fixture.close());

  const treasure = (metadata: object = {}) =>
    victim.widgets.create({ metadata: { ...target, ...metadata } });

  /** Metadata of the victim's object, with what makes the collector write. */
  const forgeries = ({ metadata }: DynamicObject): Record<string, object> => {
    const { uid, resourceVersion } = metadata;
    const annotations = { "kcp.io/cluster": "victim" };
    const gone = { apiVersion: "v1", kind: "ConfigMap", name: "nobody", uid: "gone" };
    const waiting = { deletionTimestamp: "2026-01-01T00:00:00Z" };
    return {
      deletes: { ...target, uid, resourceVersion, annotations, ownerReferences: [gone] },
      "deletes any": { ...target, annotations, ownerReferences: [gone] },
      releases: {
        ...target,
        uid,
        resourceVersion,
        annotations,
        ...waiting,
        finalizers: ["orphan"],
      },
      "sets finalizers": {
        ...target,
        annotations,
        ...waiting,
        finalizers: ["foregroundDeletion", "mallory.example.com/forever"],
      },
      empty: {},
    };
  };

  /** Where the forged metadata stands, in an object that is otherwise the tenant's own. */
  const places: Record<string, (forged: object) => object> = {
    "a member with the name of an integer": (forged) => ({ 0: { metadata: forged } }),
    "a large integer": (forged) => ({ 4294967294: { metadata: forged, kind: "Widget" } }),
    "a member called __proto__": (forged) =>
      JSON.parse(`{"__proto__":{"metadata":${JSON.stringify(forged)}}}`),
    "a member without a name": (forged) => ({ "": { metadata: forged } }),
    "a name that ends a member": (forged) => ({ '"metadata":{': { metadata: forged } }),
    "a member of a list": (forged) => ({
      1: [{ metadata: forged }],
      items: [{ metadata: forged }],
    }),
  };

  const doors: Record<string, (name: string, content: object) => Promise<unknown>> = {
    create: (name, content) =>
      mallory.widgets.create({ metadata: { namespace, name }, ...content }),
    update: async (name, content) => {
      const made = await mallory.widgets.create({ metadata: { namespace, name } });
      return mallory.widgets.update({ ...made, ...content });
    },
    patch: async (name, content) => {
      await mallory.widgets.create({ metadata: { namespace, name } });
      const patch = content as never;
      return mallory.widgets.patch({ namespace, name }, { type: "merge", patch });
    },
    apply: (name, content) =>
      mallory.widgets.apply(
        { metadata: { namespace, name }, ...content },
        { fieldManager: "mallory" },
      ),
  };

  /** The collector has seen everything up to now: what is garbage after all that has gone. */
  const collected = async () => {
    for (const tenant of [mallory, victim]) {
      const owner = await tenant.widgets.create({ metadata: { namespace, name: "probe-owner" } });
      const ownerReferences = [ownedBy(owner)];
      await tenant.widgets.create({ metadata: { namespace, name: "probe", ownerReferences } });
      await tenant.widgets.delete({ namespace, name: "probe-owner" });
      await eventually(async () => {
        const found = await tenant.widgets.find({ namespace, name: "probe" });
        return found === undefined;
      });
    }
  };

  for (const [door, write] of Object.entries(doors))
    it(`by ${door} makes no controller touch another tenant's object, before or after a restart`, async () => {
      fixture.startControllers();
      const before = await treasure({ finalizers: ["example.com/keep"] });
      let count = 0;
      for (const place of Object.values(places))
        for (const forged of Object.values(forgeries(before)))
          await write(`forged-${count++}`, place(forged));
      await collected();
      await fixture.stopControllers();
      fixture.startControllers();
      await collected();
      assert.deepEqual(await victim.widgets.get(target), before);
      const { items } = await mallory.widgets.list({ namespace });
      assert.equal(items.length, count, "what the tenant wrote is there, and the tenant's own");
      assert.deepEqual(fixture.errors, []);
    });

  it("is served as content, and the object's own metadata as its own, in every form", async () => {
    const before = await treasure();
    const wanted = { real: "yes" };
    const forged = {
      ...forgeries(before)["deletes"],
      labels: { forged: "yes" },
      resourceVersion: "1",
    };
    let count = 0;
    for (const place of Object.values(places))
      await mallory.widgets.create({
        metadata: { namespace, name: `w${count++}`, labels: wanted },
        ...place(forged),
      });
    const everywhere = fixture.client.inCluster("*").resource(mallory.widgets.resource);
    const own = await mallory.widgets.list({ labelSelector: "real=yes" });
    assert.equal(own.items.length, count);
    assert.deepEqual((await mallory.widgets.list({ labelSelector: "forged" })).items, []);
    for (const page of [
      await mallory.widgets.listMetadata({ labelSelector: "real" }),
      await everywhere.listMetadata({ labelSelector: "real" }),
    ]) {
      assert.equal(page.items.length, count);
      for (const { metadata } of page.items) {
        assert.equal(metadata.annotations?.["kcp.io/cluster"], "mallory");
        const one = own.items.find(({ metadata: { uid } }) => uid === metadata.uid);
        assert.equal(metadata.resourceVersion, one?.metadata.resourceVersion);
        assert.deepEqual(metadata.labels, wanted);
      }
    }
  });
});
