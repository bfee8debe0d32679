/** Roles and bindings: what they may say, and who may give what. */
import type { CorpusTopic } from "../corpus-request.ts";
import {
  asTable,
  get,
  grantWorkspaceAccess,
  impersonating,
  namespace,
  patch,
  post,
  put,
  remove,
} from "../requests.ts";

const group = "rbac.authorization.k8s.io";
const rbac = `/apis/${group}/v1`;
const at = `${rbac}/namespaces/roles`;
const readers = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list"] }];
const role = (name: string, rules: unknown) => ({ metadata: { name }, rules });
const alice = { apiGroup: group, kind: "User", name: "alice" };
const toRole = (name: string, kind = "Role") => ({ apiGroup: group, kind, name });
const binding = (name: string, roleRef: object, subjects: unknown = [alice]) => ({
  metadata: { name },
  roleRef,
  subjects,
});

const bad = [
  post("role: without verbs", `${at}/roles`, role("bad", [{ apiGroups: [""], resources: ["a"] }])),
  post("role: without groups", `${at}/roles`, role("bad", [{ resources: ["a"], verbs: ["get"] }])),
  post(
    "role: without resources",
    `${at}/roles`,
    role("bad", [{ apiGroups: [""], verbs: ["get"] }]),
  ),
  post("role: with a path", `${at}/roles`, {
    ...role("bad", [{ nonResourceURLs: ["/healthz"], verbs: ["get"] }]),
  }),
  post("role: with a bad name", `${at}/roles`, role("a/b", readers)),
  post("role: with a colon in its name", `${at}/roles`, role("system:reader", readers)),
  post("cluster role: resources and paths in one", `${rbac}/clusterroles`, {
    ...role("roles-bad", [{ ...readers[0], nonResourceURLs: ["/healthz"] }]),
  }),
  post("cluster role: a path that is none", `${rbac}/clusterroles`, {
    ...role("roles-bad", [{ nonResourceURLs: ["healthz"], verbs: ["get"] }]),
  }),
  post("cluster role: a bad selector", `${rbac}/clusterroles`, {
    ...role("roles-bad", []),
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { "a b": "c" } }] },
  }),
  post("cluster role: gathers nothing", `${rbac}/clusterroles`, {
    ...role("roles-bad", []),
    aggregationRule: { clusterRoleSelectors: [] },
  }),
  post("binding: to nothing", `${at}/rolebindings`, binding("bad", toRole(""))),
  post("binding: to a role of another kind", `${at}/rolebindings`, {
    ...binding("bad", toRole("reader", "Thing")),
  }),
  post("binding: to a role of another group", `${at}/rolebindings`, {
    ...binding("bad", { ...toRole("reader"), apiGroup: "example.com" }),
  }),
  post("binding: a user of another group", `${at}/rolebindings`, {
    ...binding("bad", toRole("reader"), [{ ...alice, apiGroup: "example.com" }]),
  }),
  post("binding: a subject without a name", `${at}/rolebindings`, {
    ...binding("bad", toRole("reader"), [{ ...alice, name: "" }]),
  }),
  post("binding: an account without a namespace", `${rbac}/clusterrolebindings`, {
    ...binding("roles-bad", toRole("view", "ClusterRole"), [
      { kind: "ServiceAccount", name: "default" },
    ]),
  }),
  post("binding: an account with a bad name", `${at}/rolebindings`, {
    ...binding("bad", toRole("reader"), [
      { kind: "ServiceAccount", name: "De fault", namespace: "roles" },
    ]),
  }),
  post("binding: a subject of another kind", `${at}/rolebindings`, {
    ...binding("bad", toRole("reader"), [{ ...alice, kind: "Robot" }]),
  }),
  post("cluster binding: to a role of a namespace", `${rbac}/clusterrolebindings`, {
    ...binding("roles-bad", toRole("reader")),
  }),
];

