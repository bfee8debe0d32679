/**
 * Goal: WorkloadPlacements record reservations, so that the administrator of a workspace, and a
 * provider that the workspace accepts, read them and write none.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { UserInfo } from "@kcp-ts/apiserver";
import { startTestControlPlane } from "@kcp-ts/testing/internal";
import { eventually } from "@kcp-ts/testkit";
import { bind, bindingTo } from "./cowboys.ts";
import { admin, alice, master } from "./workspace-fixture.ts";
import { apisOf, bindRule, groupSubject, WorkspaceRequests } from "./workspace-requests.ts";

const carol: UserInfo = { username: "carol", groups: ["system:authenticated"] };
const group = "scheduling.kcp.io";
const resource = "workloadplacements";

const named = (name: string) => ({
  apiVersion: `${group}/v1alpha1`,
  kind: "WorkloadPlacement",
  metadata: { name },
  spec: { workloadRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" } },
});
const forged = { status: { clusters: [{ name: "east", reserved: { pods: "500" } }] } };

describe("WorkloadPlacements", () => {
  it("WorkloadPlacements are read and not written by a workspace's administrator and by providers", async (t) => {
    const plane = await startTestControlPlane();
    t.after(() => plane.close());
    const requests = new WorkspaceRequests(plane);
    await requests.allowWorkspaceCreation(admin);
    const [provider, consumer] = [
      await requests.workspace(carol, "provider"),
      await requests.workspace(alice, "consumer"),
    ];
    const subjects = [groupSubject("system:authenticated")];
    await requests.allow(carol, provider, "bind", { rules: [bindRule], subjects });
    const claim = { group, resource, verbs: ["*"] };
    await requests.expectSuccess(carol, "POST", `${apisOf(provider)}/apiexports`, {
      metadata: { name: "placed" },
      spec: { permissionClaims: [claim] },
    });
    const accepted = { ...claim, selector: { matchAll: true }, state: "Accepted" };
    await eventually(() =>
      bind(requests, alice, consumer, bindingTo(provider, "placed", [accepted])),
    );
    const inNamespace = `apis/${group}/v1alpha1/namespaces/default/${resource}`;
    const own = `/clusters/${consumer}/${inNamespace}`;
    const view = `/services/apiexport/${provider}/placed/clusters/${consumer}/${inNamespace}`;
    const made = await requests.expectSuccess(master, "POST", own, named("deployment-web"));
    for (const [user, path] of [
      [alice, own],
      [carol, view],
    ] as const) {
      await eventually(async () =>
        assert.deepEqual(await requests.names(user, path), ["deployment-web"]),
      );
      const one = `${path}/deployment-web`;
      const changed = { ...made, ...forged };
      const attempts = [
        ["POST", path, named("deployment-api")],
        ["PUT", one, changed],
        ["PATCH", one, forged],
        ["DELETE", one, undefined],
        ["DELETE", path, undefined],
      ] as const;
      for (const [method, at, body] of attempts) {
        const { status, body: answer } = await requests.request(user, method, at, body);
        assert.equal(status, 403, `${user.username}: ${method} ${at}`);
        assert.match(answer.message ?? "", /the multi-cluster controllers write/);
      }
      assert.equal((await requests.request(user, "GET", one)).status, 200);
    }
    const { status, metadata } = await requests.expectSuccess(
      alice,
      "GET",
      `${own}/deployment-web`,
    );
    assert.equal(status, undefined);
    assert.equal(metadata?.["generation"], 1);
  });
});
