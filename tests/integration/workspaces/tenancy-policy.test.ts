/**
 * Goal: the operations that upstream's export of tenancy.kcp.io denies in a workspace to all users,
 * its administrator included.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { UserInfo } from "@kcp-ts/apiserver";
import type { TransportRequest } from "@kcp-ts/sdk/client";
import { admin, alice, kinds, master, WorkspaceFixture } from "./workspace-fixture.ts";

const anonymous: UserInfo = { username: "system:anonymous", groups: ["system:unauthenticated"] };
const tenancy = "/apis/tenancy.kcp.io/v1alpha1";

describe("the policy on tenancy.kcp.io", () => {
  let fixture: WorkspaceFixture;
  before(async () => {
    fixture = await WorkspaceFixture.start();
    await fixture.workspace("root", "org");
    await fixture.grant("root:org", alice, ["cluster-admin"]);
    await fixture.grant("root:org", anonymous, ["cluster-admin"]);
    await fixture.workspace("root:org", "team", { user: alice });
    await fixture
      .at("root:org", alice)
      .resource(kinds.types)
      .create({ metadata: { name: "own" }, spec: {} } as never);
  });
  after(() => fixture.close());

  const send = async (user: UserInfo, method: string, path: string, body?: object) => {
    const { transport } = fixture.plane.clientFor("root:org", user);
    const response = await transport.send({
      method: method as TransportRequest["method"],
      path: `/clusters/root:org${path}`,
      headers: body === undefined ? {} : { "content-type": "application/merge-patch+json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.body.text() };
  };

  for (const [resource, name] of [
    ["workspaces", "team"],
    ["workspacetypes", "own"],
  ] as const) {
    const path = `${tenancy}/${resource}/${name}/status`;
    it(`lets administrators of a workspace read ${resource}/status, and not write it`, async () => {
      assert.equal((await send(alice, "GET", path)).status, 200);
      for (const [method, verb] of [
        ["PATCH", "patch"],
        ["PUT", "update"],
      ] as const) {
        const { status, text } = await send(alice, method, path, {
          status: { phase: "Unavailable" },
        });
        assert.equal(status, 403, text);
        const { message } = JSON.parse(text) as { message: string };
        assert.ok(
          message.startsWith(
            `${resource}.tenancy.kcp.io "${name}" is forbidden: User "alice" cannot ${verb} resource "${resource}/status" in API group "tenancy.kcp.io" at the cluster scope`,
          ),
          message,
        );
      }
      const main = `${tenancy}/${resource}/${name}`;
      const labels = { metadata: { labels: { touched: "yes" } } };
      assert.equal((await send(alice, "PATCH", main, labels)).status, 200);
      for (const user of [admin, master])
        assert.equal((await send(user, "PATCH", path, {})).status, 200, user.username);
    });
  }

  it("holds for access reviews, too", async () => {
    const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    const resourceAttributes = { group: "tenancy.kcp.io", resource: "workspaces", name: "team" };
    const { transport } = fixture.plane.clientFor("root:org", alice);
    for (const [verb, allowed] of [
      ["patch", false],
      ["get", true],
    ] as const) {
      const response = await transport.send({
        method: "POST",
        path: `/clusters/root:org${path}`,
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          spec: { resourceAttributes: { ...resourceAttributes, verb, subresource: "status" } },
        }),
      });
      const { status } = JSON.parse(await response.body.text()) as { status: { allowed: boolean } };
      assert.equal(status.allowed, allowed, verb);
    }
  });

  it("keeps out those who do not say who they are, whatever their roles", async () => {
    assert.equal((await send(anonymous, "GET", "/api/v1/namespaces")).status, 200);
    assert.equal((await send(anonymous, "GET", `${tenancy}/workspaces`)).status, 403);
  });
});
