/**
 * Goal: no user gains permissions that were not granted.
 *
 * Method: a user with a few permissions, in a logical cluster where an administrator has set
 * everything up, tries one way after the other to gain more. Each is denied with Kubernetes'
 * message, and afterwards the user has the same permissions as before.
 */
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import {
  bindingOf,
  RoleWriter,
  type RuleObject,
  rbacPath,
  type TestResponse,
  TestServer,
} from "../../testing/index.ts";

let server: TestServer;
let clusters = 0;
let admin: RoleWriter;
let mallory: RoleWriter;
before(async () => {
  server = await TestServer.start();
});
after(() => server.close());

const read = ["get", "list", "watch"];
const write = ["create", "update", "patch", "delete", "deletecollection"];
const rbac = "rbac.authorization.k8s.io";
const roleKinds = ["roles", "clusterroles", "rolebindings", "clusterrolebindings"];
const configMaps: RuleObject = { verbs: ["get"], apiGroups: [""], resources: ["configmaps"] };
const secrets: RuleObject = { verbs: ["get"], apiGroups: [""], resources: ["secrets"] };
const everything: RuleObject = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };

beforeEach(async () => {
  admin = new RoleWriter(server, `victim-${clusters++}`);
  await admin.post("/api/v1/namespaces", { metadata: { name: "default" } });
  // May write roles and bindings of all kinds, and read ConfigMaps.
  await admin.grant("base", "nobody", [
    { verbs: [...read, ...write], apiGroups: [rbac], resources: roleKinds },
    configMaps,
  ]);
  mallory = admin.as("nobody");
});

function refused(answer: TestResponse, message: RegExp | string): void {
  assert.equal(answer.status, 403, answer.text);
  if (typeof message === "string") assert.equal(answer.object.message, message);
  else assert.match(answer.object.message ?? "", message);
}

async function hasNoSecrets(): Promise<void> {
  refused(
    await mallory.get("/api/v1/namespaces/default/secrets/x"),
    /^secrets "x" is forbidden: User "nobody" cannot get resource "secrets" in API group "" in the namespace "default"/,
  );
}

const who = 'user "nobody" (groups=["system:authenticated"])';
const missing = `${who} is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}`;

