/**
 * Goal: every known privilege escalation of Kubernetes and kcp is tried through the network
 * interface of a complete control plane, and rejected.
 *
 * Each row is one request by a user with exactly the listed permissions. A row that is rejected for
 * another reason than its own proves nothing, so each names a part of the error.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { AttackFixture, admin, alice, mallory, master, tom } from "./attack-fixture.ts";
import { attempts } from "./attempts.ts";

const rbac = "apis/rbac.authorization.k8s.io/v1";
const mine = "/clusters/root:org:mine";
const theirs = "/clusters/root:org:theirs";
const roleRef = (name: string, kind = "ClusterRole") => ({
  apiGroup: "rbac.authorization.k8s.io",
  kind,
  name,
});
const subject = (name: string, kind = "User") => ({
  apiGroup: "rbac.authorization.k8s.io",
  kind,
  name,
});
const everything = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };
const apply = "application/apply-patch+yaml";

let fixture: AttackFixture;
before(async () => {
  fixture = await AttackFixture.start();
  await fixture.grant(tom, fixture.attackerCluster, "tom", [
    { verbs: ["access"], nonResourceURLs: ["/"] },
    {
      verbs: ["get", "list", "watch"],
      apiGroups: [""],
      resources: ["configmaps", "serviceaccounts"],
    },
    {
      verbs: ["create", "update", "patch", "get"],
      apiGroups: ["rbac.authorization.k8s.io"],
      resources: ["roles", "rolebindings", "clusterroles", "clusterrolebindings"],
    },
    { verbs: ["update", "patch"], apiGroups: ["*"], resources: ["configmaps", "leases", "roles"] },
    { verbs: ["impersonate"], apiGroups: [""], resources: ["users"], resourceNames: ["bob"] },
    { verbs: ["create"], apiGroups: [""], resources: ["serviceaccounts"] },
  ]);
  await fixture.expectSuccess(
    master,
    "POST",
    "/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspacetypes",
    { body: { metadata: { name: "private" }, spec: {} } },
  );
  await fixture.expectSuccess(alice, "POST", `${mine}/${rbac}/clusterroles`, {
    body: {
      metadata: { name: "gathering" },
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { feed: "me" } }] },
    },
  });
});
after(() => fixture.close());

const notHeld = /attempting to grant RBAC permissions not currently held/;

describe("who may write roles does not get more by them", () => {
  attempts(() => fixture, {
    "by a role that gives everything": {
      who: tom,
      request: ["POST", `${mine}/${rbac}/clusterroles`],
      sent: { body: { metadata: { name: "e1" }, rules: [everything] } },
      message: notHeld,
    },
    "by a role with one verb more": {
      who: tom,
      request: ["POST", `${mine}/${rbac}/namespaces/default/roles`],
      sent: {
        body: {
          metadata: { name: "e2" },
          rules: [{ verbs: ["get"], apiGroups: [""], resources: ["secrets"] }],
        },
      },
      message: notHeld,
    },
    "by a binding of cluster-admin": {
      who: tom,
      request: ["POST", `${mine}/${rbac}/clusterrolebindings`],
      sent: {
        body: {
          metadata: { name: "e3" },
          roleRef: roleRef("cluster-admin"),
          subjects: [subject("tom")],
        },
      },
      message: notHeld,
    },
    "by a binding in one namespace": {
      who: tom,
      request: ["POST", `${mine}/${rbac}/namespaces/default/rolebindings`],
      sent: {
        body: { metadata: { name: "e4" }, roleRef: roleRef("admin"), subjects: [subject("tom")] },
      },
      message: notHeld,
    },
    "by applying a binding instead of posting it": {
      who: tom,
      request: ["PATCH", `${mine}/${rbac}/clusterrolebindings/e5?fieldManager=tom`],
      sent: {
        type: apply,
        body: {
          apiVersion: "rbac.authorization.k8s.io/v1",
          kind: "ClusterRoleBinding",
          metadata: { name: "e5" },
          roleRef: roleRef("cluster-admin"),
          subjects: [subject("tom")],
        },
      },
      message: notHeld,
    },
    "by putting a binding where there is none": {
      who: tom,
      request: ["PUT", `${mine}/${rbac}/clusterrolebindings/e6`],
      sent: {
        body: {
          apiVersion: "rbac.authorization.k8s.io/v1",
          kind: "ClusterRoleBinding",
          metadata: { name: "e6" },
          roleRef: roleRef("cluster-admin"),
          subjects: [subject("tom")],
        },
      },
      message: notHeld,
    },
    "by feeding a role that gathers": {
      who: tom,
      request: ["POST", `${mine}/${rbac}/clusterroles`],
      sent: { body: { metadata: { name: "e7", labels: { feed: "me" } }, rules: [everything] } },
      message: notHeld,
    },
    "by a role that gathers what others have": {
      who: tom,
      request: ["POST", `${mine}/${rbac}/clusterroles`],
      sent: {
        body: {
          metadata: { name: "e8" },
          aggregationRule: { clusterRoleSelectors: [{ matchLabels: {} }] },
        },
      },
      message: /must have cluster-admin privileges to use the aggregationRule/,
    },
    "by taking the place of a role that every cluster has": {
      who: tom,
      request: ["POST", `${mine}/${rbac}/clusterroles`],
      sent: { body: { metadata: { name: "cluster-admin" }, rules: [] } },
      message: notHeld,
    },
    "by binding a group of the system's to themselves": {
      who: tom,
      request: ["POST", `${mine}/${rbac}/clusterrolebindings`],
      sent: {
        body: {
          metadata: { name: "e9" },
          roleRef: roleRef("cluster-admin"),
          subjects: [subject("system:authenticated", "Group")],
        },
      },
      message: notHeld,
    },
  });

  it("and what they hold they may still give", async () => {
    const rules = [{ verbs: ["get"], apiGroups: [""], resources: ["configmaps"] }];
    await fixture.expectSuccess(tom, "POST", `${mine}/${rbac}/clusterroles`, {
      body: { metadata: { name: "given" }, rules },
    });
  });
});

describe("a right to change is no right to create", () => {
  const of = (kind: string, apiVersion: string, name: string) => ({
    apiVersion,
    kind,
    metadata: { name },
  });
  attempts(() => fixture, {
    "by applying a new object": {
      who: tom,
      request: ["PATCH", `${mine}/api/v1/namespaces/default/configmaps/c1?fieldManager=tom`],
      sent: { type: apply, body: of("ConfigMap", "v1", "c1") },
      message: /User \\"tom\\" cannot create resource \\"configmaps\\"/,
    },
    "by applying a new object as a dry run": {
      who: tom,
      request: [
        "PATCH",
        `${mine}/api/v1/namespaces/default/configmaps/c2?fieldManager=tom&dryRun=All`,
      ],
      sent: { type: apply, body: of("ConfigMap", "v1", "c2") },
      message: /cannot create resource/,
    },
    "by putting a new object": {
      who: tom,
      request: ["PUT", `${mine}/apis/coordination.k8s.io/v1/namespaces/default/leases/l1`],
      sent: { body: { ...of("Lease", "coordination.k8s.io/v1", "l1"), spec: {} } },
      message: /User \\"tom\\" cannot create resource \\"leases\\"/,
    },
  });
});

describe("acting in another's name", () => {
  const as = (headers: Readonly<Record<string, string>>, path = `${mine}/api/v1/secrets`) => ({
    request: ["GET", path] as const,
    sent: { headers },
  });
  const warrant = JSON.stringify({ user: "y", groups: ["system:kcp:admin"] });
  const warranted = {
    "impersonate-user": "x",
    "impersonate-extra-authorization.kcp.io%2fwarrant": warrant,
  };
  attempts(() => fixture, {
    "is not for those without the right": {
      who: mallory,
      ...as({ "impersonate-user": "vera" }, `${theirs}/api/v1/secrets`),
      message: /cannot impersonate resource \\"users\\"/,
    },
    "is not for somebody else than is named": {
      who: tom,
      ...as({ "impersonate-user": "alice" }),
      message: /cannot impersonate/,
    },
    "does not add groups": {
      who: tom,
      ...as({ "impersonate-user": "bob", "impersonate-group": "system:masters" }),
      message: /cannot impersonate resource \\"groups\\"/,
    },
    "does not add a uid": {
      who: tom,
      ...as({ "impersonate-user": "bob", "impersonate-uid": "1" }),
      message: /cannot impersonate resource \\"uids\\"/,
    },
    "does not add extras": {
      who: tom,
      ...as({ "impersonate-user": "bob", "impersonate-extra-scopes": "a" }),
      message: /cannot impersonate resource \\"userextras\/scopes\\"/,
    },
    "of a service account takes the right to that account": {
      who: tom,
      ...as({ "impersonate-user": "system:serviceaccount:default:default" }),
      message: /cannot impersonate resource \\"serviceaccounts\\"/,
    },
    "does not work without a user": {
      who: alice,
      ...as({ "impersonate-group": "system:masters" }),
      code: 400,
      message: /without impersonating a user/,
    },
    "gives the administrator of a workspace no master's group": {
      who: alice,
      ...as({ "impersonate-user": "x", "impersonate-group": "system:masters" }),
      message: /impersonation is not allowed for the requestor/,
    },
    "gives the administrator of a workspace no group of kcp's": {
      who: alice,
      ...as({ "impersonate-user": "x", "impersonate-group": "system:kcp:admin" }),
      message: /impersonation is not allowed for the requestor/,
    },
    "gives the administrator of everything no master's group": {
      who: admin,
      ...as({ "impersonate-user": "x", "impersonate-group": "system:masters" }),
      message: /impersonation is not allowed for the requestor/,
    },
    "gives the administrator of a workspace no warrant": {
      who: alice,
      ...as(warranted),
      message: /impersonation is not allowed for the requestor/,
    },
    "does not let a warrant use types of other workspaces": {
      who: alice,
      request: ["POST", `${mine}/apis/tenancy.kcp.io/v1alpha1/workspaces`],
      sent: {
        headers: warranted,
        body: { metadata: { name: "w" }, spec: { type: { name: "private", path: "root" } } },
      },
      message: /impersonation is not allowed for the requestor/,
    },
    "does not reach the neighbour": {
      who: alice,
      ...as({ "impersonate-user": "vera" }, `${theirs}/api/v1/secrets`),
      message: /cannot impersonate/,
    },
    "is not done by the headers of a proxy": {
      who: mallory,
      ...as(
        { "x-remote-user": "vera", "x-remote-group": "system:masters" },
        `${theirs}/api/v1/secrets`,
      ),
      message: /User \\"mallory\\" cannot list/,
    },
  });
});

describe("credentials are not handed out", () => {
  const token = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  attempts(() => fixture, {
    "by a token request for an account that one may only see": {
      who: tom,
      request: ["POST", `${mine}/api/v1/namespaces/default/serviceaccounts/default/token`],
      sent: { body: token },
      message: /cannot create resource \\"serviceaccounts\/token\\"/,
    },
    "by a token request next door": {
      who: alice,
      request: ["POST", `${theirs}/api/v1/namespaces/default/serviceaccounts/default/token`],
      sent: { body: token },
      message: /access denied/,
    },
    "by asking whose a token is": {
      who: mallory,
      request: ["POST", "/clusters/root/apis/authentication.k8s.io/v1/tokenreviews"],
      sent: {
        body: {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenReview",
          spec: { token: "guess" },
        },
      },
      message: /cannot create resource \\"tokenreviews\\"/,
    },
    "by a secret that asks for the token of an account next door": {
      who: alice,
      request: ["POST", `${theirs}/api/v1/namespaces/default/secrets`],
      sent: {
        body: {
          metadata: { name: "t", annotations: { "kubernetes.io/service-account.name": "default" } },
          type: "kubernetes.io/service-account-token",
        },
      },
      message: /access denied/,
    },
  });

  it("by a review: the reason why a token is invalid is not disclosed", async () => {
    const review = async (guess: string) => {
      const answer = await fixture.expectSuccess<{ status: object }>(
        alice,
        "POST",
        `${mine}/apis/authentication.k8s.io/v1/tokenreviews`,
        {
          body: {
            apiVersion: "authentication.k8s.io/v1",
            kind: "TokenReview",
            spec: { token: guess },
          },
        },
      );
      return JSON.stringify(answer.status);
    };
    const guesses = ["x", "eyJhbGciOiJub25lIn0.e30.", "a".repeat(20_000)];
    const answers = await Promise.all(guesses.map(review));
    for (const answer of answers) assert.equal(answer, answers[0]);
    assert.match(answers[0] ?? "", /invalid bearer token/);
  });
});
