/**
 * Goal: dependents share the fate of their owners as Kubernetes has it, and nothing else is ever
 * touched.
 */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { OwnerReference } from "@kcp-ts/sdk";
import {
  ControllersFixture,
  eventually,
  observationPeriod,
  ownedBy,
  type Tenant,
} from "./controllers-fixture.ts";

const namespace = "default";
const blocking = { blockOwnerDeletion: true };

describe("garbage collector", () => {
  let fixture: ControllersFixture;
  let tenant: Tenant;
  beforeEach(async () => {
    fixture = await ControllersFixture.start();
    tenant = fixture.in("a");
    fixture.startControllers();
  });
  afterEach(() => fixture.close());

  const names = () => tenant.configMapNames(namespace);
  const become = (expected: string[]) =>
    eventually(async () => JSON.stringify((await names()).sort()) === JSON.stringify(expected));

  it("dependents go when their owner is gone, and theirs with them", async () => {
    const owner = await tenant.configMap("owner");
    const child = await tenant.configMap("child", { ownerReferences: [ownedBy(owner)] });
    await tenant.configMap("grandchild", { ownerReferences: [ownedBy(child)] });
    await tenant.configMap("stranger");
    await observationPeriod();
    assert.deepEqual(await names(), ["child", "grandchild", "owner", "stranger"]);
    await tenant.configMaps.delete({ namespace, name: "owner" });
    await become(["stranger"]);
    assert.deepEqual(fixture.errors, []);
  });

  it("an owner that was replaced by one of the same name is gone", async () => {
    const owner = await tenant.configMap("owner");
    await tenant.configMap("child", { ownerReferences: [ownedBy(owner)] });
    await fixture.stopControllers();
    await tenant.configMaps.delete({ namespace, name: "owner" });
    await tenant.configMap("owner");
    fixture.startControllers();
    await become(["owner"]);
  });

  it("an object with a living owner stays, and loses its references to dead ones", async () => {
    const [one, two] = [await tenant.configMap("one"), await tenant.configMap("two")];
    await tenant.configMap("child", { ownerReferences: [ownedBy(one), ownedBy(two)] });
    await tenant.configMaps.delete({ namespace, name: "one" });
    const ownersOf = async () =>
      (await tenant.configMaps.get({ namespace, name: "child" })).metadata.ownerReferences;
    await eventually(async () => (await ownersOf())?.length === 1);
    assert.deepEqual(await ownersOf(), [ownedBy(two)]);
    await tenant.configMaps.delete({ namespace, name: "two" });
    await become([]);
  });

  it("an owner deleted in the foreground goes behind those that block it", async () => {
    const owner = await tenant.configMap("owner");
    await tenant.configMap("blocks", {
      ownerReferences: [ownedBy(owner, blocking)],
      finalizers: ["example.com/hold"],
    });
    await tenant.configMap("blocks-not", { ownerReferences: [ownedBy(owner)] });
    await tenant.configMaps.delete(
      { namespace, name: "owner" },
      { propagationPolicy: "Foreground" },
    );
    await become(["blocks", "owner"]);
    await observationPeriod();
    assert.deepEqual(await names(), ["blocks", "owner"]);
    await tenant.configMaps.modify({ namespace, name: "blocks" }, (current) => ({
      ...current,
      metadata: { ...current.metadata, finalizers: [] },
    }));
    await become([]);
  });

  it("a foreground deletion does not wait for those that do not block", async () => {
    const owner = await tenant.configMap("owner");
    await tenant.configMap("lingers", {
      ownerReferences: [ownedBy(owner)],
      finalizers: ["example.com/hold"],
    });
    await tenant.configMaps.delete(
      { namespace, name: "owner" },
      { propagationPolicy: "Foreground" },
    );
    await become(["lingers"]);
  });

  it("a circle of owners that block each other goes when one of them is deleted", async () => {
    const made = [];
    for (const name of ["one", "two", "three"]) made.push(await tenant.configMap(name));
    for (const [i, object] of made.entries()) {
      const owner = made[(i + 2) % 3] as (typeof made)[number];
      await tenant.configMaps.modify({ namespace, name: object.metadata.name }, (current) => ({
        ...current,
        metadata: { ...current.metadata, ownerReferences: [ownedBy(owner, blocking)] },
      }));
    }
    await tenant.configMaps.delete({ namespace, name: "one" }, { propagationPolicy: "Foreground" });
    await become([]);
  });

  it("dependents of an owner that orphans them stay, without it", async () => {
    const owner = await tenant.configMap("owner");
    const other = await tenant.configMap("other");
    await tenant.configMap("child", { ownerReferences: [ownedBy(owner), ownedBy(other)] });
    await tenant.configMap("only-child", { ownerReferences: [ownedBy(owner)] });
    await tenant.configMaps.delete({ namespace, name: "owner" }, { propagationPolicy: "Orphan" });
    await become(["child", "only-child", "other"]);
    await observationPeriod();
    assert.deepEqual(await names(), ["child", "only-child", "other"]);
    const { metadata } = await tenant.configMaps.get({ namespace, name: "child" });
    assert.deepEqual(metadata.ownerReferences, [ownedBy(other)]);
  });

  it("a dependent that the watches have not delivered yet is orphaned all the same", async () => {
    // The loops are at work.
    await tenant.configMap("stray", { ownerReferences: [ownedBy(await tenant.configMap("gone"))] });
    await tenant.configMaps.delete({ namespace, name: "gone" });
    await become([]);
    const owner = await tenant.configMap("owner");
    const early = await tenant.configMap("early", { ownerReferences: [ownedBy(owner)] });
    fixture.isWatchBlocked = (target) => target.includes("/secrets?watch");
    await tenant.secrets.create({
      metadata: { namespace, name: "late", ownerReferences: [ownedBy(owner)] },
    });
    await tenant.configMaps.delete({ namespace, name: "owner" }, { propagationPolicy: "Orphan" });
    await become([early.metadata.name]);
    fixture.isWatchBlocked = () => false;
    await observationPeriod();
    const late = await tenant.secrets.get({ namespace, name: "late" });
    assert.deepEqual(late.metadata.ownerReferences ?? [], []);
  });

  it("owners in another cluster or namespace do not count, and are not hurt", async () => {
    const other = fixture.in("b");
    const foreign = await other.configMap("owner");
    await tenant.namespace("elsewhere");
    const distant = await tenant.configMap("owner", { namespace: "elsewhere" });
    await tenant.configMap("of-foreign", { ownerReferences: [ownedBy(foreign)] });
    await tenant.configMap("of-distant", { ownerReferences: [ownedBy(distant)] });
    await become([]);
    assert.deepEqual(await other.configMapNames(namespace), ["owner"]);
    assert.deepEqual(await tenant.configMapNames("elsewhere"), ["owner"]);
  });

  it("the deletion of an owner in one cluster does not touch its namesakes in another", async () => {
    const other = fixture.in("b");
    const mine = await tenant.configMap("owner");
    const theirs = await other.configMap("owner");
    // A tenant in b also claims an owner by the uid of a's.
    await other.configMap("child", { ownerReferences: [ownedBy(mine), ownedBy(theirs)] });
    await tenant.configMap("child", { ownerReferences: [ownedBy(mine)] });
    await tenant.configMaps.delete({ namespace, name: "owner" });
    await become([]);
    await observationPeriod();
    assert.deepEqual(await other.configMapNames(namespace), ["child", "owner"]);
  });

  it("an object in a namespace may be owned by one without, and goes with it", async () => {
    const owner = await tenant.namespace("owner");
    await tenant.configMap("child", { ownerReferences: [ownedBy(owner)] });
    await observationPeriod();
    assert.deepEqual(await names(), ["child"]);
    await tenant.namespaces.delete({ name: "owner" });
    await become([]);
  });

  for (const [title, reference] of [
    ["of a kind that is not served", { apiVersion: "example.com/v1", kind: "Widget" }],
    ["of a version that is not served", { apiVersion: "v9", kind: "ConfigMap" }],
  ] as const) {
    it(`nothing is decided about an owner ${title}`, async () => {
      const owner: OwnerReference = { ...reference, name: "owner", uid: "nobody-knows" };
      await tenant.configMap("child", { ownerReferences: [owner] });
      await observationPeriod();
      assert.deepEqual(await names(), ["child"]);
    });
  }

  it("an object without a namespace is never deleted for want of an owner with one", async () => {
    const owner = await tenant.configMap("owner");
    await tenant.namespaces.create({
      metadata: { name: "cluster-wide", ownerReferences: [ownedBy(owner)] },
    });
    await tenant.configMaps.delete({ namespace, name: "owner" });
    await observationPeriod();
    const { metadata } = await tenant.namespaces.get({ name: "cluster-wide" });
    assert.equal(metadata.deletionTimestamp, undefined);
    const { items } = await tenant.events.list({ namespace });
    const told = items.map((one) => [
      (one["involvedObject"] as { name?: string }).name,
      one["type"],
      one["reason"],
    ]);
    assert.deepEqual(told, [["cluster-wide", "Warning", "OwnerRefInvalidNamespace"]]);
  });

  it("references to owners in another namespace are reported in Events, whatever kind and uid they name", async () => {
    await tenant.namespace("elsewhere");
    const parent = await tenant.configMap("parent", { namespace: "elsewhere" });
    const alone = await tenant.configMap("alone", { namespace: "elsewhere" });
    await tenant.configMap("valid", { namespace: "elsewhere", ownerReferences: [ownedBy(parent)] });
    await observationPeriod();
    const uid = parent.metadata.uid as string;
    const wrong = { apiVersion: "v1", kind: "Secret", name: "invalid", uid };
    const make = (name: string, owner: OwnerReference) =>
      tenant.secrets.create({ metadata: { namespace, name, ownerReferences: [owner] } });
    await make("of-another-kind", wrong);
    await make("of-one-alone", ownedBy(alone));
    await make("of-nobody", { ...wrong, uid: "no-such-uid" });
    await eventually(async () => (await tenant.secrets.list({ namespace })).items.length === 0);
    const told = async () =>
      (await tenant.events.list({ namespace })).items.map((one) => {
        const { name, namespace: at } = one["involvedObject"] as Record<string, string>;
        const { component } = one["source"] as Record<string, string>;
        return [name, at, one["type"], one["reason"], component, one["message"]];
      });
    await eventually(async () => (await told()).length >= 2);
    const event = (name: string, owner: string, id: string) => [
      ...[name, namespace, "Warning", "OwnerRefInvalidNamespace", "garbage-collector-controller"],
      `ownerRef [v1/${owner}, uid: ${id}] does not exist in namespace "${namespace}"`,
    ];
    const other = `ConfigMap, namespace: ${namespace}, name: alone`;
    assert.deepEqual((await told()).sort(), [
      event("of-another-kind", `Secret, namespace: ${namespace}, name: invalid`, uid),
      event("of-one-alone", other, alone.metadata.uid as string),
    ]);
    assert.deepEqual(await tenant.configMapNames("elsewhere"), ["alone", "parent", "valid"]);
  });

  it("an owner that is deleted is no wrong reference", async () => {
    const owner = await tenant.configMap("owner");
    await tenant.configMap("child", { ownerReferences: [ownedBy(owner)] });
    await observationPeriod();
    let asked = 0;
    fixture.onRequest = (method, target) => {
      if (method === "GET" && target.includes("/api/v1/namespaces?")) asked++;
    };
    await tenant.configMaps.delete({ namespace, name: "owner" });
    await become([]);
    assert.equal(asked, 0);
  });

  it("an owner that the server cannot be asked about is not taken for absent", async () => {
    await fixture.stopControllers();
    const owner = await tenant.configMap("owner");
    await tenant.secrets.create({
      metadata: { namespace, name: "child", ownerReferences: [ownedBy(owner)] },
    });
    fixture.onRequest = (_, target) => {
      if (target.endsWith("/configmaps/owner")) throw new Error("no answer");
    };
    fixture.startControllers();
    await eventually(() => fixture.errors.some((one) => one.includes("no answer")));
    await observationPeriod();
    assert.ok(await tenant.secrets.find({ namespace, name: "child" }));
  });

  it("a dependent that finds another owner in the last moment stays", async () => {
    await fixture.stopControllers();
    const owner = await tenant.configMap("owner");
    const saviour = await tenant.configMap("saviour");
    await tenant.configMap("child", { ownerReferences: [ownedBy(owner)] });
    await tenant.configMaps.delete({ namespace, name: "owner" });
    let hasMoved = false;
    fixture.onRequest = async (method, target) => {
      if (hasMoved || method !== "DELETE" || !target.endsWith("/child")) return;
      hasMoved = true;
      await tenant.configMaps.modify({ namespace, name: "child" }, (current) => ({
        ...current,
        metadata: { ...current.metadata, ownerReferences: [ownedBy(saviour)] },
      }));
    };
    fixture.startControllers();
    await eventually(() => hasMoved);
    await observationPeriod();
    assert.deepEqual(await names(), ["child", "saviour"]);
  });
});
