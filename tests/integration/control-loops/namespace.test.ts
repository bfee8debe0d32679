/**
 * Goal: a deleted namespace is emptied and goes, from whatever state, without touching anything
 * else.
 */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Condition } from "@kcp-ts/sdk";
import {
  ControllersFixture,
  eventually,
  observationPeriod,
  type Tenant,
} from "./controllers-fixture.ts";

describe("namespace controller", () => {
  let fixture: ControllersFixture;
  beforeEach(async () => {
    fixture = await ControllersFixture.start();
  });
  afterEach(() => fixture.close());

  const isGone = (tenant: Tenant, name: string) => async () =>
    (await tenant.namespaces.find({ name })) === undefined;
  const statusOf = async (tenant: Tenant, name: string) =>
    (await tenant.namespaces.get({ name }))["status"] as unknown as {
      phase: string;
      conditions?: Condition[];
    };

  it("a deleted namespace goes with everything in it, and nothing else does", async () => {
    fixture.startControllers();
    const [a, b] = [fixture.in("a"), fixture.in("b")];
    for (const tenant of [a, b]) {
      await tenant.namespace("doomed");
      await tenant.namespace("other");
      for (const namespace of ["doomed", "other"]) {
        await tenant.configMap("one", { namespace });
        await tenant.secrets.create({ metadata: { namespace, name: "two" } });
      }
    }
    await a.namespaces.delete({ name: "doomed" });
    await eventually(isGone(a, "doomed"));

    assert.deepEqual(await a.configMapNames("doomed"), []);
    assert.deepEqual((await a.secrets.list({ namespace: "doomed" })).items, []);
    assert.deepEqual(await a.configMapNames("other"), ["one"]);
    assert.deepEqual(await b.configMapNames("doomed"), ["one"]);
    assert.equal((await b.secrets.list({ namespace: "doomed" })).items.length, 1);
    assert.equal((await statusOf(b, "doomed")).phase, "Active");
    assert.deepEqual(fixture.errors, []);
  });

  it("content with finalizers is reported in the conditions, and awaited", async () => {
    fixture.startControllers();
    const tenant = fixture.in("a");
    await tenant.namespace("doomed");
    await tenant.configMap("held", { namespace: "doomed", finalizers: ["example.com/hold"] });
    await tenant.configMap("free", { namespace: "doomed" });
    await tenant.namespaces.delete({ name: "doomed" });
    await eventually(
      async () => (await statusOf(tenant, "doomed")).conditions?.some(isTrue) === true,
    );

    const { phase, conditions } = await statusOf(tenant, "doomed");
    assert.equal(phase, "Terminating");
    assert.deepEqual(
      conditions?.map(({ type, status, reason, message }) => [type, status, reason, message]),
      [
        [
          "NamespaceDeletionDiscoveryFailure",
          "False",
          "ResourcesDiscovered",
          "All resources successfully discovered",
        ],
        [
          "NamespaceDeletionGroupVersionParsingFailure",
          "False",
          "ParsedGroupVersions",
          "All legacy kube types successfully parsed",
        ],
        [
          "NamespaceDeletionContentFailure",
          "False",
          "ContentDeleted",
          "All content successfully deleted, may be waiting on finalization",
        ],
        [
          "NamespaceContentRemaining",
          "True",
          "SomeResourcesRemain",
          "Some resources are remaining: configmaps. has 1 resource instances",
        ],
        [
          "NamespaceFinalizersRemaining",
          "True",
          "SomeFinalizersRemain",
          "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
        ],
      ],
    );
    assert.deepEqual(await tenant.configMapNames("doomed"), ["held"]);

    await tenant.configMaps.modify({ namespace: "doomed", name: "held" }, (current) => ({
      ...current,
      metadata: { ...current.metadata, finalizers: [] },
    }));
    await eventually(isGone(tenant, "doomed"));
  });

  it("a namespace with finalizers of its own is emptied and stays until they are gone", async () => {
    fixture.startControllers();
    const tenant = fixture.in("a");
    await tenant.namespaces.create({
      metadata: { name: "doomed", finalizers: ["example.com/hold"] },
    });
    await tenant.configMap("one", { namespace: "doomed" });
    await tenant.namespaces.delete({ name: "doomed" });
    const finalizersOf = async () =>
      (await tenant.namespaces.get({ name: "doomed" }))["spec"] as { finalizers?: string[] };
    await eventually(async () => ((await finalizersOf()).finalizers ?? []).length === 0);

    assert.deepEqual(await tenant.configMapNames("doomed"), []);
    const { conditions } = await statusOf(tenant, "doomed");
    assert.deepEqual(conditions?.filter(isTrue), []);
    assert.equal(conditions?.length, 5);
    await tenant.namespaces.modify({ name: "doomed" }, (current) => ({
      ...current,
      metadata: { ...current.metadata, finalizers: [] },
    }));
    await eventually(isGone(tenant, "doomed"));
  });

  it("namespaces that were deleted while no controller ran are emptied at the start", async () => {
    const tenant = fixture.in("a");
    await tenant.namespace("doomed");
    for (let i = 0; i < 1203; i++) await tenant.configMap(`c${i}`, { namespace: "doomed" });
    await tenant.namespaces.delete({ name: "doomed" });
    fixture.startControllers();
    await eventually(isGone(tenant, "doomed"));
    assert.deepEqual(await tenant.configMapNames("doomed"), []);
  });

  it("a controller that stops half-way is followed by one that finishes", async () => {
    const tenant = fixture.in("a");
    await tenant.namespace("doomed");
    for (let i = 0; i < 300; i++) await tenant.configMap(`c${i}`, { namespace: "doomed" });
    let deletions = 0;
    fixture.onRequest = (method) => {
      if (method === "DELETE" && ++deletions > 100) throw new Error("the process is dead");
    };
    fixture.startControllers();
    await tenant.namespaces.delete({ name: "doomed" });
    await eventually(() => deletions > 100);
    await fixture.stopControllers();
    assert.ok((await tenant.configMapNames("doomed")).length >= 200);

    fixture.onRequest = () => {};
    fixture.startControllers();
    await eventually(isGone(tenant, "doomed"));
    assert.deepEqual(await tenant.configMapNames("doomed"), []);
  });

  it("content that cannot be deleted is reported in the conditions and retried", async () => {
    const tenant = fixture.in("a");
    await tenant.namespace("doomed");
    await tenant.configMap("stubborn", { namespace: "doomed" });
    let isBroken = true;
    fixture.onRequest = (method, target) => {
      if (isBroken && method === "DELETE" && target.includes("stubborn")) throw new Error("no");
    };
    fixture.startControllers();
    await tenant.namespaces.delete({ name: "doomed" });
    await eventually(
      async () => (await statusOf(tenant, "doomed")).conditions?.some(isTrue) === true,
    );
    const { conditions } = await statusOf(tenant, "doomed");
    assert.deepEqual(
      conditions?.filter(isTrue).map(({ reason, message }) => [reason, message]),
      [["ContentDeletionFailed", "Failed to delete all resource types, 1 remaining: no"]],
    );
    isBroken = false;
    await eventually(isGone(tenant, "doomed"));
  });

  it("a namespace is not let go while the server cannot say what it serves", async () => {
    const tenant = fixture.in("a");
    await tenant.namespace("doomed");
    let isBroken = true;
    fixture.onRequest = (_, target) => {
      if (isBroken && /^\/clusters\/a\/apis?(\/|$)/.test(target) && !target.includes("namespaces"))
        throw new Error("no discovery");
    };
    fixture.startControllers();
    await tenant.namespaces.delete({ name: "doomed" });
    await eventually(() => fixture.errors.some((one) => one.includes("no discovery")));
    await observationPeriod();
    assert.equal((await statusOf(tenant, "doomed")).phase, "Terminating");
    isBroken = false;
    await eventually(isGone(tenant, "doomed"));
  });
});

function isTrue({ status }: Condition): boolean {
  return status === "True";
}
