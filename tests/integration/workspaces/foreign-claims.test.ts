/**
 * Goal: a provider that claims what another provider offers sees it by that one's identity, as far
 * as consumers agree and the other's policy lets it.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { UserInfo } from "@kcp-ts/apiserver";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { eventually } from "@kcp-ts/testkit";
import { bind, bindingTo, cowboy, cowboysIn, exportCowboys } from "./cowboys.ts";
import { admin, alice, bob } from "./workspace-fixture.ts";
import {
  apisOf,
  bindRule,
  groupSubject,
  userSubject,
  WorkspaceRequests,
} from "./workspace-requests.ts";

const carol: UserInfo = { username: "carol", groups: ["system:authenticated"] };
const accepted = (claim: object) => ({ ...claim, selector: { matchAll: true }, state: "Accepted" });

describe("claims", () => {
  let plane: TestControlPlane;
  let workspaceRequests: WorkspaceRequests;
  let carols: string;
  before(async () => {
    plane = await startTestControlPlane();
    workspaceRequests = new WorkspaceRequests(plane);
    await workspaceRequests.allowWorkspaceCreation(admin);
    carols = await workspaceRequests.workspace(carol, "carols");
    const everybody = [groupSubject("system:authenticated")];
    await workspaceRequests.allow(carol, carols, "bind", {
      rules: [bindRule],
      subjects: everybody,
    });
  });
  after(() => plane.close());

  /** An export of carol's that has nothing but claims. */
  const claiming = async (name: string, permissionClaims: readonly object[]) => {
    await workspaceRequests.expectSuccess(carol, "POST", `${apisOf(carols)}/apiexports`, {
      metadata: { name },
      spec: { permissionClaims },
    });
    await eventually(async () => {
      const found = await workspaceRequests.expectSuccess(
        carol,
        "GET",
        `${apisOf(carols)}/apiexports/${name}`,
      );
      assert.ok(found["status"]?.identityHash);
    });
    return `/services/apiexport/${carols}/${name}/clusters`;
  };

  it("on another's resources are by its identity, and within its policy", async () => {
    const bobs = await workspaceRequests.workspace(bob, "bobs");
    const identityHash = await exportCowboys(workspaceRequests, bob, bobs, {
      maximalPermissionPolicy: { local: {} },
    });
    const claim = { group: "wildwest.dev", resource: "cowboys", identityHash, verbs: ["*"] };
    const wrong = { ...claim, identityHash: "0".repeat(64) };
    const view = await claiming("sheriffs", [claim]);
    const wrongView = await claiming("strangers", [wrong]);
    const consumer = await workspaceRequests.workspace(alice, "consumer");
    const everything = {
      rules: [{ apiGroups: ["wildwest.dev"], resources: ["cowboys"], verbs: ["*"] }],
      subjects: [userSubject("apis.kcp.io:binding:alice")],
    };
    await workspaceRequests.allow(bob, bobs, "alice-may", everything);
    await bind(workspaceRequests, alice, consumer, bindingTo(bobs, "cowboys"));
    await workspaceRequests.expectSuccess(alice, "POST", cowboysIn(consumer), cowboy("john"));
    await bind(
      workspaceRequests,
      alice,
      consumer,
      bindingTo(carols, "sheriffs", [accepted(claim)]),
    );
    await bind(
      workspaceRequests,
      alice,
      consumer,
      bindingTo(carols, "strangers", [accepted(wrong)]),
    );
    const all = `${view}/*/apis/wildwest.dev/v1/cowboys`;
    const one = `${cowboysIn(consumer, `${view}/`)}/john`;
    assert.equal(
      (await workspaceRequests.request(carol, "GET", all)).status,
      403,
      "bob's policy says nothing",
    );
    assert.equal((await workspaceRequests.request(carol, "GET", one)).status, 403);
    await workspaceRequests.allow(bob, bobs, "carol-may-look", {
      rules: [{ apiGroups: ["wildwest.dev"], resources: ["cowboys"], verbs: ["get", "list"] }],
      subjects: [userSubject("apis.kcp.io:binding:carol")],
    });
    await eventually(async () =>
      assert.deepEqual(await workspaceRequests.names(carol, all), ["john"]),
    );
    assert.equal((await workspaceRequests.request(carol, "GET", one)).status, 200);
    const spec = { spec: { intent: "leave" } };
    assert.equal(
      (await workspaceRequests.request(carol, "PATCH", one, spec)).status,
      403,
      "to look, no more",
    );
    assert.notEqual(
      (await workspaceRequests.request(carol, "GET", `${wrongView}/*/apis/wildwest.dev/v1/cowboys`))
        .status,
      200,
      "an identity that is nobody's",
    );
  });

  it("on reviews let a provider ask in the workspace of a consumer who agrees", async () => {
    const review = (resource: string) => ({
      group: "authorization.k8s.io",
      resource,
      verbs: ["*"],
    });
    const claims = [
      review("subjectaccessreviews"),
      { ...review("tokenreviews"), group: "authentication.k8s.io" },
    ];
    const view = await claiming("reviews", claims);
    const [agrees, not] = [
      await workspaceRequests.workspace(alice, "agrees"),
      await workspaceRequests.workspace(alice, "agrees-not"),
    ];
    await bind(
      workspaceRequests,
      alice,
      agrees,
      bindingTo(carols, "reviews", claims.map(accepted)),
    );
    await bind(workspaceRequests, alice, not, bindingTo(carols, "reviews"));
    const path = "apis/authorization.k8s.io/v1/subjectaccessreviews";
    const resourceAttributes = { verb: "list", resource: "configmaps", namespace: "default" };
    const asked = (user: string) => ({ spec: { user, resourceAttributes } });
    for (const [user, allowed] of [
      ["alice", true],
      ["carol", false],
    ] as const) {
      const answer = await workspaceRequests.expectSuccess(
        carol,
        "POST",
        `${view}/${agrees}/${path}`,
        asked(user),
      );
      assert.equal(answer["status"].allowed, allowed);
    }
    for (const place of [`${view}/${not}`, `/clusters/${agrees}`])
      assert.equal(
        (await workspaceRequests.request(carol, "POST", `${place}/${path}`, asked("alice"))).status,
        403,
      );
    assert.notEqual(
      (await workspaceRequests.request(carol, "POST", `${view}/*/${path}`, asked("alice"))).status,
      201,
    );
    const account = `/clusters/${agrees}/api/v1/namespaces/default/serviceaccounts/default/token`;
    const { status } = await workspaceRequests.expectSuccess(alice, "POST", account, { spec: {} });
    const reviewed = await workspaceRequests.expectSuccess(
      carol,
      "POST",
      `${view}/${agrees}/apis/authentication.k8s.io/v1/tokenreviews`,
      { spec: { token: status.token } },
    );
    assert.equal(reviewed["status"].authenticated, true);
    const home = reviewed["status"].user.extra["authentication.kcp.io/cluster-name"];
    assert.deepEqual(home, [agrees]);
  });

  it("on events are on both groups that they are in", async () => {
    const consumer = await workspaceRequests.workspace(alice, "eventful");
    const inDefault = { namespace: "default" };
    const event = (name: string) => ({
      metadata: { name, ...inDefault },
      involvedObject: { kind: "Namespace", name: "default", ...inDefault },
      reason: "Seen",
      message: "it was",
      type: "Normal",
    });
    const core = `/clusters/${consumer}/api/v1/namespaces/default/events`;
    await workspaceRequests.expectSuccess(alice, "POST", core, event("before"));
    for (const group of ["", "events.k8s.io"]) {
      const name = group === "" ? "core" : "grouped";
      const claim = { group, resource: "events", verbs: ["*"] };
      const view = await claiming(name, [claim]);
      await bind(workspaceRequests, alice, consumer, bindingTo(carols, name, [accepted(claim)]));
      await workspaceRequests.expectSuccess(alice, "POST", core, event(`after-${name}`));
      for (const path of ["api/v1", "apis/events.k8s.io/v1"])
        await eventually(async () => {
          const names = await workspaceRequests.names(carol, `${view}/*/${path}/events`);
          assert.ok(names.includes("before"), `${name} ${path}: ${names}`);
          assert.ok(names.includes(`after-${name}`), `${name} ${path}: ${names}`);
        });
      const made = `${view}/${consumer}/apis/events.k8s.io/v1/namespaces/default/events`;
      const seen = await workspaceRequests.expectSuccess(carol, "GET", `${made}/before`);
      assert.equal(seen["apiVersion"], "events.k8s.io/v1");
    }
  });
});