describe("a role", () => {
  it("with rules that its author holds is written", async () => {
    assert.equal((await mallory.clusterRole("r", [configMaps])).status, 201);
    assert.equal((await mallory.role("r", [configMaps])).status, 201);
  });

  it("with other rules is denied", async () => {
    refused(
      await mallory.clusterRole("r", [configMaps, secrets]),
      `clusterroles.${rbac} "r" is forbidden: ${missing}`,
    );
    refused(await mallory.role("r", [secrets]), `roles.${rbac} "r" is forbidden: ${missing}`);
    await hasNoSecrets();
  });

  const wider: readonly (readonly [string, RuleObject])[] = [
    ["all verbs", { ...configMaps, verbs: ["*"] }],
    ["all groups", { ...configMaps, apiGroups: ["*"] }],
    ["all resources", { ...configMaps, resources: ["*"] }],
    ["a subresource", { ...configMaps, resources: ["configmaps/status"] }],
    ["a subresource of everything", { ...configMaps, resources: ["*/status"] }],
    ["a path", { verbs: ["get"], nonResourceURLs: ["/metrics"] }],
    ["all paths", { verbs: ["get"], nonResourceURLs: ["*"] }],
    ["the right to escalate", { ...configMaps, verbs: ["escalate"], apiGroups: [rbac] }],
    ["the right to impersonate", { ...configMaps, verbs: ["impersonate"], resources: ["users"] }],
  ];
  for (const [title, rule] of wider) {
    it(`with ${title} is refused`, async () => {
      refused(await mallory.clusterRole("r", [rule]), /not currently held:\n\{/);
    });
  }

  it("for all names is denied to an author who holds one name", async () => {
    await admin.grant("one", "nobody", [{ ...secrets, resourceNames: ["mine"] }]);
    assert.equal(
      (await mallory.clusterRole("r", [{ ...secrets, resourceNames: ["mine"] }])).status,
      201,
    );
    refused(await mallory.clusterRole("s", [secrets]), /not currently held/);
    refused(
      await mallory.clusterRole("s", [{ ...secrets, resourceNames: ["mine", "yours"] }]),
      /\{APIGroups:\[""\], Resources:\["secrets"\], ResourceNames:\["yours"\], Verbs:\["get"\]\}$/,
    );
  });

  it("for the whole cluster is denied to an author who holds its rules in a namespace", async () => {
    await admin.post("/api/v1/namespaces", { metadata: { name: "other" } });
    await admin.role("local", [secrets]);
    await admin.binding("local", ["Role", "local"], "nobody");
    assert.equal((await mallory.role("mine", [secrets])).status, 201);
    refused(await mallory.clusterRole("mine", [secrets]), /not currently held/);
    refused(await mallory.role("mine", [secrets], "other"), /not currently held/);
  });

  const ways: readonly (readonly [string, (path: string) => Promise<TestResponse>])[] = [
    [
      "an update",
      (path) =>
        server.request("PUT", path, {
          user: "nobody",
          body: { metadata: { name: "r" }, rules: [secrets] },
        }),
    ],
    [
      "a JSON patch",
      (path) =>
        server.patch(path, "json", [{ op: "add", path: "/rules/-", value: secrets }], {
          user: "nobody",
        }),
    ],
    [
      "a merge patch",
      (path) => server.patch(path, "merge", { rules: [secrets] }, { user: "nobody" }),
    ],
    [
      "a strategic merge patch",
      (path) => server.patch(path, "strategic", { rules: [secrets] }, { user: "nobody" }),
    ],
    [
      "an apply",
      (path) =>
        server.patch(
          `${path}?fieldManager=x&force=true`,
          "apply",
          {
            apiVersion: `${rbac}/v1`,
            kind: "ClusterRole",
            metadata: { name: "r" },
            rules: [secrets],
          },
          { user: "nobody" },
        ),
    ],
    [
      "a dry run",
      (path) =>
        server.request("PUT", `${path}?dryRun=All`, {
          user: "nobody",
          body: { metadata: { name: "r" }, rules: [secrets] },
        }),
    ],
  ];
  for (const [title, attempt] of ways) {
    it(`does not get other rules by ${title}, whether it is there or not`, async () => {
      const path = `/clusters/${admin.cluster}${rbacPath}/clusterroles/r`;
      if (!title.includes("patch")) refused(await attempt(path), /not currently held/);
      await admin.clusterRole("r", [configMaps]);
      refused(await attempt(path), /not currently held/);
      const { object } = await admin.get(`${rbacPath}/clusterroles/r`);
      assert.deepEqual(object["rules"], [configMaps]);
    });
  }

  it("that grants more than its author holds cannot be changed by the author, but finalizers may be removed", async () => {
    await admin.clusterRole("r", [secrets]);
    const path = `/clusters/${admin.cluster}${rbacPath}/clusterroles/r`;
    const labels = { metadata: { labels: { a: "b" } } };
    refused(await server.patch(path, "merge", labels, { user: "nobody" }), /not currently held/);
    const collected = { metadata: { finalizers: ["example.com/x"], ownerReferences: [] } };
    const answer = await server.patch(path, "merge", collected, { user: "nobody" });
    assert.equal(answer.status, 200, answer.text);
    assert.equal((await server.request("DELETE", path, { user: "nobody" })).status, 200);
  });

  it("may be written with the verb escalate, for that name only if so restricted", async () => {
    const escalate = { verbs: ["escalate"], apiGroups: [rbac], resources: ["clusterroles"] };
    await admin.grant("named", "nobody", [{ ...escalate, resourceNames: ["r"] }]);
    refused(await mallory.clusterRole("r", [secrets]), /not currently held/);
    await admin.clusterRole("r", [configMaps]);
    await admin.clusterRole("s", [configMaps]);
    const put = (name: string) =>
      server.request("PUT", `/clusters/${admin.cluster}${rbacPath}/clusterroles/${name}`, {
        user: "nobody",
        body: { metadata: { name }, rules: [secrets] },
      });
    assert.equal((await put("r")).status, 200);
    refused(await put("s"), /not currently held/);
    await admin.grant("any", "nobody", [escalate]);
    assert.equal((await mallory.clusterRole("t", [everything])).status, 201);
  });

  it("cannot replace a role of the shared policy", async () => {
    // A cluster's own role with the name of a bootstrap role applies in this cluster, so its rules
    // must be held, too.
    refused(await mallory.clusterRole("view", [everything]), /not currently held/);
    // The role replaces the shared one for all its subjects, so its author must hold the shared
    // rules, too.
    refused(await mallory.clusterRole("cluster-admin", [configMaps]), /not currently held/);
    assert.equal((await admin.clusterRole("cluster-admin", [configMaps])).status, 201);
    assert.equal((await admin.as("admin").get("/api/v1/secrets")).status, 200);
  });

  it("with rules beyond the limit of comparisons is denied without blocking other requests", async () => {
    const names = Array.from({ length: 2000 }, (_, i) => `n${i}`);
    const rule = { verbs: names, apiGroups: names, resources: names, resourceNames: names };
    refused(await mallory.clusterRole("r", [rule]), /the rules are too many to compare$/);
  });
});

describe("an aggregated role", () => {
  const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { gather: "yes" } }] };

  it("requires full permissions to write, and to change", async () => {
    const text = `clusterroles.${rbac} "r" is forbidden: must have cluster-admin privileges to use the aggregationRule`;
    refused(await mallory.clusterRole("r", [], { aggregationRule }), text);
    await admin.clusterRole("r", [], { aggregationRule });
    const path = `/clusters/${admin.cluster}${rbacPath}/clusterroles/r`;
    for (const patch of [{ aggregationRule: null }, { metadata: { labels: { a: "b" } } }])
      refused(await server.patch(path, "merge", patch, { user: "nobody" }), text);
  });

  it("may be written with the verb escalate, as with all permissions", async () => {
    await admin.grant("wide", "nobody", [everything]);
    assert.equal((await mallory.clusterRole("r", [], { aggregationRule })).status, 201);
  });

  it("does not aggregate rules that their author does not hold", async () => {
    await admin.clusterRole("all", [], { aggregationRule });
    await admin.clusterBinding("all", "all", "nobody");
    const metadata = { name: "part", labels: { gather: "yes" } };
    refused(
      await mallory.post(`${rbacPath}/clusterroles`, { metadata, rules: [secrets] }),
      /not currently held/,
    );
    await hasNoSecrets();
  });

  it("does not aggregate a role by a label if the role grants more than its author holds", async () => {
    await admin.clusterRole("all", [], { aggregationRule });
    await admin.clusterBinding("all", "all", "nobody");
    await admin.clusterRole("strong", [secrets]);
    const path = `/clusters/${admin.cluster}${rbacPath}/clusterroles/strong`;
    const patch = { metadata: { labels: { gather: "yes" } } };
    refused(await server.patch(path, "merge", patch, { user: "nobody" }), /not currently held/);
    await hasNoSecrets();
  });
});

