/**
 * RBAC decisions over a policy in memory: the matches of rules, the subjects of bindings, and the
 * reasons.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Attributes, UserInfo } from "../../request/index.ts";
import {
  bootstrapPolicy,
  ClusterPolicy,
  type Decision,
  type PolicyResource,
  RbacAuthorizer,
} from "../index.ts";
import { selectorParseCost } from "./aggregation-selectors.ts";
import { aggregationComparisonsMax } from "./cluster-policy.ts";
import { effectiveUsersMax } from "./effective-users.ts";
import { missingRolesShownMax, resolvedRulesMax } from "./rbac-authorizer.ts";

const cluster = "team-a" as ClusterName;
const alice: UserInfo = { username: "alice", groups: ["developers", "system:authenticated"] };

type Item = readonly [
  resource: PolicyResource,
  namespace: string,
  name: string,
  object: JsonObject,
];

function authorizerOf(...items: readonly Item[]): RbacAuthorizer {
  const policy = new ClusterPolicy(bootstrapPolicy);
  for (const [resource, namespace, name, object] of items)
    policy.put({ resource, namespace, name }, { metadata: { name }, ...object });
  return new RbacAuthorizer({ peek: () => policy, load: async () => policy });
}

function decide(authorizer: RbacAuthorizer, asked: Partial<Attributes>): Decision {
  const decision = authorizer.authorize({
    user: alice,
    cluster,
    verb: "get",
    group: "",
    version: "v1",
    resource: "pods",
    subresource: "",
    namespace: "default",
    name: "",
    path: "",
    isResourceRequest: true,
    ...asked,
  });
  assert.ok(!(decision instanceof Promise), "what is at hand is decided at once");
  return decision;
}

const role = (...rules: JsonObject[]) => ({ rules });
const binding = (kind: string, name: string, ...subjects: JsonObject[]) => ({
  roleRef: { kind, name },
  subjects,
});
const toAlice = { kind: "User", name: "alice" };

/** A ClusterRole with one rule, bound to alice cluster-wide. */
const having = (rule: JsonObject) =>
  authorizerOf(
    ["clusterroles", "", "r", role(rule)],
    ["clusterrolebindings", "", "b", binding("ClusterRole", "r", toAlice)],
  );

