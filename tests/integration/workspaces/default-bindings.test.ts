/**
 * Goal: a workspace is ready when it is bound to what its type says, and says why it is not;
 * upstream's initializer `system:apibindings`.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { eventually } from "@kcp-ts/testkit";
import { cowboySchema, exportCowboys } from "./cowboys.ts";
import { admin, alice, bob } from "./workspace-fixture.ts";
import { type AnyResponse, apisOf, tenancyOf, WorkspaceRequests } from "./workspace-requests.ts";

const initializer = "system:apibindings";

/** A type of bob's that binds workspaces to exports of his, which everybody may use. */
async function makeType(
  workspaceRequests: WorkspaceRequests,
  cluster: string,
  name: string,
  exports: readonly string[],
): Promise<void> {
  await workspaceRequests.expectSuccess(bob, "POST", `${tenancyOf(cluster)}/workspacetypes`, {
    metadata: { name },
    spec: {
      extend: { with: [{ name: "universal", path: "root" }] },
      defaultAPIBindings: exports.map((one) => ({ export: one })),
    },
  });
  const rules = [
    {
      apiGroups: ["tenancy.kcp.io"],
      resources: ["workspacetypes"],
      resourceNames: [name],
      verbs: ["use"],
    },
  ];
  const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: alice.username }];
  await workspaceRequests.allow(bob, cluster, `use-${name}`, { rules, subjects });
}

const exported = (schema: string, name: string, spec: object = {}) => ({
  metadata: { name },
  spec: { resources: [{ name: "cowboys", group: "wildwest.dev", schema }], ...spec },
});

describe("a workspace whose type has default bindings", () => {
  let plane: TestControlPlane;
  let workspaceRequests: WorkspaceRequests;
  let provider: string;
  let home: string;
  const storage = new MemoryStorage();
  before(async () => {
    plane = await startTestControlPlane({ storage });
    workspaceRequests = new WorkspaceRequests(plane);
    await workspaceRequests.allowWorkspaceCreation(admin);
    provider = await workspaceRequests.workspace(bob, "provider");
    home = await workspaceRequests.workspace(alice, "home");
    await exportCowboys(workspaceRequests, bob, provider);
  });
  after(() => plane.close());

  const make = (name: string, type: string): Promise<AnyResponse> =>
    workspaceRequests.expectSuccess(alice, "POST", `${tenancyOf(home)}/workspaces`, {
      metadata: { name },
      spec: { type: { name: type, path: "root:provider" } },
    });
  const found = (name: string) =>
    workspaceRequests.expectSuccess(alice, "GET", `${tenancyOf(home)}/workspaces/${name}`);
  const phaseOf = ({ status }: AnyResponse) => status.phase as string;
  const conditionOf = async ({ spec }: AnyResponse) => {
    const path = `/clusters/${spec.cluster}/apis/core.kcp.io/v1alpha1/logicalclusters/cluster`;
    const { status } = await workspaceRequests.expectSuccess(alice, "GET", path);
    const conditions = status.conditions as { type: string; reason?: string; message?: string }[];
    return conditions.find(({ type }) => type === "APIBindingsInitialized");
  };
  const ready = (name: string) =>
    eventually(async () => assert.equal(phaseOf(await found(name)), "Ready"));

  it("is ready in the answer of its create when all of it is bound by then", async () => {
    await makeType(workspaceRequests, provider, "western", ["cowboys"]);
    const made = await make("at-once", "western");
    assert.equal(phaseOf(made), "Ready");
    assert.equal(made["status"].initializers, undefined);
    const bindings = await workspaceRequests.expectSuccess(
      alice,
      "GET",
      `${apisOf(made["spec"].cluster)}/apibindings`,
    );
    assert.deepEqual(
      bindings.items?.map(({ status }) => status.phase),
      ["Bound"],
    );
  });

  it("waits for an export that is not there, says so, and is ready when it comes", async () => {
    await makeType(workspaceRequests, provider, "early", ["later"]);
    const made = await make("too-early", "early");
    assert.equal(phaseOf(made), "Initializing");
    assert.deepEqual(made["status"].initializers, [initializer]);
    await eventually(async () => {
      const condition = await conditionOf(made);
      assert.equal(condition?.reason, "APIBindingErrors");
      assert.match(condition?.message ?? "", /unable to find at least 1 APIExport/);
    });
    const schemas = `${apisOf(provider, "v1alpha1")}/apiresourceschemas`;
    await workspaceRequests.expectSuccess(bob, "POST", schemas, cowboySchema("later"));
    const body = exported("later.cowboys.wildwest.dev", "later");
    await workspaceRequests.expectSuccess(bob, "POST", `${apisOf(provider)}/apiexports`, body);
    await ready("too-early");
    assert.equal((await conditionOf(made))?.reason, undefined);
  });

  it("waits for names that are taken, and says which binding waits for them", async () => {
    await makeType(workspaceRequests, provider, "twice", ["cowboys", "later"]);
    const made = await make("twice", "twice");
    assert.equal(phaseOf(made), "Initializing");
    await eventually(async () => {
      const condition = await conditionOf(made);
      assert.equal(condition?.reason, "WaitingOnAPIBindings");
      assert.match(
        condition?.message ?? "",
        /^APIBinding\(s\) not yet fully bound: (cowboys|later)-[0-9a-z]{5}$/,
      );
    });
  });

  it("is ready when what its export claims is in effect, for what it began with too", async () => {
    const claim = { group: "", resource: "configmaps", verbs: ["*"] };
    const body = exported("later.cowboys.wildwest.dev", "claiming", { permissionClaims: [claim] });
    await workspaceRequests.expectSuccess(bob, "POST", `${apisOf(provider)}/apiexports`, body);
    await makeType(workspaceRequests, provider, "claimed", ["claiming"]);
    const { spec } = await make("claimed", "claimed");
    await ready("claimed");
    const configMaps = `/clusters/${spec.cluster}/api/v1/namespaces/default/configmaps`;
    const [first] = (await workspaceRequests.expectSuccess(alice, "GET", configMaps)).items ?? [];
    const labels = Object.keys(first?.metadata.labels ?? {});
    assert.ok(labels.some((one) => one.startsWith("claimed.internal.apis.kcp.io/")));
  });

  it("is waited for by the next server as well", async () => {
    await makeType(workspaceRequests, provider, "patient", ["much-later"]);
    await make("patient", "patient");
    await plane.server.close();
    const next = await startTestControlPlane({ storage });
    workspaceRequests = new WorkspaceRequests(next);
    const body = exported("later.cowboys.wildwest.dev", "much-later");
    await workspaceRequests.expectSuccess(bob, "POST", `${apisOf(provider)}/apiexports`, body);
    await ready("patient");
    await next.close();
  });
});