describe("a binding", () => {
  it("of a role whose rules its author holds is written", async () => {
    await admin.clusterRole("r", [configMaps]);
    assert.equal((await mallory.clusterBinding("b", "r", "a")).status, 201);
    assert.equal((await mallory.binding("b", ["ClusterRole", "r"], "a")).status, 201);
  });

  it("of a role whose rules its author does not hold is denied, for every kind of role", async () => {
    await admin.clusterRole("r", [secrets]);
    refused(
      await mallory.clusterBinding("b", "r", "nobody"),
      `clusterrolebindings.${rbac} "b" is forbidden: ${missing}`,
    );
    refused(
      await mallory.binding("b", ["ClusterRole", "r"], "nobody"),
      `rolebindings.${rbac} "b" is forbidden: ${missing}`,
    );
    for (const shared of ["cluster-admin", "admin", "edit", "view", "system:monitoring"])
      refused(await mallory.clusterBinding("b", shared, "nobody"), /not currently held/);
    await hasNoSecrets();
  });

  it("of a role of the operators' shared policy is denied like others, and so is a role of the same name", async () => {
    const operators = `/clusters/system:admin${rbacPath}/clusterroles`;
    await server.requestOk("POST", operators, {
      user: "masters",
      body: { metadata: { name: "operators-secrets" }, rules: [secrets] },
    });
    refused(
      await mallory.clusterBinding("b", "operators-secrets", "nobody"),
      `clusterrolebindings.${rbac} "b" is forbidden: ${missing}`,
    );
    refused(
      await mallory.clusterRole("operators-secrets", []),
      `clusterroles.${rbac} "operators-secrets" is forbidden: ${missing}`,
    );
    await hasNoSecrets();
  });

  it("of a missing role is a 404, unless the author may bind it", async () => {
    const answer = await mallory.clusterBinding("b", "later", "nobody");
    assert.equal(answer.status, 404);
    assert.equal(answer.object.message, `clusterrole.${rbac} "later" not found`);
    const local = await mallory.binding("b", ["Role", "later"], "nobody");
    assert.equal(local.object.message, `role.${rbac} "later" not found`);
    const bind = { verbs: ["bind"], apiGroups: [rbac], resources: ["clusterroles"] };
    await admin.grant("binder", "nobody", [{ ...bind, resourceNames: ["later"] }]);
    assert.equal((await mallory.clusterBinding("b", "later", "nobody")).status, 201);
  });

  it("does not get further subjects from an author who does not hold its rules", async () => {
    await admin.clusterRole("r", [secrets]);
    await admin.clusterBinding("b", "r", "a");
    const path = `/clusters/${admin.cluster}${rbacPath}/clusterrolebindings/b`;
    const { subjects } = bindingOf("b", "ClusterRole", "r", ["a", "nobody"]) as {
      subjects: object[];
    };
    for (const answer of [
      await server.patch(path, "merge", { subjects }, { user: "nobody" }),
      await server.patch(
        path,
        "json",
        [{ op: "add", path: "/subjects/-", value: { kind: "User", name: "nobody" } }],
        { user: "nobody" },
      ),
      await server.request("PUT", path, {
        user: "nobody",
        body: bindingOf("b", "ClusterRole", "r", ["nobody"]),
      }),
      await server.request("PUT", `${path}-new`, {
        user: "nobody",
        body: bindingOf("b-new", "ClusterRole", "r", ["nobody"]),
      }),
    ])
      refused(answer, /not currently held/);
    await hasNoSecrets();
  });

  it("may be written with the verb bind on its role, where that is granted", async () => {
    await admin.clusterRole("r", [secrets]);
    await admin.clusterRole("s", [secrets]);
    await admin.role("binder", [
      { verbs: ["bind"], apiGroups: [rbac], resources: ["clusterroles"], resourceNames: ["r"] },
    ]);
    await admin.binding("binder", ["Role", "binder"], "nobody");
    assert.equal((await mallory.binding("b", ["ClusterRole", "r"], "a")).status, 201);
    refused(await mallory.binding("c", ["ClusterRole", "s"], "nobody"), /not currently held/);
    refused(await mallory.clusterBinding("b", "r", "nobody"), /not currently held/);
  });

  it("cannot be changed to another role", async () => {
    await admin.clusterRole("r", [configMaps]);
    await mallory.clusterBinding("b", "r", "nobody");
    const path = `/clusters/${admin.cluster}${rbacPath}/clusterrolebindings/b`;
    const patch = { roleRef: { name: "cluster-admin" } };
    const answer = await server.patch(path, "merge", patch, { user: "nobody" });
    assert.equal(answer.status, 422);
    assert.match(answer.object.message ?? "", /cannot change roleRef/);
  });
});

