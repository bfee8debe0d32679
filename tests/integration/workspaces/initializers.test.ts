/**
 * Goal: controllers of a type, as upstream's tests of initializing workspaces ask for them, and
 * none of them an administrator: bob owns the types, carol runs their controllers by the verb
 * `initialize`, alice makes the workspaces.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { UserInfo } from "@kcp-ts/apiserver";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { eventually } from "@kcp-ts/testkit";
import { admin, alice, bob } from "./workspace-fixture.ts";
import { accessRule, tenancyOf, userSubject, WorkspaceRequests } from "./workspace-requests.ts";

const carol: UserInfo = { username: "carol", groups: ["system:authenticated"] };
const logicalClusters = "apis/core.kcp.io/v1alpha1/logicalclusters";

describe("the controllers of a type's initializer", () => {
  let plane: TestControlPlane;
  let workspaceRequests: WorkspaceRequests;
  let typesIn: string;
  let home: string;
  before(async () => {
    plane = await startTestControlPlane();
    workspaceRequests = new WorkspaceRequests(plane);
    await workspaceRequests.allowWorkspaceCreation(admin);
    typesIn = await workspaceRequests.workspace(bob, "types");
    home = await workspaceRequests.workspace(alice, "home");
    const types = { apiGroups: ["tenancy.kcp.io"], resources: ["workspacetypes"] };
    await workspaceRequests.allow(bob, typesIn, "use", {
      rules: [{ ...types, verbs: ["use"] }],
      subjects: [userSubject(alice.username)],
    });
    await workspaceRequests.allow(bob, typesIn, "initialize", {
      rules: [{ ...types, verbs: ["initialize"] }, accessRule],
      subjects: [userSubject(carol.username)],
    });
  });
  after(() => plane.close());

  const universal = { name: "universal", path: "root" };
  const makeType = (name: string, spec: object) =>
    workspaceRequests.expectSuccess(bob, "POST", `${tenancyOf(typesIn)}/workspacetypes`, {
      metadata: { name },
      spec: { extend: { with: [universal] }, ...spec },
    });
  const make = async (name: string, type: string): Promise<string> => {
    const made = await workspaceRequests.expectSuccess(
      alice,
      "POST",
      `${tenancyOf(home)}/workspaces`,
      { metadata: { name }, spec: { type: { name: type, path: "root:types" } } },
    );
    assert.equal(made["status"].phase, "Initializing");
    return made["spec"].cluster as string;
  };
  const viewOf = (type: string) => `/services/initializingworkspaces/${typesIn}:${type}/clusters`;
  const waitingFor = async (type: string): Promise<readonly string[]> => {
    const { items = [] } = await workspaceRequests.expectSuccess(
      carol,
      "GET",
      `${viewOf(type)}/*/${logicalClusters}`,
    );
    return items
      .map(
        ({ metadata }) =>
          (metadata["annotations"] as Record<string, string>)["kcp.io/cluster"] ?? "",
      )
      .sort();
  };

  it("see who waits for them, work there as its maker, and are done when they say so", async () => {
    await makeType("slow", { initializer: true });
    const cluster = await make("slow", "slow");
    assert.deepEqual(await waitingFor("slow"), [cluster]);
    const { metadata: listed } = await workspaceRequests.expectSuccess(
      carol,
      "GET",
      `${viewOf("slow")}/*/${logicalClusters}`,
    );
    const watched = await workspaceRequests.watch(
      carol,
      `${viewOf("slow")}/*/${logicalClusters}?watch=1&resourceVersion=${listed.resourceVersion}`,
    );
    const inside = `${viewOf("slow")}/${cluster}/api/v1/namespaces/default/configmaps`;
    await workspaceRequests.expectSuccess(carol, "POST", inside, {
      metadata: { name: "made-by-controller" },
    });
    const mine = `/clusters/${cluster}/api/v1/namespaces/default/configmaps/made-by-controller`;
    assert.equal(
      (await workspaceRequests.request(alice, "GET", mine)).status,
      200,
      "its maker sees it",
    );
    assert.equal(
      (await workspaceRequests.request(carol, "GET", mine)).status,
      403,
      "by the view alone",
    );
    for (const user of [alice, bob])
      assert.equal(
        (await workspaceRequests.request(user, "GET", `${viewOf("slow")}/*/${logicalClusters}`))
          .status,
        user === bob ? 200 : 403,
        "its owner has all verbs, its maker none",
      );
    assert.equal(
      (await workspaceRequests.request(carol, "GET", `${viewOf("slow")}/root/api/v1/secrets`))
        .status,
      403,
    );
    const at = `${viewOf("slow")}/${cluster}/${logicalClusters}/cluster`;
    const object = await workspaceRequests.expectSuccess(carol, "GET", at);
    const { initializers, ...rest } = object["status"];
    const wrong = { ...object, status: { ...rest, initializers: [...initializers, "root:other"] } };
    const others = await workspaceRequests.request(carol, "PUT", `${at}/status`, wrong);
    assert.equal(others.status, 422);
    assert.match(JSON.stringify(others), /only removing the .* initializer is supported/);
    await workspaceRequests.expectSuccess(carol, "PUT", `${at}/status`, {
      ...object,
      status: rest,
    });
    assert.equal((await watched.next()).type, "DELETED", "whoever watches is told");
    watched.close();
    await eventually(async () => {
      const found = await workspaceRequests.expectSuccess(
        alice,
        "GET",
        `${tenancyOf(home)}/workspaces/slow`,
      );
      assert.equal(found["status"].phase, "Ready");
    });
    assert.deepEqual(await waitingFor("slow"), []);
    assert.equal((await workspaceRequests.request(carol, "GET", at)).status, 404);
    const closed = await workspaceRequests.request(carol, "GET", inside);
    assert.equal(closed.status, 403);
    assert.match(String(closed.body.message), /cannot access this workspace/);
  });

  it("of several types are distinguished, and each removes only its own initializer", async () => {
    await makeType("alpha", { initializer: true });
    await makeType("beta", {
      initializer: true,
      extend: { with: [{ name: "alpha", path: "root:types" }] },
    });
    const [one, two] = [await make("one", "alpha"), await make("two", "beta")];
    assert.deepEqual(await waitingFor("alpha"), [one, two].sort());
    assert.deepEqual(await waitingFor("beta"), [two]);
    const at = `${viewOf("beta")}/${two}/${logicalClusters}/cluster`;
    const object = await workspaceRequests.expectSuccess(carol, "GET", at);
    const [alpha, beta] = ["alpha", "beta"].map((name) => `${typesIn}:${name}`) as [string, string];
    assert.ok(object["status"].initializers.includes(alpha));
    const put = (initializers: readonly string[]) => {
      const body = { ...object, status: { ...object["status"], initializers } };
      return workspaceRequests.request(carol, "PUT", `${at}/status`, body);
    };
    const without = (id: string) =>
      (object["status"].initializers as string[]).filter((one) => one !== id);
    const refused = await put(without(alpha));
    assert.equal(refused.status, 422);
    assert.match(
      String(refused.body.message),
      /only removing the ".*:beta" initializer is supported/,
    );
    assert.equal((await put(without(beta))).status, 200);
    assert.deepEqual(await waitingFor("beta"), []);
    assert.deepEqual(await waitingFor("alpha"), [one, two].sort());
  });

  it("with permissions do these and nothing else, whatever its maker may", async () => {
    const initializerPermissions = [
      { apiGroups: [""], resources: ["configmaps"], verbs: ["create", "get"] },
    ];
    await makeType("strict", { initializer: true, initializerPermissions });
    const cluster = await make("strict", "strict");
    const inside = `${viewOf("strict")}/${cluster}/api/v1/namespaces/default`;
    const body = { metadata: { name: "made" } };
    assert.equal(
      (await workspaceRequests.request(carol, "POST", `${inside}/configmaps`, body)).status,
      201,
    );
    const secret = await workspaceRequests.request(carol, "POST", `${inside}/secrets`, body);
    assert.equal(secret.status, 403);
    assert.match(
      String(secret.body.message),
      /denied by initializerPermissions: no rule allows create on/,
    );
    assert.equal(
      (await workspaceRequests.request(carol, "GET", `${inside}/configmaps`)).status,
      403,
    );
  });
});
