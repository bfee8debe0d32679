/** Very many objects of one kind, each of which is small, and what reads all of them. */
import type { SeededRandom } from "@kcp-ts/testkit";
import { define, object, text } from "../bench/hold-case.ts";
import {
  type Attack,
  accepts,
  anySize,
  get,
  patch,
  post,
  type Step,
  times,
  watchAccepts,
} from "./attack.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const configMaps = "/api/v1/namespaces/default/configmaps";
const aggregatedDiscovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const admission = "/apis/admissionregistration.k8s.io/v1";

const roles: Attack = {
  name: "many roles, and who may do what",
  *steps({ random }) {
    const count = anySize(random, 150);
    const rules = times(anySize(random, 600), (i) => ({
      apiGroups: [`g${i}.example.com`],
      resources: times(1 + random.integer(8), (r) => `r${r}`),
      resourceNames: random.chance(0.1) ? times(anySize(random, 50), (n) => `n${n}`) : [],
      verbs: ["get", "list"],
    }));
    for (let i = 0; i < count; i++) {
      yield post(`${rbac}/namespaces/default/roles`, {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "Role",
        metadata: { name: `r${i}` },
        rules,
      });
      yield post(`${rbac}/namespaces/default/rolebindings`, {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "RoleBinding",
        metadata: { name: `b${i}` },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: `r${i}` },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "member" }],
      });
    }
    for (let i = 0; i < 2; i++) {
      yield post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectRulesReview",
        spec: { namespace: "default" },
      });
      yield post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        spec: {
          user: "member",
          resourceAttributes: { verb: "get", resource: "z", group: "z", namespace: "default" },
        },
      });
    }
    yield { method: "DELETE", path: `${rbac}/namespaces/default/rolebindings` };
  },
};

const definitions: Attack = {
  name: "many small definitions",
  *steps({ random }) {
    const count = anySize(random, 120);
    const ownGroup = random.chance(0.5);
    const versions = 1 + random.integer(random.chance(0.3) ? 60 : 3);
    for (let i = 0; i < count; i++) {
      const schema = { openAPIV3Schema: object({ spec: object({ a: text }) }) };
      yield {
        ...define({
          schema: {},
          plural: `p${i}`,
          group: ownGroup ? `g${i}.example.com` : "hold.example.com",
          spec: {
            versions: times(versions, (v) => ({
              name: `v${v + 1}`,
              served: true,
              storage: v === 0,
              schema,
            })),
          },
        }),
        waitsForDefinition: i === count - 1,
      };
    }
    yield get("/apis", aggregatedDiscovery);
    yield get("/apis");
    for (const path of ["/openapi/v2", "/openapi/v3"]) yield get(path);
    yield get("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", random.pick(accepts));
  },
};

function* objects(random: SeededRandom, count: number): Generator<Step> {
  for (let i = 0; i < count; i++)
    yield post(configMaps, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        name: `c${i}`,
        labels: { half: String(i % 2), own: String(i) },
        ...(i > 0 && random.chance(0.3)
          ? { ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "c0", uid: `${i}` }] }
          : {}),
        ...(random.chance(0.1) ? { finalizers: ["a.b/c"] } : {}),
      },
      data: { k: "v".repeat(anySize(random, 3000)) },
    });
}

const small: Attack = {
  name: "many small objects, read and deleted in every way",
  *steps({ random }) {
    yield* objects(random, anySize(random, 400));
    for (let i = 0; i < 3; i++)
      yield {
        ...get(`${configMaps}?watch=true&timeoutSeconds=30`, random.pick<string>(watchAccepts)),
        isWatched: true,
      };
    for (const query of [
      "",
      "?limit=7",
      "?labelSelector=half%3D1",
      "?resourceVersion=0",
      "?fieldSelector=metadata.name%21%3Dc1",
    ])
      yield {
        ...get(configMaps + query, random.pick(accepts)),
        headers: random.chance(0.5) ? { "accept-encoding": "gzip" } : {},
      };
    yield { method: "DELETE", path: `${configMaps}?labelSelector=half%3D1` };
    yield random.pick<Step>([
      { method: "DELETE", path: configMaps },
      { method: "DELETE", path: "/api/v1/namespaces/default" },
    ]);
  },
};

