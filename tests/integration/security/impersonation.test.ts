/**
 * Goal: a user who may impersonate everybody in one logical cluster gains nothing that the cluster
 * does not have: no groups over all clusters, no warrants, no scopes, no other cluster, and no
 * access through a virtual workspace.
 *
 * ivy may impersonate everything in `root:org:mine`, and nothing else. vera exports an API from
 * `root:org:theirs`, which `root:org:mine` has bound.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { UserInfo } from "@kcp-ts/apiserver";
import { eventually } from "@kcp-ts/testkit";
import { AttackFixture, admin, alice, master, vera, victimSecret } from "./attack-fixture.ts";
import { attempts } from "./attempts.ts";

const ivy: UserInfo = { username: "ivy", groups: ["system:authenticated"] };
const mine = "/clusters/root:org:mine";
const theirs = "/clusters/root:org:theirs";
const things = "/apis/things.example.com/v1/namespaces/default/things";

let fixture: AttackFixture;
before(async () => {
  fixture = await AttackFixture.start();
  const impersonate = (group: string, ...resources: string[]) => ({
    verbs: ["impersonate"],
    apiGroups: [group],
    resources,
  });
  await fixture.grant(ivy, fixture.attackerCluster, "ivy", [
    { verbs: ["access"], nonResourceURLs: ["/"] },
    impersonate("", "users", "groups", "serviceaccounts"),
    impersonate("authentication.k8s.io", "*"),
  ]);
  await offerThings();
});
after(() => fixture.close());

/** vera's API, with an object of it in what alice has bound. */
async function offerThings(): Promise<void> {
  const schema = "v1.things.things.example.com";
  const group = "things.example.com";
  const openAPIV3Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  await fixture.expectSuccess(
    vera,
    "POST",
    `${theirs}/apis/apis.kcp.io/v1alpha1/apiresourceschemas`,
    {
      body: {
        metadata: { name: schema },
        spec: {
          group,
          scope: "Namespaced",
          names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
          versions: [{ name: "v1", served: true, storage: true, schema: openAPIV3Schema }],
        },
      },
    },
  );
  await fixture.expectSuccess(vera, "POST", `${theirs}/apis/apis.kcp.io/v1alpha2/apiexports`, {
    body: {
      metadata: { name: "things" },
      spec: { resources: [{ name: "things", group, schema }] },
    },
  });
  await fixture.expectSuccess(master, "POST", `${mine}/apis/apis.kcp.io/v1alpha2/apibindings`, {
    body: {
      metadata: { name: "things" },
      spec: { reference: { export: { path: "root:org:theirs", name: "things" } } },
    },
  });
  const body = { apiVersion: `${group}/v1`, kind: "Thing", metadata: { name: "thing-of-mine" } };
  await eventually(() => fixture.expectSuccess(alice, "POST", `${mine}${things}`, { body }), {
    timeoutMs: 60_000,
  });
}

const as = (headers: Readonly<Record<string, string>>, path = `${mine}/api/v1/secrets`) => ({
  who: ivy,
  request: ["GET", path] as const,
  sent: { headers: { "impersonate-user": "x", ...headers } },
});