describe("a rule", () => {
  const pods = { verbs: ["get"], apiGroups: [""], resources: ["pods"] };
  const cases: readonly (readonly [JsonObject, Partial<Attributes>, boolean])[] = [
    [pods, {}, true],
    [pods, { verb: "list" }, false],
    [pods, { group: "apps" }, false],
    [pods, { resource: "secrets" }, false],
    [pods, { subresource: "log" }, false],
    [pods, { namespace: "" }, true],
    [{ ...pods, verbs: ["*"] }, { verb: "deletecollection" }, true],
    [{ ...pods, apiGroups: ["*"] }, { group: "apps" }, true],
    [{ ...pods, resources: ["*"] }, { resource: "secrets", subresource: "x" }, true],
    [{ ...pods, resources: ["pods/log"] }, { subresource: "log" }, true],
    [{ ...pods, resources: ["pods/log"] }, {}, false],
    [{ ...pods, resources: ["pods/*"] }, { subresource: "log" }, false],
    [{ ...pods, resources: ["*/scale"] }, { subresource: "scale" }, true],
    [{ ...pods, resources: ["*/scale"] }, { subresource: "log" }, false],
    [{ ...pods, resources: ["*/scale"] }, { resource: "scale" }, false],
    [{ ...pods, resourceNames: ["x"] }, { name: "x" }, true],
    [{ ...pods, resourceNames: ["x"] }, { name: "y" }, false],
    [{ ...pods, resourceNames: ["x"] }, { name: "" }, false],
    [{ ...pods, resourceNames: ["*"] }, { name: "y" }, false],
    [{ ...pods, verbs: [] }, {}, false],
    [{ verbs: ["get"], nonResourceURLs: ["*"] }, {}, false],
    [pods, { isResourceRequest: false, path: "/pods" }, false],
  ];
  for (const [rule, asked, allowed] of cases) {
    it(`${JSON.stringify(rule)} ${allowed ? "allows" : "does not allow"} ${JSON.stringify(asked)}`, () => {
      assert.equal(decide(having(rule), asked).allowed, allowed);
    });
  }

  it("has the same effect among few rules and among many", () => {
    const others = Array.from({ length: 100 }, (_, i) => ({ ...pods, resources: [`r${i}`] }));
    for (const [rule, asked, allowed] of cases) {
      const many = authorizerOf(
        ["clusterroles", "", "r", role(...others, rule)],
        ["clusterrolebindings", "", "b", binding("ClusterRole", "r", toAlice)],
      );
      assert.equal(decide(many, asked).allowed, allowed, JSON.stringify([rule, asked]));
    }
  });

  const paths: readonly (readonly [string, string, boolean])[] = [
    ["/metrics", "/metrics", true],
    ["/metrics", "/metrics/x", false],
    ["/metrics/*", "/metrics/x", true],
    ["/metrics/*", "/metrics", false],
    ["/metrics*", "/metricsx", true],
    ["*", "/anything", true],
    ["/a*b", "/axb", false],
    ["/a**", "/ab", true],
  ];
  for (const [url, path, allowed] of paths) {
    it(`about ${url} ${allowed ? "allows" : "does not allow"} ${path}`, () => {
      const authorizer = having({ verbs: ["get"], nonResourceURLs: [url] });
      const asked = { isResourceRequest: false, path, namespace: "", resource: "" };
      assert.equal(decide(authorizer, asked).allowed, allowed);
      assert.equal(decide(authorizer, { ...asked, verb: "post" }).allowed, false);
    });
  }

  it("about paths applies cluster-wide only", () => {
    const urls = role({ verbs: ["get"], nonResourceURLs: ["/metrics"] });
    const authorizer = authorizerOf(
      ["clusterroles", "", "r", urls],
      ["rolebindings", "default", "b", binding("ClusterRole", "r", toAlice)],
    );
    const asked = { isResourceRequest: false, path: "/metrics", resource: "" };
    assert.equal(decide(authorizer, asked).allowed, false);
  });

  it("with a list as long as a body permits is decided without delay", () => {
    const resourceNames = Array.from({ length: 200_000 }, (_, i) => `name-${i}`);
    const authorizer = having({ ...pods, resourceNames });
    for (let i = 0; i < 1000; i++)
      assert.equal(decide(authorizer, { name: `name-${199_000 + i}` }).allowed, true);
  });
});

