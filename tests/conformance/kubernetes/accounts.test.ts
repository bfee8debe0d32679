/**
 * Conformance tests of Kubernetes for service accounts, certificates and reviews, under the names
 * that they have there.
 */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import {
  opensslRequest,
  startTestControlPlane,
  type TestControlPlane,
} from "@kcp-ts/testing/internal";
import { eventually } from "@kcp-ts/testkit";
import { Api, mergePatch, strategicMergePatch } from "./api.ts";

let plane: TestControlPlane;
let api: Api;
let clusters = 0;
before(async () => {
  plane = await startTestControlPlane({ physicalClusters: false });
});
after(() => plane.close());
beforeEach(() => {
  api = new Api(plane.client.transport, `/clusters/accounts${clusters++}`);
});

const home = "/api/v1/namespaces/default";
const accounts = `${home}/serviceaccounts`;

describe("conformance: service accounts", () => {
  it("ServiceAccounts should run through the lifecycle of a ServiceAccount", async () => {
    const labels = { "test-serviceaccount-static": "true" };
    const watch = await api.watch(`${accounts}?labelSelector=test-serviceaccount-static%3Dtrue`);
    await api.expectSuccess("POST", accounts, { metadata: { name: "testserviceaccount", labels } });
    assert.equal((await watch.next()).type, "ADDED");
    const patch = { automountServiceAccountToken: false };
    await api.expectSuccess("PATCH", `${accounts}/testserviceaccount`, patch, strategicMergePatch);
    assert.equal((await watch.next()).object["automountServiceAccountToken"], false);
    const everywhere = "/api/v1/serviceaccounts?labelSelector=test-serviceaccount-static%3Dtrue";
    assert.deepEqual(await api.names(everywhere), ["testserviceaccount"]);
    await api.expectSuccess(
      "DELETE",
      `${accounts}?labelSelector=test-serviceaccount-static%3Dtrue`,
    );
    assert.equal((await watch.next()).type, "DELETED");
    watch.close();
  });

  it("ServiceAccounts should update a ServiceAccount", async () => {
    const made = await api.expectSuccess("POST", accounts, {
      metadata: { name: "updated" },
      automountServiceAccountToken: false,
    });
    const changed = { ...made, automountServiceAccountToken: true };
    const updated = await api.expectSuccess("PUT", `${accounts}/updated`, changed);
    assert.equal(updated["automountServiceAccountToken"], true);
  });

  it("ServiceAccounts should guarantee kube-root-ca.crt exist in any namespace", async () => {
    const path = `${home}/configmaps/kube-root-ca.crt`;
    await api.expectSuccess("POST", accounts, { metadata: { name: "first" } });
    const published = await eventually(() => api.expectSuccess("GET", path));
    const certificate = published.data?.["ca.crt"];
    assert.match(certificate ?? "", /BEGIN CERTIFICATE/);
    await api.expectSuccess("DELETE", path);
    const again = await eventually(() => api.expectSuccess("GET", path));
    assert.notEqual(again.metadata.uid, published.metadata.uid);
    await api.expectSuccess("PUT", path, { ...again, data: { "ca.crt": "" } });
    await eventually(async () =>
      assert.equal((await api.expectSuccess("GET", path)).data?.["ca.crt"], certificate),
    );
  });

  it("ServiceAccounts should create a serviceAccountToken and ensure a successful TokenReview", async () => {
    await api.expectSuccess("POST", accounts, { metadata: { name: "reviewed" } });
    const { status } = await api.expectSuccess("POST", `${accounts}/reviewed/token`, {
      spec: { expirationSeconds: 3600 },
    });
    const review = await api.expectSuccess("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {
      spec: { token: status.token },
    });
    assert.equal(review["status"].authenticated, true);
    assert.equal(review["status"].user.username, "system:serviceaccount:default:reviewed");
    assert.ok(review["status"].user.groups.includes("system:serviceaccounts:default"));
  });
});

