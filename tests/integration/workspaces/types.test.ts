/**
 * Goal: types decide what a workspace is, where it may be, who may make one and who prepares it.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { DynamicObject } from "@kcp-ts/sdk";
import { eventually } from "@kcp-ts/testkit";
import {
  alice,
  conditionOf,
  kinds,
  phaseOf,
  specOf,
  statusOfRejection,
  WorkspaceFixture,
} from "./workspace-fixture.ts";

describe("types of workspaces", () => {
  let fixture: WorkspaceFixture;
  before(async () => {
    fixture = await WorkspaceFixture.start();
    await fixture.workspace("root", "org");
    await fixture.workspace("root:org", "kin");
  });
  after(() => fixture.close());

  const makeType = (path: string, name: string, spec: object = {}) =>
    fixture
      .at(path)
      .resource(kinds.types)
      .create({ metadata: { name }, spec } as never);
  const make = (parent: string, name: string, type: object | undefined, user = undefined) =>
    fixture
      .at(parent, user)
      .resource(kinds.workspaces)
      .create({ metadata: { name }, spec: type === undefined ? {} : { type } } as never);

  it("of root are there from the start", async () => {
    const { items } = await fixture.at("root").resource(kinds.types).list({});
    assert.deepEqual(
      items.map(({ metadata }) => metadata.name),
      ["home", "organization", "root", "team", "universal"],
    );
    const universal = items.at(-1) as DynamicObject;
    assert.equal(universal.metadata.annotations?.["kcp.io/path"], "root");
    assert.equal(conditionOf(universal, "VirtualWorkspaceURLsReady")?.["status"], "True");
  });

  const defaults: readonly [parent: string, name: string, type: string][] = [
    ["root", "below-root", "organization"],
    ["root:org", "below-org", "universal"],
    ["root:org:below-org", "below-that", "universal"],
  ];
  for (const [parent, name, type] of defaults) {
    it(`below ${parent} the default is ${type}`, async () => {
      const created = await make(parent, name, undefined);
      assert.deepEqual(specOf(created)["type"], { name: type, path: "root" });
    });
  }

  it("are looked for in the parent, then above it", async () => {
    await makeType("root:org", "special", {
      extend: { with: [{ name: "universal", path: "root" }] },
    });
    const near = await make("root:org", "near", { name: "special" });
    assert.deepEqual(specOf(near)["type"], { name: "special", path: "root:org" });
    const far = await make("root:org:near", "far", { name: "special" });
    assert.deepEqual(specOf(far)["type"], { name: "special", path: "root:org" });
  });

  const refusals: readonly [name: string, parent: string, type: object, words: string][] = [
    ["unknown", "root", { name: "none" }, 'workspace type "none" cannot be resolved'],
    [
      "elsewhere",
      "root",
      { name: "x", path: "root:nowhere" },
      'workspace type "root:nowhere:x" cannot be resolved',
    ],
    [
      "team-in-root",
      "root",
      { name: "team", path: "root" },
      "workspace type root:team only allows [root:organization root:team] parent workspaces, but parent type root:root only implements [root:universal root:root]",
    ],
    [
      "homeless",
      "root",
      { name: "home", path: "root" },
      "workspace type root:home cannot have any parent",
    ],
    [
      "org-in-org",
      "root:org",
      { name: "organization", path: "root" },
      "workspace type root:organization only allows [root:root] parent workspaces, but parent type root:organization only implements [root:universal root:organization]",
    ],
  ];
  for (const [name, parent, type, words] of refusals) {
    it(`refuse ${name}`, async () => {
      assert.deepEqual(await statusOfRejection(make(parent, name, type)), {
        code: 403,
        message: `workspaces.tenancy.kcp.io "${name}" is forbidden: ${words}`,
      });
    });
  }

  it("that extend one another in a circle cannot be used", async () => {
    await makeType("root", "hen", { extend: { with: [{ name: "egg", path: "root" }] } });
    await makeType("root", "egg", { extend: { with: [{ name: "hen", path: "root" }] } });
    const { code, message } = await statusOfRejection(
      make("root", "circle", { name: "hen", path: "root" }),
    );
    assert.equal(code, 403);
    assert.match(message, /circular dependency detected in workspace type root:/);
  });

  it("that the parent is of and that have become circular refuse what is to be below", async () => {
    await makeType("root:org", "ring-a");
    await makeType("root:org", "ring-b", {
      extend: { with: [{ name: "ring-a", path: "root:org" }] },
    });
    await make("root:org:kin", "ringed", { name: "ring-b" });
    const ring = await fixture.at("root:org").resource(kinds.types).get({ name: "ring-a" });
    const spec = { ...specOf(ring), extend: { with: [{ name: "ring-b", path: "root:org" }] } };
    await fixture
      .at("root:org")
      .resource(kinds.types)
      .update({ ...ring, spec } as never);
    const universal = { name: "universal", path: "root" };
    for (const type of [undefined, universal]) {
      const { code, message } = await statusOfRejection(make("root:org:kin:ringed", "below", type));
      assert.equal(code, 403, message);
      assert.match(message, /circular dependency detected in workspace type root:org:ring-b/);
    }
  });

  it("that the parent is of and that have lost what they extend refuse what is to be below", async () => {
    await makeType("root:org", "base");
    await makeType("root:org", "based", { extend: { with: [{ name: "base", path: "root:org" }] } });
    await make("root:org:kin", "uprooted", { name: "based" });
    await fixture.at("root:org").resource(kinds.types).delete({ name: "base" });
    const { code, message } = await statusOfRejection(
      make("root:org:kin:uprooted", "below", undefined),
    );
    assert.equal(code, 403, message);
    assert.match(message, /workspace type "root:org:base" cannot be resolved/);
  });

  it("a deleted type of the parent rejects new children, because its limits are unknown", async () => {
    await makeType("root:org", "passing", { limitAllowedChildren: { none: true } });
    await make("root:org:kin", "orphaned", { name: "passing" });
    await fixture.at("root:org").resource(kinds.types).delete({ name: "passing" });
    const missing =
      'cannot be resolved: workspacetypes.tenancy.kcp.io "root:org:passing" not found';
    const wanted = make("root:org:kin:orphaned", "below", undefined);
    const byDefault = await statusOfRejection(wanted);
    assert.equal(byDefault.code, 403);
    assert.ok(byDefault.message.endsWith(`parent type ${missing}`), byDefault.message);
    const universal = { name: "universal", path: "root" };
    const named = await statusOfRejection(make("root:org:kin:orphaned", "below", universal));
    assert.equal(named.code, 403);
    assert.ok(named.message.endsWith(`workspace type ${missing}`), named.message);
  });

  it("of homes that cannot be used refuse a home", async () => {
    const types = fixture.at("root").resource(kinds.types);
    const home = await types.get({ name: "home" });
    const spec = { ...specOf(home), extend: { with: [{ name: "none", path: "root" }] } };
    const broken = await types.update({ ...home, spec } as never);
    const asked = fixture.at("root", alice).resource(kinds.workspaces).get({ name: "~" });
    const { code, message } = await statusOfRejection(asked);
    assert.equal(code, 403, message);
    await types.update({ ...broken, spec: specOf(home) } as never);
    await fixture.at("root", alice).resource(kinds.workspaces).get({ name: "~" });
  });

  for (const path of [
    "user",
    "user:",
    "root:",
    ":",
    "root::org",
    "*",
    "system:",
    "A b",
    "user:x:y",
  ]) {
    it(`at ${JSON.stringify(path)} are not there`, async () => {
      const { code, message } = await statusOfRejection(
        make("root:org", "lost", { name: "universal", path }),
      );
      assert.ok(code === 403 || code === 422, `${code} ${message}`);
      const extend = { with: [{ name: "universal", path }] };
      const made = await statusOfRejection(makeType("root:org", "lost", { extend }));
      assert.ok(made.code === 200 || made.code === 422, `${made.code} ${made.message}`);
      if (made.code !== 200) return;
      const { code: used } = await statusOfRejection(make("root:org", "lost", { name: "lost" }));
      assert.equal(used, 403);
      await fixture.at("root:org").resource(kinds.types).delete({ name: "lost" });
    });
  }

  it("with reserved names are refused", async () => {
    for (const name of ["any", "system"]) {
      const { code, message } = await statusOfRejection(makeType("root", name));
      assert.equal(code, 403);
      assert.match(message, /name is reserved/);
    }
    const { message } = await statusOfRejection(makeType("root:org", "root"));
    assert.match(message, /root workspace type can only be created in root cluster/);
  });

  it("can be used by those who are allowed to, by all types that they extend", async () => {
    await makeType("root", "guarded", { extend: { with: [{ name: "universal", path: "root" }] } });
    await fixture.workspace("root", "alices", { type: "root:universal" });
    await fixture.grant("root:alices", alice, ["cluster-admin"]);
    const create = (name: string) =>
      fixture
        .at("root:alices", alice)
        .resource(kinds.workspaces)
        .create({ metadata: { name }, spec: { type: { name: "guarded", path: "root" } } } as never);
    assert.deepEqual(await statusOfRejection(create("no")), {
      code: 403,
      message:
        "workspaces.tenancy.kcp.io \"no\" is forbidden: unable to use workspace type root:guarded: missing verb='use' permission on workspacetype",
    });
    await fixture
      .at("root")
      .resource(kinds.clusterRoles)
      .create({
        metadata: { name: "use-guarded" },
        rules: [
          {
            apiGroups: ["tenancy.kcp.io"],
            resources: ["workspacetypes"],
            resourceNames: ["guarded"],
            verbs: ["use"],
          },
        ],
      } as never);
    await fixture.grant("root", alice, ["use-guarded"]);
    assert.equal(phaseOf(await create("yes")), "Ready");
  });

  it("with an initializer keep a workspace from being ready until it is removed", async () => {
    await makeType("root", "prepared", {
      initializer: true,
      extend: { with: [{ name: "universal", path: "root" }] },
    });
    const created = await make("root", "waits", { name: "prepared", path: "root" });
    assert.equal(phaseOf(created), "Initializing");
    const waiting = conditionOf(created, "WorkspaceInitialized");
    assert.equal(waiting?.["reason"], "InitializerExists");
    const logical = fixture.at("root:waits").resource(kinds.logicalClusters);
    const cluster = await logical.get({ name: "cluster" });
    assert.equal(phaseOf(cluster), "Initializing");
    assert.deepEqual(specOf(cluster)["initializers"], [
      "root:universal",
      "root:prepared",
      "system:apibindings",
    ]);
    const status = cluster["status"] as unknown as { initializers: string[] };
    assert.deepEqual(status.initializers, ["root:prepared"]);
    const labels = Object.keys(cluster.metadata.labels ?? {});
    assert.ok(labels.some((key) => key.startsWith("initializer.internal.kcp.io/")));
    await logical.updateStatus({ ...cluster, status: { ...status, initializers: [] } } as never);
    await fixture.ready("root", "waits");
    const after = await logical.get({ name: "cluster" });
    assert.equal(phaseOf(after), "Ready");
    assert.deepEqual(Object.keys(after.metadata.labels ?? {}), ["tenancy.kcp.io/phase"]);
  });

  it("with a terminator keep a deleted workspace until it is removed", async () => {
    await makeType("root", "mourned", {
      terminator: true,
      extend: { with: [{ name: "universal", path: "root" }] },
    });
    await fixture.workspace("root", "mourns", { type: "root:mourned" });
    const configMap = { metadata: { name: "last", namespace: "default" } };
    await fixture.at("root:mourns").resource(kinds.configMaps).create(configMap);
    await fixture.at("root").resource(kinds.workspaces).delete({ name: "mourns" });
    const logical = fixture.at("root:mourns").resource(kinds.logicalClusters);
    const cluster = await eventually(async () => {
      const found = await logical.get({ name: "cluster" });
      assert.equal(phaseOf(found), "Terminating");
      return found;
    });
    assert.ok(cluster.metadata.finalizers?.includes("kcp.io/has-terminators"));
    const read = fixture.at("root:mourns").resource(kinds.configMaps);
    await read.get({ namespace: "default", name: "last" });
    const status = cluster["status"] as unknown as object;
    await logical.updateStatus({ ...cluster, status: { ...status, terminators: [] } } as never);
    await fixture.gone("root", "mourns");
  });

  it("give new workspaces their labels, which do not go before the creator's", async () => {
    await makeType("root", "labelled", {
      additionalWorkspaceLabels: { tier: "gold", colour: "red" },
    });
    const created = await fixture
      .at("root")
      .resource(kinds.workspaces)
      .create({
        metadata: { name: "labels", labels: { colour: "blue" } },
        spec: { type: { name: "labelled", path: "root" } },
      } as never);
    assert.equal(created.metadata.labels?.["tier"], "gold");
    assert.equal(created.metadata.labels?.["colour"], "blue");
  });
});