describe("a binding", () => {
  const pods = { verbs: ["get"], apiGroups: [""], resources: ["pods"] };
  const toAccount = (namespace: string, name: string): Partial<Attributes> => ({
    user: {
      username: `system:serviceaccount:${namespace}:${name}`,
      groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`],
    },
  });
  const bound = (namespace: string, subject: JsonObject, roleKind = "ClusterRole") =>
    authorizerOf(
      roleKind === "Role"
        ? ["roles", namespace, "r", role(pods)]
        : ["clusterroles", "", "r", role(pods)],
      [
        namespace === "" ? "clusterrolebindings" : "rolebindings",
        namespace,
        "b",
        binding(roleKind, "r", subject),
      ],
    );
  const group = { kind: "Group", name: "developers" };
  const account = { kind: "ServiceAccount", name: "sa", namespace: "n" };
  const cases: readonly (readonly [string, RbacAuthorizer, Partial<Attributes>, string | false])[] =
    [
      [
        "of a ClusterRole to a group",
        bound("", group),
        {},
        'ClusterRoleBinding "b" of ClusterRole "r" to Group "developers"',
      ],
      [
        "in a namespace, of a Role",
        bound("default", toAlice, "Role"),
        {},
        'RoleBinding "b/default" of Role "r" to User "alice"',
      ],
      [
        "in a namespace, of a ClusterRole",
        bound("default", toAlice),
        {},
        'RoleBinding "b/default" of ClusterRole "r" to User "alice"',
      ],
      ["in another namespace", bound("other", toAlice), {}, false],
      ["in a namespace, for all of them", bound("default", toAlice), { namespace: "" }, false],
      [
        "to a service account",
        bound("", account),
        toAccount("n", "sa"),
        'ClusterRoleBinding "b" of ClusterRole "r" to ServiceAccount "sa/n"',
      ],
      ["to a service account elsewhere", bound("", account), toAccount("m", "sa"), false],
      [
        "to a service account of its own namespace",
        bound("default", { kind: "ServiceAccount", name: "sa" }),
        toAccount("default", "sa"),
        'RoleBinding "b/default" of ClusterRole "r" to ServiceAccount "sa/default"',
      ],
      [
        "to all service accounts of a namespace",
        bound("", { kind: "Group", name: "system:serviceaccounts:n" }),
        toAccount("n", "any"),
        'ClusterRoleBinding "b" of ClusterRole "r" to Group "system:serviceaccounts:n"',
      ],
      ["to a user named like a group", bound("", { kind: "User", name: "developers" }), {}, false],
      ["to a group named like a user", bound("", { kind: "Group", name: "alice" }), {}, false],
      ["to an object's prototype", bound("", { kind: "User", name: "__proto__" }), {}, false],
    ];
  for (const [title, authorizer, asked, allowedBy] of cases) {
    it(`${title} ${allowedBy === false ? "gives nothing" : "counts"}`, () => {
      const expected: Decision =
        allowedBy === false
          ? { allowed: false, reason: "" }
          : { allowed: true, reason: `RBAC: allowed by ${allowedBy}` };
      assert.deepEqual(decide(authorizer, asked), expected);
    });
  }

  it("of a missing role is reported in the reason, each name once", () => {
    const items = (...names: string[]): Item[] =>
      names.map((name, i) => [
        "clusterrolebindings",
        "",
        `b${i}`,
        binding("ClusterRole", name, toAlice),
      ]);
    assert.equal(
      decide(authorizerOf(...items("x", "x")), {}).reason,
      'RBAC: clusterrole.rbac.authorization.k8s.io "x" not found',
    );
    const local: Item = ["rolebindings", "default", "b", binding("Role", "y", toAlice)];
    assert.equal(
      decide(authorizerOf(...items("x"), local), {}).reason,
      'RBAC: [clusterrole.rbac.authorization.k8s.io "x" not found, role.rbac.authorization.k8s.io "y" not found]',
    );
    const shown = (count: number) => {
      const names = Array.from({ length: count }, (_, i) => `missing-${i}`);
      return decide(authorizerOf(...items(...names)), {}).reason.split("not found").length - 1;
    };
    assert.equal(shown(missingRolesShownMax), missingRolesShownMax);
    assert.equal(shown(missingRolesShownMax + 1), missingRolesShownMax);
  });

  it("may refer to a shared role, unless the cluster has its own role of that name", () => {
    const view = ["clusterrolebindings", "", "b", binding("ClusterRole", "view", toAlice)] as const;
    const asked = { resource: "configmaps", verb: "list" };
    assert.equal(decide(authorizerOf(view), asked).allowed, true);
    assert.equal(decide(authorizerOf(view), { ...asked, resource: "secrets" }).allowed, false);
    const own = ["clusterroles", "", "view", role(pods)] as const;
    assert.equal(decide(authorizerOf(own, view), asked).allowed, false);
    assert.equal(decide(authorizerOf(own, view), {}).allowed, true);
  });
});

describe("identities across clusters", () => {
  const admin: UserInfo = { username: "x", groups: ["system:kcp:admin", "system:authenticated"] };
  const with_ = (extra: Record<string, string[]>, user: UserInfo = admin): UserInfo => ({
    ...user,
    extra,
  });
  const account: UserInfo = { ...admin, username: "system:serviceaccount:default:sa" };
  const clusterName = "authentication.kcp.io/cluster-name";
  const scopes = "authentication.kcp.io/scopes";
  const warrant = "authorization.kcp.io/warrant";
  const vouching = JSON.stringify({ user: "y", groups: ["system:kcp:admin"] });
  const powerless: UserInfo = { username: "z", groups: ["system:authenticated"] };
  const cases: readonly (readonly [string, UserInfo, boolean])[] = [
    ["a plain user", admin, true],
    ["a user in scope", with_({ [scopes]: ["cluster:team-a"] }), true],
    ["a user in one of several scopes", with_({ [scopes]: ["cluster:team-a,cluster:x"] }), true],
    ["a user in one of two scopes", with_({ [scopes]: ["cluster:team-a", "cluster:x"] }), false],
    ["a user out of scope", with_({ [scopes]: ["cluster:root"] }), false],
    ["a user with a scope that says nothing", with_({ [scopes]: [""] }), false],
    ["a service account of nowhere", account, true],
    ["a service account of here", with_({ [clusterName]: ["team-a"] }, account), true],
    ["a service account of elsewhere", with_({ [clusterName]: ["x"] }, account), false],
    [
      "a service account of here, out of scope",
      with_({ [clusterName]: ["team-a"], [scopes]: ["cluster:x"] }, account),
      false,
    ],
    ["a powerless user", powerless, false],
    ["a powerless user with a warrant", with_({ [warrant]: [vouching] }, powerless), true],
    ["one with a broken warrant", with_({ [warrant]: ["{", "[]", "1"] }, powerless), false],
    [
      "one with a warrant out of scope",
      with_(
        {
          [warrant]: [
            JSON.stringify({
              user: "y",
              groups: ["system:kcp:admin"],
              extra: { [scopes]: ["cluster:x"] },
            }),
          ],
        },
        powerless,
      ),
      false,
    ],
    [
      "one with a warrant for an unplaced service account",
      with_(
        { [warrant]: [JSON.stringify({ user: account.username, groups: account.groups })] },
        powerless,
      ),
      false,
    ],
  ];
  for (const [title, user, allowed] of cases) {
    it(`${title} ${allowed ? "may" : "may not"} what system:kcp:admin may`, () => {
      assert.equal(decide(authorizerOf(), { user, verb: "delete" }).allowed, allowed);
    });
  }

  it("a service account of another cluster has a name with its cluster, and its cluster's group", () => {
    const user = with_({ [clusterName]: ["x"] }, account);
    for (const subject of [
      { kind: "User", name: "system:kcp:serviceaccount:x:default:sa" },
      { kind: "Group", name: "system:cluster:x" },
    ]) {
      const authorizer = authorizerOf([
        "clusterrolebindings",
        "",
        "b",
        binding("ClusterRole", "view", subject),
      ]);
      assert.equal(decide(authorizer, { user }).allowed, true, subject.name);
    }
    const local = authorizerOf([
      "clusterrolebindings",
      "",
      "b",
      binding("ClusterRole", "view", { kind: "User", name: account.username }),
    ]);
    assert.equal(decide(local, { user }).allowed, false);
  });

  it("the number of identities of a request is limited", () => {
    const warrants = (count: number) =>
      with_(
        {
          [warrant]: Array.from({ length: count }, (_, i) =>
            JSON.stringify({ user: `w${i}`, groups: i === count - 1 ? ["system:kcp:admin"] : [] }),
          ),
        },
        powerless,
      );
    // The user is one of them.
    assert.equal(decide(authorizerOf(), { user: warrants(effectiveUsersMax - 1) }).allowed, true);
    assert.equal(decide(authorizerOf(), { user: warrants(effectiveUsersMax) }).allowed, false);
  });

  it("no user has permissions over all clusters or in the system's clusters", () => {
    for (const where of ["*", "system:admin"] as (ClusterName | "*")[]) {
      const authorizer = authorizerOf([
        "clusterrolebindings",
        "",
        "b",
        binding("ClusterRole", "cluster-admin", toAlice),
      ]);
      for (const user of [alice, admin])
        assert.equal(decide(authorizer, { cluster: where, user }).allowed, false);
    }
  });
});

describe("the permissions of a user", () => {
  it("are returned up to a limit of rules, and then marked as incomplete", async () => {
    const shared = (await authorizerOf().rulesFor(alice, cluster, "")).rules.length;
    const many = (count: number) => {
      const rules = Array.from({ length: count }, (_, i) => ({
        verbs: ["get"],
        apiGroups: [""],
        resources: [`r${i}`],
      }));
      return authorizerOf(
        ["clusterroles", "", "r", role(...rules)],
        ["clusterrolebindings", "", "b", binding("ClusterRole", "r", toAlice)],
      ).rulesFor(alice, cluster, "");
    };
    const most = await many(resolvedRulesMax - shared);
    assert.deepEqual([most.rules.length, most.isIncomplete], [resolvedRulesMax, false]);
    const beyond = await many(resolvedRulesMax - shared + 1);
    assert.deepEqual([beyond.rules.length, beyond.isIncomplete], [shared, true]);
  });
});

describe("an aggregated role", () => {
  const gathers = (label: string): JsonObject => ({
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [label]: "true" } }] },
  });
  const labelled = (label: string, name: string, rest: JsonObject): JsonObject => ({
    metadata: { name, labels: { [label]: "true" } },
    ...rest,
  });
  const secrets = { verbs: ["get"], apiGroups: [""], resources: ["secrets"] };
  const toAll: Item = ["clusterrolebindings", "", "b", binding("ClusterRole", "all", toAlice)];
  const asked = { resource: "secrets" };

  it("permits the rules of the selected roles, and not its stored rules", () => {
    const own = { ...gathers("l"), rules: [{ ...secrets, verbs: ["delete"] }] };
    const authorizer = authorizerOf(
      toAll,
      ["clusterroles", "", "all", own],
      ["clusterroles", "", "part", labelled("l", "part", role(secrets))],
    );
    assert.equal(decide(authorizer, asked).allowed, true);
    assert.equal(decide(authorizer, { ...asked, verb: "delete" }).allowed, false);
  });

  it("may be aggregated itself, even in cycles", () => {
    const authorizer = authorizerOf(
      toAll,
      ["clusterroles", "", "all", labelled("k", "all", gathers("l"))],
      ["clusterroles", "", "middle", labelled("l", "middle", gathers("k"))],
      ["clusterroles", "", "part", labelled("k", "part", role(secrets))],
    );
    assert.equal(decide(authorizer, asked).allowed, true);
  });

  it("is limited in comparisons, and roles beyond permit nothing until a change", () => {
    const gatherers = 100;
    /**
     * A selector is parsed, then a requirement and the role itself are compared, for every role by
     * every aggregated one.
     */
    const most = (aggregationComparisonsMax / gatherers - selectorParseCost) / 2;
    const gathered = (roles: number) => {
      const policy = new ClusterPolicy();
      const put = (name: string, object: JsonObject) =>
        policy.put({ resource: "clusterroles", namespace: "", name }, { metadata: {}, ...object });
      put("part", labelled("l", "part", role(secrets)));
      for (let i = 0; i < gatherers; i++) put(`g${i}`, gathers("l"));
      for (let i = gatherers + 1; i < roles; i++) put(`r${i}`, role());
      const count = () =>
        Array.from({ length: gatherers }, (_, i) =>
          policy.rulesOf({ kind: "ClusterRole", name: `g${i}` }, ""),
        ).filter((rules) => rules?.length === 1).length;
      const before = count();
      policy.remove({ resource: "clusterroles", namespace: "", name: `r${roles - 1}` });
      return [before, count()];
    };
    assert.deepEqual(gathered(most), [gatherers, gatherers]);
    assert.deepEqual(gathered(most + 1), [gatherers - 1, gatherers]);
  });

  it("of the shared policy aggregates a cluster's own roles, too", () => {
    const label = "rbac.authorization.k8s.io/aggregate-to-view";
    const items: Item[] = [
      ["clusterrolebindings", "", "b", binding("ClusterRole", "admin", toAlice)],
      ["clusterroles", "", "x", labelled(label, "x", role({ ...secrets, resources: ["widgets"] }))],
    ];
    // admin aggregates edit, which aggregates view, which aggregates roles with the label.
    assert.equal(decide(authorizerOf(...items), { resource: "widgets" }).allowed, true);
    assert.equal(decide(authorizerOf(items[0] as Item), { resource: "widgets" }).allowed, false);
  });
});