const params: Attack = {
  name: "policies with many parameters",
  *steps({ random }) {
    yield* objects(random, anySize(random, 120));
    const validations = times(1 + random.integer(8), () => ({
      expression: random.pick([
        "params.data.all(k, k != 'z')",
        "object.metadata.labels.exists(l, l in params.metadata.labels)",
        "object.data.all(k, params.data.all(q, q == k || true))",
        "params.data == object.data || true",
      ]),
    }));
    const count = 1 + random.integer(6);
    for (let i = 0; i < count; i++) {
      yield post(`${admission}/validatingadmissionpolicies`, {
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: "ValidatingAdmissionPolicy",
        metadata: { name: `p${i}` },
        spec: {
          failurePolicy: "Fail",
          paramKind: { apiVersion: "v1", kind: "ConfigMap" },
          matchConstraints: {
            resourceRules: [
              { apiGroups: [""], apiVersions: ["*"], resources: ["configmaps"], operations: ["*"] },
            ],
          },
          validations,
        },
      });
      for (let b = 0; b < 3; b++)
        yield post(`${admission}/validatingadmissionpolicybindings`, {
          apiVersion: "admissionregistration.k8s.io/v1",
          kind: "ValidatingAdmissionPolicyBinding",
          metadata: { name: `p${i}b${b}` },
          spec: {
            policyName: `p${i}`,
            validationActions: ["Warn", "Audit"],
            paramRef: { selector: {}, namespace: "default", parameterNotFoundAction: "Allow" },
          },
        });
    }
    const data = Object.fromEntries(times(anySize(random, 15_000), (k) => [`k${k}`, "v"]));
    const large = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "large" }, data };
    yield post(configMaps, large);
    yield patch(`${configMaps}/large`, "merge-patch+json", { data: { more: "v" } });
    yield { method: "DELETE", path: `${configMaps}/large` };
  },
};

const group = "shared.example.com";

const schemas: Attack = {
  name: "an APIExport with many schemas, and many claimed objects",
  *steps({ random, workspace }) {
    const count = anySize(random, 100);
    for (let i = 0; i < count; i++)
      yield post("/apis/apis.kcp.io/v1alpha1/apiresourceschemas", {
        apiVersion: "apis.kcp.io/v1alpha1",
        kind: "APIResourceSchema",
        metadata: { name: `v1.p${i}.${group}` },
        spec: {
          group,
          scope: "Namespaced",
          names: { plural: `p${i}`, singular: `s${i}`, kind: `K${i}`, listKind: `K${i}List` },
          versions: [
            {
              name: "v1",
              served: true,
              storage: true,
              schema: object({ spec: object({ a: text }) }),
            },
          ],
        },
      });
    yield post("/apis/apis.kcp.io/v1alpha2/apiexports", {
      apiVersion: "apis.kcp.io/v1alpha2",
      kind: "APIExport",
      metadata: { name: "many" },
      spec: {
        resources: times(count, (i) => ({
          name: `p${i}`,
          group,
          schema: `v1.p${i}.${group}`,
          storage: { crd: {} },
        })),
        permissionClaims: [{ group: "", resource: "configmaps", verbs: ["*"] }],
        maximalPermissionPolicy: { local: {} },
      },
    });
    yield* objects(random, anySize(random, 150));
    yield post("/apis/apis.kcp.io/v1alpha2/apibindings", {
      apiVersion: "apis.kcp.io/v1alpha2",
      kind: "APIBinding",
      metadata: { name: "many" },
      spec: {
        reference: { export: { path: `root:${workspace}`, name: "many" } },
        permissionClaims: [
          {
            group: "",
            resource: "configmaps",
            verbs: ["*"],
            state: "Accepted",
            selector: random.pick([{ matchAll: true }, { matchLabels: { half: "1" } }]),
          },
        ],
      },
    });
    yield get("/apis", aggregatedDiscovery);
    yield get("/openapi/v2");
    yield get(`/openapi/v3/apis/${group}/v1`);
    const { text: slices } = yield get("/apis/apis.kcp.io/v1alpha1/apiexportendpointslices");
    const view = /\/services\/apiexport\/[^"]+/.exec(slices)?.[0];
    if (view !== undefined) {
      for (const path of [
        "/apis",
        "/api/v1/configmaps",
        "/openapi/v2",
        "/openapi/v3",
        `/openapi/v3/apis/${group}/v1`,
      ])
        yield { ...get(`${view}/clusters/*${path}`), isFromRoot: true };
      yield {
        ...get(`${view}/clusters/*/api/v1/configmaps?watch=true&timeoutSeconds=20`),
        isFromRoot: true,
        isWatched: true,
      };
    }
    yield patch("/apis/apis.kcp.io/v1alpha2/apibindings/many", "merge-patch+json", {
      spec: { permissionClaims: [] },
    });
    yield { method: "DELETE", path: "/apis/apis.kcp.io/v1alpha2/apibindings/many" };
  },
};

const children: Attack = {
  name: "workspaces in workspaces",
  *steps({ random }) {
    const path = "/apis/tenancy.kcp.io/v1alpha1/workspaces";
    const count = anySize(random, 20);
    for (let i = 0; i < count; i++)
      yield post(path, {
        apiVersion: "tenancy.kcp.io/v1alpha1",
        kind: "Workspace",
        metadata: {
          name: `w${i}`,
          labels: Object.fromEntries(
            times(random.chance(0.2) ? anySize(random, 1900) : 1, (l) => [`l${l}`, "v"]),
          ),
        },
      });
    yield get(path, random.pick(accepts));
    yield { method: "DELETE", path };
  },
};

export const quantityAttacks: readonly Attack[] = [
  roles,
  definitions,
  small,
  params,
  schemas,
  children,
];