describe("the right to impersonate everybody in one cluster", () => {
  const notForThem = /impersonation is not allowed for the requestor/;
  attempts(() => fixture, {
    ...Object.fromEntries(
      [
        "system:masters",
        "system:kcp:admin",
        "system:kcp:logical-cluster-admin",
        "system:kcp:external-logical-cluster-admin",
        "system:kcp:initializer:root:universal",
        "system:kcp:tenancy:workspace-bootstrapper",
      ].map((group) => [
        `gives nobody the group ${group}`,
        { ...as({ "impersonate-group": group }), message: notForThem },
      ]),
    ),
    "gives warrants that are worth what their user may in that cluster": {
      ...as({ "impersonate-extra-authorization.kcp.io%2fwarrant": '{"user":"vera"}' }),
      message: /User \\"x\\" cannot list resource \\"secrets\\"/,
    },
    "gives no warrant of a master": {
      ...as({
        "impersonate-extra-authorization.kcp.io%2fwarrant":
          '{"user":"vera","groups":["system:masters"]}',
      }),
      message: notForThem,
    },
    "is none in the cluster of another by its path": {
      ...as({ "impersonate-user": "vera" }, `${theirs}/api/v1/secrets`),
      message: /User \\"ivy\\" cannot impersonate resource \\"users\\"/,
    },
    "is none in another by the account of a namesake": {
      ...as(
        { "impersonate-user": "system:serviceaccount:default:default" },
        `${theirs}/api/v1/secrets`,
      ),
      message: /cannot impersonate/,
    },
    "is none in all clusters": {
      ...as({ "impersonate-user": "vera" }, "/clusters/*/api/v1/secrets"),
      message: /cannot impersonate/,
    },
    "makes an account of no more than its roles": {
      ...as({ "impersonate-user": "system:serviceaccount:default:default" }),
      message: /cannot list/,
    },
    "makes a user with a uid and extras of no more than the user's roles": {
      ...as({
        "impersonate-uid": "1",
        "impersonate-extra-authentication.kcp.io%2fscopes": "cluster:root",
      }),
      message: /cannot list|access denied/,
    },
  });

  it("makes its holder what others are there, and there only", async () => {
    const headers = { "impersonate-user": "alice" };
    const here = await fixture.send(ivy, "GET", `${mine}/api/v1/secrets`, { headers });
    assert.equal(here.status, 200);
    const whoami = await fixture.expectSuccess<{
      status: { userInfo: { extra: Record<string, string[]>; groups: string[] } };
    }>(ivy, "POST", `${mine}/apis/authentication.k8s.io/v1/selfsubjectreviews`, {
      headers,
      body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
    });
    const { extra, groups } = whoami.status.userInfo;
    assert.deepEqual(extra["authentication.kcp.io/scopes"], [`cluster:${fixture.attackerCluster}`]);
    assert.deepEqual(groups, ["system:authenticated"]);
  });

  it("is not what the administrator of everything needs for a master's group, who has none either", async () => {
    const headers = { "impersonate-user": "x", "impersonate-group": "system:masters" };
    const { status } = await fixture.send(admin, "GET", `${mine}/api/v1/secrets`, { headers });
    assert.equal(status, 403);
  });
});

describe("a virtual workspace is not entered in another's name", () => {
  const view = (cluster: string) =>
    `/services/apiexport/${fixture.victimCluster}/things/clusters/${cluster}`;
  const everywhere = "/apis/things.example.com/v1/things";

  it("while its provider sees what is bound", async () => {
    const { status, text } = await fixture.send(vera, "GET", `${view("*")}${everywhere}`);
    assert.equal(status, 200, text);
    assert.ok(text.includes("thing-of-mine"));
  });

  for (const [title, who, headers] of [
    ["by a consumer who names the provider", alice, { "impersonate-user": "vera" }],
    ["by who may impersonate everybody in a consumer", ivy, { "impersonate-user": "vera" }],
    [
      "by who names a master",
      ivy,
      { "impersonate-user": "x", "impersonate-group": "system:masters" },
    ],
    ["by the provider who names a consumer", vera, { "impersonate-user": "alice" }],
    [
      "by the provider who names an account of a consumer",
      vera,
      { "impersonate-user": "system:serviceaccount:default:default" },
    ],
    [
      "by the headers of a proxy",
      alice,
      { "x-remote-user": "vera", "x-remote-group": "system:masters" },
    ],
    ["by the header of a cluster", alice, { "x-kubernetes-cluster": "root:org:theirs" }],
  ] as const) {
    it(title, async () => {
      for (const path of [
        `${view("*")}${everywhere}`,
        `${view(fixture.attackerCluster)}${things}`,
        `${view(fixture.victimCluster)}${things}`,
        `${view(fixture.attackerCluster)}/api/v1/namespaces/default/secrets`,
      ]) {
        const { status, text } = await fixture.send(who, "GET", path, { headers });
        assert.ok(status === 403 || status === 404, `${path}: ${status} ${text}`);
        assert.ok(!text.includes(victimSecret) && !text.includes("thing-of-mine"), text);
      }
    });
  }
});
