/**
 * Goal: the authorizers and their order follow the operator's flags: the cases of upstream's
 * TestAuthorizationOrder, and the requests that a webhook gets.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { allow, deny, noOpinion, startReviewServer } from "./review-server.ts";
import { startControlPlaneWithFlags } from "./started-control-plane.ts";

const workspaces = "/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces";
const configMaps = "/clusters/root/api/v1/namespaces/default/configmaps";

async function withWebhook(t: TestContext, order: readonly string[] | undefined, version?: string) {
  const reviews = await startReviewServer(t);
  const plane = await startControlPlaneWithFlags(t, {
    authorizationOrder: order,
    authorizationWebhookConfigFile: reviews.configFile,
    authorizationWebhookVersion: version,
  });
  const [admin, master] = await Promise.all([
    plane.tokenOf("kcp-admin"),
    plane.tokenOf("shard-admin"),
  ]);
  const statusOf = async (path: string, token?: string) =>
    (await plane.ask(path, token === undefined ? {} : { token })).status;
  return { ...plane, reviews, admin, master, statusOf };
}

describe("the order of authorizers", () => {
  it("has a webhook before roles overrule these, and health open before it", async (t) => {
    const order = ["AlwaysAllowGroups", "AlwaysAllowPaths", "Webhook", "RBAC"];
    const { reviews, admin, statusOf } = await withWebhook(t, order);
    assert.equal(await statusOf(workspaces, admin), 200);
    reviews.answer = deny;
    assert.equal(await statusOf(configMaps, admin), 403);
    assert.equal(await statusOf("/healthz"), 200);
  });

  it("has a webhook that comes first close health as well, but not to masters", async (t) => {
    const order = ["Webhook", "AlwaysAllowGroups", "AlwaysAllowPaths", "RBAC"];
    const { reviews, admin, master, statusOf } = await withWebhook(t, order);
    assert.equal(await statusOf("/livez"), 200);
    assert.equal(await statusOf(workspaces, admin), 200);
    reviews.answer = deny;
    assert.equal(await statusOf(configMaps, admin), 403);
    assert.equal(await statusOf("/readyz"), 403);
    const before = reviews.requests.length;
    assert.equal(await statusOf(configMaps, master), 200);
    assert.equal(await statusOf("/readyz", master), 200);
    assert.equal(reviews.requests.length, before, "nobody asks it about masters");
  });

  it("calls a webhook last by default: the webhook adds to the permissions that roles grant", async (t) => {
    const { reviews, admin, statusOf, ask } = await withWebhook(t, undefined);
    reviews.answer = deny;
    assert.equal(await statusOf("/healthz"), 200);
    assert.equal(await statusOf(workspaces, admin), 200);
    assert.equal(reviews.requests.length, 0);
    const refused = await ask(configMaps);
    assert.equal(refused.status, 403);
    assert.match(String(refused.body["message"]), /cannot list resource "configmaps".*says no/);
    reviews.answer = allow;
    assert.equal(await statusOf(`${configMaps}?x`), 403, "what was refused is remembered");
    assert.equal(await statusOf("/clusters/root/api/v1/namespaces/default/secrets"), 200);
  });

  it("opens no logical cluster that is not there, whatever a webhook says", async (t) => {
    const { reviews, statusOf } = await withWebhook(t, undefined);
    assert.equal(await statusOf("/clusters/nowhere/api/v1/namespaces"), 403);
    assert.equal(reviews.requests.length, 0);
  });

  it("leaves it to those behind when a webhook has no opinion, or fails", async (t) => {
    const order = ["AlwaysAllowGroups", "AlwaysAllowPaths", "Webhook", "RBAC"];
    const { reviews, admin, statusOf, ask } = await withWebhook(t, order);
    reviews.answer = noOpinion;
    assert.equal(await statusOf(workspaces, admin), 200);
    assert.equal(await statusOf(workspaces), 403);
    reviews.answer = 404;
    assert.equal(await statusOf(configMaps, admin), 200);
    const undecided = await ask(configMaps);
    assert.equal(undecided.status, 500, "nobody knows whether it is allowed");
  });

  for (const [version, groups] of [
    ["v1", "groups"],
    ["v1beta1", "group"],
  ] as const) {
    it(`tells a webhook of ${version} who asks what, and where`, async (t) => {
      const order = ["AlwaysAllowGroups", "Webhook", "RBAC"];
      const { reviews, admin, statusOf } = await withWebhook(t, order, version);
      assert.equal(await statusOf(`${configMaps}/one`, admin), 404);
      assert.deepEqual(reviews.requests[0]?.["spec"], {
        resourceAttributes: {
          namespace: "default",
          verb: "get",
          version: "v1",
          resource: "configmaps",
          name: "one",
        },
        user: "kcp-admin",
        [groups]: ["system:kcp:admin", "system:authenticated"],
        extra: {
          "authorization.kcp.io/cluster-name": ["root"],
          "authorization.kubernetes.io/cluster-name": ["root"],
        },
      });
      assert.equal(reviews.requests[0]?.["apiVersion"], `authorization.k8s.io/${version}`);
      assert.equal(await statusOf(`${configMaps}/one`, admin), 404);
      assert.equal(reviews.requests.length, 1, "the same question is asked once");
      assert.equal(await statusOf("/clusters/root/version", admin), 200);
      const spec = reviews.requests[1]?.["spec"] as { nonResourceAttributes: object } | undefined;
      assert.deepEqual(spec?.nonResourceAttributes, { path: "/version", verb: "get" });
    });
  }

  it("is rejected with unknown names, and without the authorizers that the server needs", async (t) => {
    await assert.rejects(
      startControlPlaneWithFlags(t, { authorizationOrder: ["AlwaysAllowGroups", "Nobody"] }),
      /--authorization-order: invalid authorizer: "Nobody"/,
    );
    await assert.rejects(
      startControlPlaneWithFlags(t, { authorizationOrder: ["RBAC"] }),
      /AlwaysAllowGroups/,
    );
    await assert.rejects(
      startControlPlaneWithFlags(t, { authorizationWebhookVersion: "v2" }),
      /unsupported webhook authorizer version "v2", supported versions are "v1beta1", "v1"/,
    );
  });
});

describe("paths that are always allowed", () => {
  it("are open to anonymous users, prefixes included, and no other paths are", async (t) => {
    const { ask } = await startControlPlaneWithFlags(t, {
      authorizationAlwaysAllowPaths: ["/metrics", "openapi/*"],
    });
    const statuses = ["/metrics", "/openapi/v3", "/openapi/v2", "/api", "/healthz", workspaces].map(
      async (path) => (await ask(path)).status,
    );
    assert.deepEqual(await Promise.all(statuses), [200, 200, 200, 403, 200, 403]);
  });

  it("are closed again when they are not listed", async (t) => {
    const { ask } = await startControlPlaneWithFlags(t);
    assert.equal((await ask("/metrics")).status, 403);
  });

  it("have a star at the end or nowhere", async (t) => {
    await assert.rejects(
      startControlPlaneWithFlags(t, { authorizationAlwaysAllowPaths: ["/a*b"] }),
      /only trailing \* allowed in "a\*b"/,
    );
  });
});
