/**
 * Goal: who may bind to an export, and who may do what with what it brings, when they are service
 * accounts or come with a warrant: upstream's cross-workspace tests.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { UserInfo } from "@kcp-ts/apiserver";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { bindingTo, cowboy, cowboySchema, cowboysIn } from "./cowboys.ts";
import { admin, alice, bob } from "./workspace-fixture.ts";
import {
  apisOf,
  bindRule,
  groupSubject,
  tenancyOf,
  userSubject,
  WorkspaceRequests,
} from "./workspace-requests.ts";

/** As its token makes it known. */
const account = (cluster: string, name: string): UserInfo => ({
  username: `system:serviceaccount:default:${name}`,
  groups: ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
  extra: {
    "authentication.kcp.io/cluster-name": [cluster],
    "authentication.kcp.io/scopes": [`cluster:${cluster}`],
  },
});

describe("exports that not everybody may bind to", () => {
  let plane: TestControlPlane;
  let workspaceRequests: WorkspaceRequests;
  let provider: string;
  let consumer: string;
  let robot: UserInfo;
  before(async () => {
    plane = await startTestControlPlane();
    workspaceRequests = new WorkspaceRequests(plane);
    await workspaceRequests.allowWorkspaceCreation(admin);
    provider = await workspaceRequests.workspace(bob, "provider");
    consumer = await workspaceRequests.workspace(alice, "consumer");
    robot = account(consumer, "robot");
    const schemas = `${apisOf(provider, "v1alpha1")}/apiresourceschemas`;
    await workspaceRequests.expectSuccess(bob, "POST", schemas, cowboySchema("today"));
    for (const name of ["by-account", "by-cluster", "by-warrant", "limited", "default"])
      await workspaceRequests.expectSuccess(bob, "POST", `${apisOf(provider)}/apiexports`, {
        metadata: { name },
        spec: {
          resources: [
            { name: "cowboys", group: "wildwest.dev", schema: "today.cowboys.wildwest.dev" },
          ],
          ...(name === "limited" ? { maximalPermissionPolicy: { local: {} } } : {}),
        },
      });
    // In her own workspace alice lets the robots do everything.
    const rules = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];
    const subjects = [groupSubject("system:serviceaccounts:default")];
    await workspaceRequests.allow(alice, consumer, "robots", { rules, subjects });
  });
  after(() => plane.close());

  const mayBind = (name: string, subject: object) =>
    workspaceRequests.allow(bob, provider, `bind-${name}`, {
      rules: [{ ...bindRule, resourceNames: [name] }],
      subjects: [subject],
    });
  const tryBind = async (user: UserInfo, name: string, dryRun = "?dryRun=All") => {
    const path = `${apisOf(consumer)}/apibindings${dryRun}`;
    const { status, body } = await workspaceRequests.request(
      user,
      "POST",
      path,
      bindingTo(provider, name),
    );
    if (status === 403)
      assert.equal(
        body.message,
        `apibindings.apis.kcp.io "${name}" is forbidden: unable to create APIBinding: no permission to bind to export ${provider}:${name}`,
      );
    return status;
  };

  it("are bound to by a service account of another workspace that they name by its cluster", async () => {
    assert.equal(await tryBind(robot, "by-account"), 403);
    const name = `system:kcp:serviceaccount:${consumer}:default:robot`;
    await mayBind("by-account", userSubject(name));
    assert.equal(await tryBind(robot, "by-account"), 201);
    assert.equal(await tryBind(account(consumer, "other"), "by-account"), 403);
    assert.equal(await tryBind(alice, "by-account"), 403, "it is the account's, not its owner's");
    await mayBind("wrong", userSubject(robot.username));
  });

  it("are bound to by all accounts of a workspace, if its group may", async () => {
    await mayBind("by-cluster", groupSubject(`system:cluster:${consumer}`));
    assert.equal(await tryBind(robot, "by-cluster"), 201);
    assert.equal(await tryBind(account(consumer, "other"), "by-cluster"), 201);
    assert.equal(await tryBind(alice, "by-cluster"), 403);
  });

  it("are bound to by a user with a warrant of a user who may bind", async () => {
    await mayBind("by-warrant", userSubject("patron"));
    const warrant = JSON.stringify({ user: "patron", groups: [] });
    const warranted = { ...alice, extra: { "authorization.kcp.io/warrant": [warrant] } };
    assert.equal(await tryBind(alice, "by-warrant"), 403);
    assert.equal(await tryBind(warranted, "by-warrant"), 201);
    const stray = JSON.stringify({ user: "system:serviceaccount:default:patron" });
    const unplaced = { ...alice, extra: { "authorization.kcp.io/warrant": [stray] } };
    assert.equal(await tryBind(unplaced, "by-warrant"), 403);
  });

  it("are named as defaults of a type by those who may bind to them", async () => {
    const typed = async (user: UserInfo) => {
      const { status, body } = await workspaceRequests.request(
        user,
        "POST",
        `${tenancyOf(consumer)}/workspacetypes?dryRun=All`,
        {
          metadata: { name: "typed" },
          spec: { defaultAPIBindings: [{ path: "root:provider", export: "default" }] },
        },
      );
      return status === 403 ? String(body.message) : status;
    };
    assert.match(
      String(await typed(alice)),
      /unable to create or update WorkspaceType: no permission to bind to export root:provider:default/,
    );
    await mayBind("default", userSubject(alice.username));
    assert.equal(await typed(alice), 201);
  });

  it("limit service accounts of consumers by the name that they have for providers", async () => {
    await mayBind("limited", groupSubject(`system:cluster:${consumer}`));
    assert.equal(await tryBind(robot, "limited", ""), 201);
    const list = cowboysIn(consumer);
    for (const user of [robot, alice])
      assert.equal(
        (await workspaceRequests.request(user, "GET", list)).status,
        403,
        "nothing is allowed yet",
      );
    const name = `apis.kcp.io:binding:system:kcp:serviceaccount:${consumer}:default:robot`;
    await workspaceRequests.allow(bob, provider, "policy", {
      rules: [{ apiGroups: ["wildwest.dev"], resources: ["cowboys"], verbs: ["list", "create"] }],
      subjects: [userSubject(name)],
    });
    assert.equal((await workspaceRequests.request(robot, "GET", list)).status, 200);
    assert.equal((await workspaceRequests.request(robot, "POST", list, cowboy("one"))).status, 201);
    assert.equal((await workspaceRequests.request(robot, "DELETE", `${list}/one`)).status, 403);
    assert.equal(
      (await workspaceRequests.request(account(consumer, "other"), "GET", list)).status,
      403,
    );
    assert.equal((await workspaceRequests.request(alice, "GET", list)).status, 403);
    // Nobody gets around it by a group that only the system gives.
    const pretender = { ...alice, groups: [...alice.groups, "apis.kcp.io:binding:system:masters"] };
    assert.equal((await workspaceRequests.request(pretender, "GET", list)).status, 403);
  });
});
