/**
 * Goal: what the owner of a workspace may write of its LogicalCluster, and what stays the system's,
 * in the words of upstream.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { DynamicObject } from "@kcp-ts/sdk";
import { eventually } from "@kcp-ts/testkit";
import {
  admin,
  alice,
  kinds,
  master,
  phaseOf,
  specOf,
  statusOfRejection,
  WorkspaceFixture,
} from "./workspace-fixture.ts";

const finalizer = "core.kcp.io/logicalcluster-deletion";

describe("the LogicalCluster of a workspace", () => {
  let fixture: WorkspaceFixture;
  before(async () => {
    fixture = await WorkspaceFixture.start();
    await fixture.workspace("root", "org");
    await fixture.grant("root:org", alice, ["cluster-admin"]);
    const extend = { with: [{ name: "universal", path: "root" }] };
    for (const [name, spec] of Object.entries({
      slow: { initializer: true, extend },
      lasting: { terminator: true, extend },
    }))
      await fixture
        .at("root:org", alice)
        .resource(kinds.types)
        .create({ metadata: { name }, spec } as never);
  });
  after(() => fixture.close());

  const make = async (name: string, type?: string): Promise<string> => {
    const spec = type === undefined ? {} : { type: { name: type, path: "root:org" } };
    const made = await fixture
      .at("root:org", alice)
      .resource(kinds.workspaces)
      .create({ metadata: { name }, spec } as never);
    return String(specOf(made)["cluster"]);
  };
  const logicalIn = (cluster: string, user = alice) =>
    fixture.at(cluster, user).resource(kinds.logicalClusters);
  const write = async (cluster: string, status: object, user = alice) => {
    const client = logicalIn(cluster, user);
    const found = await client.get({ name: "cluster" });
    const next = { ...found, status: { ...(found["status"] as object), ...status } };
    return statusOfRejection(client.updateStatus(next as never));
  };
  const refused = (words: string) => ({
    code: 403,
    message: `logicalclusters.core.kcp.io "cluster" is forbidden: ${words}`,
  });

  it("leaves Initializing when nothing is left to initialize", async () => {
    const cluster = await make("coming", "slow");
    const { initializers } = specOf(await logicalIn(cluster).get({ name: "cluster" }));
    const [own] = initializers as string[];
    assert.deepEqual(
      await write(cluster, { phase: "Ready" }),
      refused("status.initializers is not empty"),
    );
    assert.deepEqual(
      await write(cluster, { phase: "Ready", initializers: [] }),
      refused("status.initializers is immutable after initialization"),
    );
    assert.deepEqual(
      await write(cluster, { phase: "Scheduling" }),
      refused("status.initializers is not empty"),
    );
    assert.deepEqual(
      await write(cluster, { initializers: [own, "root:other"] }),
      refused("status.initializers must not grow"),
    );
    assert.equal((await write(cluster, { initializers: [] })).code, 200);
    const found = await logicalIn(cluster).get({ name: "cluster" });
    assert.equal(phaseOf(found), "Ready");
  });

  it("says of its owner no more than the name when it is ready", async () => {
    const cluster = await make("owned", "slow");
    const ownerOf = ({ metadata }: DynamicObject) =>
      JSON.parse(metadata.annotations?.["experimental.tenancy.kcp.io/owner"] ?? "null") as object;
    const before = await logicalIn(cluster).get({ name: "cluster" });
    assert.deepEqual(ownerOf(before), { username: "alice", groups: ["system:authenticated"] });
    const more = JSON.stringify({ ...ownerOf(before), groups: ["more"] });
    const annotations = {
      ...before.metadata.annotations,
      "experimental.tenancy.kcp.io/owner": more,
    };
    const changed = { ...before, metadata: { ...before.metadata, annotations } };
    assert.equal((await statusOfRejection(logicalIn(cluster).update(changed as never))).code, 403);
    assert.equal((await write(cluster, { initializers: [] })).code, 200);
    const found = await logicalIn(cluster).get({ name: "cluster" });
    assert.deepEqual(ownerOf(found), { username: "alice" });
    const { createdBy } = specOf(found);
    assert.deepEqual(createdBy, { username: "alice", groups: ["system:authenticated"] });
  });

  it("keeps its initializers, its terminators and its phase when it is ready", async () => {
    const cluster = await make("ready", "slow");
    assert.equal((await write(cluster, { initializers: [] })).code, 200);
    const words = "status.initializers is immutable after initialization";
    assert.deepEqual(await write(cluster, { initializers: ["root:slow"] }), refused(words));
    assert.deepEqual(
      await write(cluster, { terminators: ["root:never"] }),
      refused("status.terminators must not grow"),
    );
    for (const phase of ["Scheduling", "Initializing", "Unavailable", "Inactive", "Deleting"]) {
      const { code, message } = await write(cluster, { phase });
      assert.equal(code, 403, message);
      assert.match(
        message,
        new RegExp(`cannot transition from "Ready" to "${phase}"|do not equal`),
      );
    }
    assert.equal(phaseOf(await logicalIn(cluster).get({ name: "cluster" })), "Ready");
  });

  it("is the system's to make", async () => {
    const cluster = await make("there");
    const object = { metadata: { name: "cluster" } };
    const { message } = await statusOfRejection(logicalIn(cluster).create(object as never));
    assert.match(message, /LogicalCluster cannot be created/);
  });

  it("keeps the finalizer by which its content is deleted", async () => {
    const cluster = await make("kept", "lasting");
    const withoutIt = async (user: typeof alice) => {
      const client = logicalIn(cluster, user);
      const found = await client.get({ name: "cluster" });
      const finalizers = (found.metadata.finalizers ?? []).filter((one) => one !== finalizer);
      return client.update({ ...found, metadata: { ...found.metadata, finalizers } } as never);
    };
    for (const user of [alice, admin, master])
      assert.ok((await withoutIt(user)).metadata.finalizers?.includes(finalizer));
    const configMaps = fixture.at(cluster, alice).resource(kinds.configMaps);
    await configMaps.create({ metadata: { name: "left", namespace: "default" } });

    await fixture.at("root:org", alice).resource(kinds.workspaces).delete({ name: "kept" });
    await eventually(async () => {
      const found = await logicalIn(cluster).get({ name: "cluster" });
      assert.equal(phaseOf(found), "Terminating");
    });
    for (const user of [alice, admin])
      assert.deepEqual(
        await statusOfRejection(withoutIt(user)),
        refused(`removing the finalizer ${finalizer} is forbidden`),
      );
    assert.equal((await write(cluster, { terminators: [] })).code, 200);
    await fixture.gone("root:org", "kept");
    const { items } = await fixture.at("*", master).resource(kinds.configMaps).list({});
    assert.ok(!items.some(({ metadata }) => metadata.name === "left"));
  });
});