describe("another logical cluster", () => {
  it("is not accessible by a binding in this one, in any spelling", async () => {
    const other = new RoleWriter(server, `bystander-${admin.cluster}`);
    await other.post("/api/v1/namespaces", { metadata: { name: "default" } });
    await admin.clusterBinding("top", "cluster-admin", "nobody");
    const here = admin.cluster;
    const there = other.cluster;
    const ask = (target: string, headers: Record<string, string> = {}) =>
      server.get(target, { user: "nobody", headers });
    const path = "/api/v1/namespaces/default/configmaps";
    assert.equal((await ask(`/clusters/${here}${path}`)).status, 200);
    const tricks: readonly (readonly [string, Record<string, string>, readonly number[]])[] = [
      [`/clusters/${there}${path}`, {}, [403]],
      [path, { "x-kubernetes-cluster": there }, [403]],
      [`/clusters/${here}${path}`, { "x-kubernetes-cluster": there }, [400]],
      [`/clusters/${there}${path}`, { "x-kubernetes-cluster": here }, [400]],
      [`/clusters/${here}/clusters/${there}${path}`, {}, [404]],
      [`/clusters/${here}/../${there}${path}`, {}, [400, 403, 404]],
      [`/clusters/${here}/%2e%2e/${there}${path}`, {}, [400, 403, 404]],
      [`/clusters/${here}%2f..%2f${there}${path}`, {}, [400]],
      [`/clusters/%2e%2e/clusters/${there}${path}`, {}, [400]],
      [`/clusters//${there}${path}`, {}, [400]],
      [`//clusters/${there}${path}`, {}, [403, 404]],
      [`/clusters/${encodeURIComponent(`${here}/${there}`)}${path}`, {}, [400]],
      [`/clusters/${here},${there}${path}`, {}, [400]],
      [`/clusters/*${path}`, {}, [403]],
      [`/clusters/%2a${path}`, {}, [403]],
      [path, { "x-kubernetes-cluster": "*" }, [403]],
      [`/clusters/${here}/api/v1/namespaces/..%2f..%2f${there}/configmaps`, {}, [400]],
      [`/clusters/${here}/api/v1/namespaces//configmaps`, {}, [404]],
      [path, {}, [403]],
    ];
    for (const [target, headers, statuses] of tricks) {
      const { status, text } = await ask(target, headers);
      assert.ok(statuses.includes(status), `${target} ${JSON.stringify(headers)}: ${text}`);
    }
  });

  it("has its own roles: neither names nor rules apply across clusters", async () => {
    const other = new RoleWriter(server, `bystander-${admin.cluster}`);
    await admin.clusterRole("shared-name", [everything]);
    await other.clusterRole("shared-name", [configMaps]);
    await other.clusterBinding("b", "shared-name", "nobody");
    assert.equal((await other.as("nobody").get("/api/v1/namespaces/x/secrets/y")).status, 403);
    assert.equal((await other.as("nobody").get("/api/v1/namespaces/x/configmaps/y")).status, 404);
    await other.clusterBinding("missing", "base", "nobody");
    const { object } = await other.as("nobody").get("/api/v1/secrets");
    assert.match(
      object.message ?? "",
      /: RBAC: clusterrole\.rbac\.authorization\.k8s\.io "base" not found$/,
    );
  });

  it("cannot be accessed by requests over all clusters, except by system:masters", async () => {
    for (const [user, status] of [
      ["masters", 200],
      ["admin", 403],
      ["nobody", 403],
      ["anonymous", 403],
    ] as const)
      assert.equal((await server.get("/clusters/*/api/v1/secrets", { user })).status, status, user);
  });
});
