/** Questions about who may do what, who one is, and whose a token is. */
import type { CorpusTopic } from "../corpus-request.ts";
import { get, grantWorkspaceAccess, impersonating, namespace, post } from "../requests.ts";

const authorization = "/apis/authorization.k8s.io/v1";
const authentication = "/apis/authentication.k8s.io/v1";
const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/reviews";
const subject = (spec: object) => ({ spec });
const reads = { namespace: "reviews", verb: "get", resource: "configmaps" };
const local = `${authorization}/namespaces/reviews/localsubjectaccessreviews`;

export const reviews: CorpusTopic = {
  name: "reviews",
  requests: [
    namespace("reviews"),
    ...grantWorkspaceAccess("dora"),
    post("a role", `${rbac}/roles`, {
      metadata: { name: "reader" },
      rules: [
        { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list"] },
        { apiGroups: [""], resources: ["secrets"], resourceNames: ["one"], verbs: ["get"] },
      ],
    }),
    post("a binding", `${rbac}/rolebindings`, {
      metadata: { name: "reader" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" },
      subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "dora" }],
    }),
    post(
      "subject: may",
      `${authorization}/subjectaccessreviews`,
      { ...subject({ user: "dora", resourceAttributes: reads }) },
      { until: allowed },
    ),
    post("subject: may not", `${authorization}/subjectaccessreviews`, {
      ...subject({ user: "dora", resourceAttributes: { ...reads, verb: "update" } }),
    }),
    post("subject: masters", `${authorization}/subjectaccessreviews`, {
      ...subject({ groups: ["system:masters"], resourceAttributes: reads }),
    }),
    post("subject: a path", `${authorization}/subjectaccessreviews`, {
      ...subject({ user: "dora", nonResourceAttributes: { path: "/metrics", verb: "get" } }),
    }),
    post("subject: about nobody", `${authorization}/subjectaccessreviews`, {
      ...subject({ resourceAttributes: reads }),
    }),
    post("subject: about nothing", `${authorization}/subjectaccessreviews`, subject({ user: "a" })),
    post("subject: about both", `${authorization}/subjectaccessreviews`, {
      ...subject({
        user: "a",
        resourceAttributes: reads,
        nonResourceAttributes: { path: "/", verb: "get" },
      }),
    }),
    post("subject: with a selector", `${authorization}/subjectaccessreviews`, {
      ...subject({
        user: "dora",
        resourceAttributes: {
          ...reads,
          verb: "list",
          labelSelector: { requirements: [{ key: "a", operator: "In", values: ["b"] }] },
        },
      }),
    }),
    post("subject: with a bad selector", `${authorization}/subjectaccessreviews`, {
      ...subject({
        user: "dora",
        resourceAttributes: { ...reads, labelSelector: { rawSelector: "a", requirements: [{}] } },
      }),
    }),
    post("subject: with a name", `${authorization}/subjectaccessreviews`, {
      metadata: { name: "a" },
      ...subject({ user: "dora", resourceAttributes: reads }),
    }),
    post("local: may", local, {
      metadata: { namespace: "reviews" },
      ...subject({ user: "dora", resourceAttributes: reads }),
    }),
    post("local: without a namespace of its own", local, {
      ...subject({ user: "dora", resourceAttributes: reads }),
    }),
    post("local: about another namespace", local, {
      metadata: { namespace: "reviews" },
      ...subject({ user: "dora", resourceAttributes: { ...reads, namespace: "default" } }),
    }),
    post("local: in another namespace", local, {
      metadata: { namespace: "default" },
      ...subject({ user: "dora", resourceAttributes: reads }),
    }),
    post("local: about a path", local, {
      metadata: { namespace: "reviews" },
      ...subject({ user: "dora", nonResourceAttributes: { path: "/", verb: "get" } }),
    }),
    post("self: the administrator", `${authorization}/selfsubjectaccessreviews`, {
      ...subject({ resourceAttributes: reads }),
    }),
    post(
      "self: dora may",
      `${authorization}/selfsubjectaccessreviews`,
      { ...subject({ resourceAttributes: reads }) },
      impersonating("dora"),
    ),
    post(
      "self: dora may not",
      `${authorization}/selfsubjectaccessreviews`,
      { ...subject({ resourceAttributes: { ...reads, group: "apps", resource: "deployments" } }) },
      impersonating("dora"),
    ),
    post("self: about nothing", `${authorization}/selfsubjectaccessreviews`, subject({})),
    post(
      "rules: of dora",
      `${authorization}/selfsubjectrulesreviews`,
      { ...subject({ namespace: "reviews" }) },
      { ...impersonating("dora"), view: namespacedRules },
    ),
    post("rules: without a namespace", `${authorization}/selfsubjectrulesreviews`, subject({})),
    get("reviews are not read", `${authorization}/subjectaccessreviews`),
    post("who am I", `${authentication}/selfsubjectreviews`, {}, impersonating("dora")),
    post("token: none", `${authentication}/tokenreviews`, subject({})),
    post("token: a wrong one", `${authentication}/tokenreviews`, subject({ token: "wrong" })),
    get("token reviews are not read", `${authentication}/tokenreviews`),
    post(
      "dora asks about others",
      `${authorization}/subjectaccessreviews`,
      { ...subject({ user: "alice", resourceAttributes: reads }) },
      impersonating("dora"),
    ),
  ],
};

function allowed({ body }: { readonly body: unknown }): boolean {
  return (body as { status?: { allowed?: boolean } }).status?.allowed === true;
}

/** What everybody may do besides differs by what is served. */
function namespacedRules(body: unknown): unknown {
  const { status } = body as { status: { resourceRules: { resources: string[] }[] } };
  const rules = status.resourceRules.filter(({ resources }) =>
    resources.some((one) => one === "configmaps" || one === "secrets"),
  );
  return { ...status, nonResourceRules: "differs", resourceRules: rules };
}