describe("conformance: certificates", () => {
  it("Certificates API should support CSR API operations", async () => {
    const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    const labels = { "conformance.example.com/csr": "one" };
    const spec = {
      request: opensslRequest("/CN=e2e-example"),
      signerName: "example.com/conformance",
      expirationSeconds: 3600,
      usages: ["digital signature", "key encipherment", "client auth"],
    };
    for (const name of ["one", "two"])
      await api.expectSuccess("POST", path, { metadata: { name, labels }, spec });
    assert.equal((await api.expectSuccess("GET", `${path}/one`))["spec"].expirationSeconds, 3600);
    const selected = `${path}?labelSelector=conformance.example.com%2Fcsr%3Done`;
    assert.deepEqual(await api.names(selected), ["one", "two"]);
    const annotated = await api.merge(`${path}/one`, {
      metadata: { annotations: { patched: "true" } },
    });
    assert.equal(annotated.metadata.annotations?.["patched"], "true");
    const approval = { type: "Approved", status: "True", reason: "E2E", message: "by a test" };
    const approved = await api.expectSuccess("PUT", `${path}/one/approval`, {
      ...annotated,
      status: { conditions: [approval] },
    });
    assert.equal(approved["status"].conditions[0].type, "Approved");
    assert.equal((await api.expectSuccess("GET", `${path}/one/approval`)).metadata.name, "one");
    const added = { ...approval, type: "StatusUpdate" };
    const judged = await api.expectSuccess("PUT", `${path}/one/status`, {
      ...approved,
      status: { ...approved["status"], conditions: [approval, added] },
    });
    assert.equal(judged["status"].conditions.length, 2);
    const patch = { metadata: { annotations: { patchedstatus: "true" } } };
    await api.expectSuccess("PATCH", `${path}/one/status`, patch, mergePatch);
    await api.expectSuccess("DELETE", `${path}/one`);
    await api.expectSuccess("DELETE", selected);
    assert.deepEqual(await api.names(selected), []);
  });
});

describe("conformance: reviews", () => {
  it("SubjectReview should support SubjectReview API operations", async () => {
    await api.expectSuccess("POST", accounts, { metadata: { name: "asked" } });
    const { status } = await api.expectSuccess("POST", `${accounts}/asked/token`, { spec: {} });
    const reviewed = await api.expectSuccess(
      "POST",
      "/apis/authentication.k8s.io/v1/tokenreviews",
      { spec: { token: status.token } },
    );
    const { username: user, groups, extra } = reviewed["status"].user;
    const attributes = {
      namespace: "default",
      verb: "list",
      resource: "configmaps",
      version: "v1",
    };
    const authorization = "/apis/authorization.k8s.io/v1";
    const ask = (path: string, spec: object) =>
      api.expectSuccess("POST", authorization + path, { spec });
    const spec = { user, groups, extra, resourceAttributes: attributes };
    const isAllowed = async (path: string) => (await ask(path, spec))["status"].allowed as boolean;
    assert.equal(await isAllowed("/subjectaccessreviews"), false);
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/default`;
    const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }];
    await api.expectSuccess("POST", `${rbac}/roles`, { metadata: { name: "reader" }, rules });
    await api.expectSuccess("POST", `${rbac}/rolebindings`, {
      metadata: { name: "reader" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" },
      subjects: [{ kind: "ServiceAccount", name: "asked", namespace: "default" }],
    });
    await eventually(async () => assert.equal(await isAllowed("/subjectaccessreviews"), true));
    assert.equal(await isAllowed("/namespaces/default/localsubjectaccessreviews"), true);
    const impersonated = await api.send("GET", `${home}/configmaps`, undefined, "", {
      "impersonate-user": user,
      "impersonate-extra-authentication.kcp.io%2fcluster-name":
        extra["authentication.kcp.io/cluster-name"][0],
    });
    assert.equal(impersonated.status, 200);
    const own = await ask("/selfsubjectaccessreviews", { resourceAttributes: attributes });
    assert.equal(own["status"].allowed, true);
  });
});
