/** Roles that gather each other, bindings with many subjects, reviews. */
import type { SeededRandom } from "@kcp-ts/testkit";
import { type Attack, anySize, get, post, times } from "./attack.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";

function anyRules(random: SeededRandom, values: number): object[] {
  const each = anySize(random, 200);
  return times(Math.max(1, Math.floor(anySize(random, values) / (each + 3))), (i) => ({
    apiGroups: [`g${i}.example.com`],
    resources: times(each, (r) => `r${i}x${r}`),
    verbs: ["get"],
  }));
}

const role = (name: string, labels: object, more: object) => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name, labels },
  ...more,
});

const aggregated: Attack = {
  name: "ClusterRoles that gather each other",
  *steps({ random }) {
    const count = 2 + random.integer(8);
    for (let i = 0; i < count; i++) {
      const selectors = times(anySize(random, 3000), (s) => ({
        matchLabels: { [`a${(i + s) % count}`]: "x" },
      }));
      const gathers = random.chance(0.7);
      yield post(
        `${rbac}/clusterroles`,
        role(
          `r${i}`,
          { [`a${i}`]: "x", [`a${random.integer(count)}`]: "x", all: "x" },
          {
            rules: anyRules(random, 70_000),
            ...(gathers
              ? {
                  aggregationRule: {
                    clusterRoleSelectors: random.chance(0.5)
                      ? selectors
                      : [{ matchLabels: { all: "x" } }],
                  },
                }
              : {}),
          },
        ),
      );
    }
    yield get(`${rbac}/clusterroles`);
    yield {
      method: "PATCH",
      path: `${rbac}/clusterroles/r0`,
      contentType: "application/merge-patch+json",
      body: JSON.stringify({ rules: anyRules(random, 1000) }),
    };
    yield { method: "DELETE", path: `${rbac}/clusterroles/r1` };
  },
};

const subjects: Attack = {
  name: "bindings with many subjects",
  *steps({ random }) {
    yield post(`${rbac}/clusterroles`, role("many", {}, { rules: anyRules(random, 79_000) }));
    for (let i = 0; i < 1 + random.integer(3); i++) {
      yield post(`${rbac}/clusterrolebindings`, {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRoleBinding",
        metadata: { name: `b${i}` },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "many" },
        subjects: times(anySize(random, 19_000), (s) => ({
          apiGroup: "rbac.authorization.k8s.io",
          kind: "User",
          name: s === 0 ? "member" : `u${s}`,
        })),
      });
    }
    yield post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectRulesReview",
      spec: { namespace: "default" },
    });
    yield post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes: { verb: "get", resource: "r0x0", group: "g0.example.com" } },
    });
    yield post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: {
        user: "u1",
        groups: times(anySize(random, 70_000), (i) => `g${i}`),
        extra: { k: times(anySize(random, 1000), (i) => `v${i}`) },
        resourceAttributes: { verb: "get", resource: "x" },
      },
    });
    yield { method: "DELETE", path: `${rbac}/clusterrolebindings/b0` };
  },
};

export const accessAttacks: readonly Attack[] = [aggregated, subjects];