export const roles: CorpusTopic = {
  name: "roles",
  requests: [
    namespace("roles"),
    ...grantWorkspaceAccess("alice", "bob"),
    post("a role", `${at}/roles`, role("reader", readers)),
    get("a role as a table", `${at}/roles/reader`, { ...asTable, view: withoutCells }),
    post("a role without rules", `${at}/roles`, { metadata: { name: "empty" } }),
    post("a cluster role", `${rbac}/clusterroles`, {
      ...role("roles-all", [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }]),
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] },
    }),
    post("a cluster role of paths", `${rbac}/clusterroles`, {
      ...role("roles-paths", [{ nonResourceURLs: ["/healthz", "/logs/*", "*"], verbs: ["get"] }]),
    }),
    post("a binding", `${at}/rolebindings`, binding("read", toRole("reader"))),
    post("a binding with what is left out", `${at}/rolebindings`, {
      ...binding("short", { kind: "ClusterRole", name: "view" }, [
        { kind: "Group", name: "staff" },
        { kind: "ServiceAccount", name: "default" },
      ]),
    }),
    get("a binding as a table", `${at}/rolebindings/short`, { ...asTable, view: withoutCells }),
    post("a binding to nobody", `${at}/rolebindings`, {
      metadata: { name: "nobody" },
      roleRef: toRole("reader"),
    }),
    ...bad,
    put("another role for a binding", `${at}/rolebindings/read`, binding("read", toRole("empty"))),
    patch("strategic", "other subjects for a binding", `${at}/rolebindings/read`, {
      subjects: [{ ...alice, name: "carol" }],
    }),
    patch("merge", "alice again", `${at}/rolebindings/read`, { subjects: [alice] }),
    get("alice reads", "/api/v1/namespaces/roles/configmaps", impersonating("alice")),
    get("alice reads one", "/api/v1/namespaces/roles/configmaps/none", impersonating("alice")),
    get("alice reads secrets", "/api/v1/namespaces/roles/secrets", impersonating("alice")),
    get("alice reads a secret", "/api/v1/namespaces/roles/secrets/one", impersonating("alice")),
    get("alice reads everywhere", "/api/v1/configmaps", impersonating("alice")),
    get("alice reads namespaces", "/api/v1/namespaces", impersonating("alice")),
    get("alice reads of an unknown group", "/apis/example.com/v1/things/a", impersonating("alice")),
    get("alice reads a path", "/metrics", impersonating("alice")),
    remove(
      "alice deletes",
      "/api/v1/namespaces/roles/configmaps/a",
      undefined,
      impersonating("alice"),
    ),
    remove(
      "alice deletes all",
      "/api/v1/namespaces/roles/configmaps",
      undefined,
      impersonating("alice"),
    ),
    put("alice sets a status", "/api/v1/namespaces/roles/status", {}, impersonating("alice")),
    ...escalation(),
    remove("delete a role", `${at}/roles/empty`),
    remove("delete a binding", `${at}/rolebindings/read`),
    get("alice reads no longer", "/api/v1/namespaces/roles/configmaps", {
      ...impersonating("alice"),
      until: ({ status }) => status === 403,
    }),
  ],
};

/** Who may write roles may not thereby get more than they have. */
function escalation() {
  const keeper = [
    { apiGroups: [group], resources: ["roles", "rolebindings"], verbs: ["*"] },
    { apiGroups: [""], resources: ["configmaps"], verbs: ["get"] },
  ];
  const bob = impersonating("bob");
  // A real server's authorizer learns a moment later what he took from himself.
  const refused = { ...bob, until: ({ status }: { readonly status: number }) => status === 403 };
  const more = [
    { apiGroups: [""], resources: ["secrets", "configmaps"], verbs: ["get", "update"] },
    { apiGroups: ["apps"], resources: ["deployments"], resourceNames: ["web"], verbs: ["*"] },
  ];
  return [
    post("bob may write roles", `${at}/roles`, role("keeper", keeper)),
    post("bob is the keeper", `${at}/rolebindings`, {
      ...binding("keeper", toRole("keeper"), [{ ...alice, name: "bob" }]),
    }),
    post("bob gives what he has", `${at}/roles?dryRun=All`, role("same", [keeper[1]]), {
      ...bob,
      until: ({ status }) => status === 201,
    }),
    post("bob gives more", `${at}/roles`, role("more", more), bob),
    put("bob adds to his own role", `${at}/roles/keeper`, role("keeper", more), bob),
    patch("merge", "bob patches his own role", `${at}/roles/keeper`, { rules: more }, refused),
    put("bob takes from his role", `${at}/roles/keeper?dryRun=All`, role("keeper", keeper), bob),
    post(
      "bob binds his role",
      `${at}/rolebindings?dryRun=All`,
      { ...binding("same", toRole("keeper")) },
      bob,
    ),
    post(
      "bob binds a stronger role",
      `${at}/rolebindings`,
      { ...binding("more", toRole("reader")) },
      bob,
    ),
    post(
      "bob binds a role that is not there",
      `${at}/rolebindings`,
      { ...binding("none", toRole("none")) },
      bob,
    ),
    post("bob makes a cluster role", `${rbac}/clusterroles`, role("roles-bob", readers), bob),
  ];
}

function withoutCells(body: unknown): unknown {
  const { columnDefinitions, rows } = body as {
    columnDefinitions: unknown;
    rows: { cells: unknown[] }[];
  };
  return { columnDefinitions, cells: rows.map(({ cells }) => cells.slice(0, 2)) };
}
