/**
 * Goal: a workspace is ready when its creation is answered, is found by its paths and its name, and
 * says what kcp says of it.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { eventually } from "@kcp-ts/testkit";
import {
  admin,
  conditionOf,
  isNotFound,
  kinds,
  master,
  phaseOf,
  specOf,
  statusOfRejection,
  WorkspaceFixture,
} from "./workspace-fixture.ts";

describe("a workspace", () => {
  let fixture: WorkspaceFixture;
  before(async () => {
    fixture = await WorkspaceFixture.start();
  });
  after(() => fixture.close());

  it("is ready when its creation is answered", async () => {
    const created = await fixture
      .at("root", admin)
      .resource(kinds.workspaces)
      .create({ metadata: { name: "answered" } });
    assert.equal(phaseOf(created), "Ready");
    assert.equal(conditionOf(created, "WorkspaceScheduled")?.["status"], "True");
    assert.equal(conditionOf(created, "WorkspaceInitialized")?.["status"], "True");
    assert.deepEqual(specOf(created)["type"], { name: "organization", path: "root" });
    assert.match(String(specOf(created)["cluster"]), /^[0-9a-z]{16}$/);
    assert.equal(specOf(created)["URL"], "https://localhost:6443/clusters/root:answered");
    const { metadata } = created;
    assert.deepEqual(metadata.finalizers, ["core.kcp.io/logicalcluster"]);
    assert.equal(metadata.labels?.["tenancy.kcp.io/phase"], "Ready");
    assert.equal(
      metadata.annotations?.["experimental.tenancy.kcp.io/owner"],
      '{"username":"kcp-admin"}',
    );
    assert.equal(metadata.annotations?.["core.kcp.io/shard"], "root");
  });

  it("is found by its path, by its parent's name and its own, and by its cluster's name", async () => {
    const org = await fixture.workspace("root", "org");
    const team = await fixture.workspace("root:org", "team", { type: "root:team", user: admin });
    const [orgCluster, teamCluster] = [org, team].map((one) => String(specOf(one)["cluster"]));
    for (const path of ["root:org:team", `${orgCluster}:team`, String(teamCluster)]) {
      const found = await fixture.at(path).resource(kinds.logicalClusters).get({ name: "cluster" });
      const { annotations } = found.metadata;
      assert.equal(annotations?.["kcp.io/path"], "root:org:team");
      assert.equal(annotations?.["kcp.io/cluster"], teamCluster);
      assert.equal(annotations?.["internal.tenancy.kcp.io/type"], "root:team");
      const { owner, createdBy } = specOf(found) as {
        owner: object;
        createdBy: { username: string };
      };
      assert.deepEqual(owner, {
        apiVersion: "tenancy.kcp.io/v1alpha1",
        resource: "workspaces",
        name: "team",
        cluster: orgCluster,
        uid: team.metadata.uid,
      });
      assert.equal(createdBy.username, "kcp-admin");
    }
  });

  it("begins with two namespaces and an administrator", async () => {
    await fixture.workspace("root", "begun", { user: admin });
    const client = fixture.at("root:begun");
    const { items } = await client.resource(kinds.namespaces).list({});
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ["default", "kube-system"],
    );
    const binding = await client
      .resource(kinds.clusterRoleBindings)
      .get({ name: "workspace-admin" });
    assert.deepEqual(binding["subjects"], [
      { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "kcp-admin" },
    ]);
  });

  it("of a member of system:masters has no owner and no administrator", async () => {
    const created = await fixture.workspace("root", "masterly", { user: master });
    assert.equal(created.metadata.annotations?.["experimental.tenancy.kcp.io/owner"], undefined);
    const bindings = await fixture.at("root:masterly").resource(kinds.clusterRoleBindings).list({});
    assert.deepEqual(bindings.items, []);
  });

  it("has objects that no other has", async () => {
    await fixture.workspace("root", "left");
    await fixture.workspace("root", "right");
    const configMap = { metadata: { name: "mine", namespace: "default" }, data: { of: "left" } };
    await fixture.at("root:left").resource(kinds.configMaps).create(configMap);
    const elsewhere = fixture.at("root:right").resource(kinds.configMaps);
    await assert.rejects(elsewhere.get({ namespace: "default", name: "mine" }), isNotFound);
  });

  it("gets the name that generateName begins", async () => {
    const created = await fixture
      .at("root")
      .resource(kinds.workspaces)
      .create({ metadata: { generateName: "e2e-" } } as never);
    assert.match(String(created.metadata.name), /^e2e-[a-z0-9]{5}$/);
    const url = String(specOf(created)["URL"]);
    assert.ok(url.endsWith(`/clusters/root:${created.metadata.name}`), url);
    assert.equal(phaseOf(created), "Ready");
  });

  it("that is only tried leaves nothing behind", async () => {
    const before = await fixture.at("*").resource(kinds.logicalClusters).list({});
    await fixture
      .at("root")
      .resource(kinds.workspaces)
      .create({ metadata: { name: "tried" } }, { dryRun: true });
    const after = await fixture.at("*").resource(kinds.logicalClusters).list({});
    assert.equal(after.items.length, before.items.length);
  });

  it("of a taken name leaves nothing behind", async () => {
    await fixture.workspace("root", "taken");
    const before = await fixture.at("*", master).resource(kinds.logicalClusters).list({});
    const again = fixture
      .at("root")
      .resource(kinds.workspaces)
      .create({ metadata: { name: "taken" } });
    assert.deepEqual(await statusOfRejection(again), {
      code: 409,
      message: 'workspaces.tenancy.kcp.io "taken" already exists',
    });
    const after = await fixture.at("*", master).resource(kinds.logicalClusters).list({});
    assert.equal(after.items.length, before.items.length);
  });

  const names: readonly [name: string, isValid: boolean][] = [
    ["a".repeat(63), true],
    ["a".repeat(64), false],
    ["Upper", false],
    ["with.dot", false],
    ["-dash", false],
    ["1", true],
  ];
  for (const [name, isValid] of names) {
    it(`${isValid ? "can" : "cannot"} be named ${name}`, async () => {
      const create = fixture.at("root").resource(kinds.workspaces).create({ metadata: { name } });
      assert.equal((await statusOfRejection(create)).code, isValid ? 200 : 422);
    });
  }

  it("cannot be moved, retyped or given away", async () => {
    const created = await fixture.workspace("root", "fixed", { user: admin });
    const resource = fixture.at("root", admin).resource(kinds.workspaces);
    const spec = specOf(created);
    const changes: readonly object[] = [
      { ...created, spec: { ...spec, type: { name: "universal", path: "root" } } },
      { ...created, spec: { ...spec, cluster: "root" } },
      { ...created, spec: { ...spec, URL: "https://elsewhere.example.com" } },
      {
        ...created,
        metadata: {
          ...created.metadata,
          annotations: { "experimental.tenancy.kcp.io/owner": '{"username":"eve"}' },
        },
      },
    ];
    for (const change of changes)
      assert.equal((await statusOfRejection(resource.update(change as typeof created))).code, 403);
    const chosen = { metadata: { name: "chosen" }, spec: { cluster: "root" } };
    assert.equal((await statusOfRejection(resource.create(chosen as never))).code, 403);
  });

  it("that no shard suits waits until one does", async () => {
    const resource = fixture.at("root").resource(kinds.workspaces);
    const spec = { location: { selector: { matchLabels: { region: "moon" } } } };
    const created = await resource.create({ metadata: { name: "far" }, spec } as never);
    assert.equal(phaseOf(created), "Scheduling");
    const condition = conditionOf(created, "WorkspaceScheduled");
    assert.equal(condition?.["reason"], "Unschedulable");
    assert.equal(condition?.["message"], "No available shards to schedule the workspace");
    const missing = fixture.at("root:far").resource(kinds.namespaces).list({});
    assert.equal((await statusOfRejection(missing)).code, 404);

    const shards = fixture.at("root").resource(kinds.shards);
    const shard = await shards.get({ name: "root" });
    const labels = { ...shard.metadata.labels, region: "moon" };
    await shards.update({ ...shard, metadata: { ...shard.metadata, labels } });
    const ready = await fixture.ready("root", "far");
    assert.equal(ready.metadata.labels?.["region"], "moon");
    await fixture.at("root:far").resource(kinds.logicalClusters).get({ name: "cluster" });
  });
});

describe("paths", () => {
  let fixture: WorkspaceFixture;
  before(async () => {
    fixture = await WorkspaceFixture.start();
  });
  after(() => fixture.close());

  it("that lead nowhere are not found, for those who may know", async () => {
    await fixture.workspace("root", "org");
    for (const path of ["root:none", "root:org:none", "root:none:org", "nobody:org"]) {
      const refused = await statusOfRejection(fixture.at(path).resource(kinds.namespaces).list({}));
      assert.deepEqual(refused, {
        code: 404,
        message: `workspaces.tenancy.kcp.io "${path}" not found`,
      });
    }
  });

  it("lead to the new workspace when one is deleted and made anew under its name", async () => {
    const first = await fixture.workspace("root", "again");
    await fixture
      .at("root:again")
      .resource(kinds.namespaces)
      .create({ metadata: { name: "old" } });
    await fixture.at("root").resource(kinds.workspaces).delete({ name: "again" });
    await fixture.gone("root", "again");
    const second = await fixture.workspace("root", "again");
    assert.notEqual(specOf(first)["cluster"], specOf(second)["cluster"]);
    const namespaces = fixture.at("root:again").resource(kinds.namespaces);
    await assert.rejects(namespaces.get({ name: "old" }), isNotFound);
  });

  it("of plain new names are open to administrators, as before there were workspaces", async () => {
    const client = fixture.at("scratch");
    await client.resource(kinds.namespaces).create({ metadata: { name: "there" } });
    assert.equal((await client.resource(kinds.namespaces).list({})).items.length, 1);
  });
});

describe("metrics", () => {
  it("have as many series with many workspaces as with few", async () => {
    // Loops ask in their own time, and each new question is a series.
    const tenants = await WorkspaceFixture.start({ controlLoops: false });
    const metrics = async () => {
      const { transport } = tenants.plane.clientFor("root", master);
      const answer = await transport.send({ method: "GET", path: "/metrics", headers: {} });
      assert.equal(answer.status, 200);
      return await answer.body.text();
    };
    const series = async () => {
      const lines = (await metrics()).split("\n").filter((line) => /^[^#]/.test(line));
      const ofTenants = lines.filter((line) => line.startsWith("kcp_top_tenant_"));
      // The ten busiest tenants alone are named, by each of these metrics.
      const metricsOfTenants = new Set(ofTenants.map((line) => line.split("{", 1)[0]));
      assert.ok(ofTenants.length <= 10 * metricsOfTenants.size, ofTenants.join("\n"));
      return lines.length - ofTenants.length;
    };
    const use = async (name: string) => {
      await tenants.workspace("root", name);
      await tenants.at(`root:${name}`).resource(kinds.namespaces).list({});
    };
    try {
      await use("first");
      await use("second");
      // Stored objects are counted when somebody first asks, and told a moment later.
      await eventually(async () => assert.match(await metrics(), /^apiserver_storage_objects\{/m));
      await series();
      const before = await series();
      for (let at = 0; at < 20; at++) await use(`more-${at}`);
      assert.equal(await series(), before);
    } finally {
      await tenants.close();
    }
  });
});
