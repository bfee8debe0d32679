/** Shared APIs: schemas, exports, bindings, permission claims, virtual workspaces. */
import type { SeededRandom } from "@kcp-ts/testkit";
import { fields, object, text } from "../bench/hold-case.ts";
import { type Attack, accepts, anyJson, anySize, get, patch, post, times } from "./attack.ts";

const apis = "/apis/apis.kcp.io/v1alpha2";
const group = "shared.example.com";
const objects = `/apis/${group}/v1/namespaces/default/things`;

function anySchema(random: SeededRandom): object {
  const leaf = random.pick<object>([
    text,
    { ...text, default: "d".repeat(anySize(random, 1000)) },
    { type: "array", items: object({ a: text }) },
    object({ a: text }, { "x-kubernetes-validations": [{ rule: "has(self.a)" }] }),
  ]);
  return {
    ...fields(anySize(random, 3000), () => leaf),
    "x-kubernetes-preserve-unknown-fields": true,
  };
}

const claim = (i: number, random: SeededRandom) => ({
  group: i === 0 ? "" : `g${i}.example.com`,
  resource: i === 0 ? "configmaps" : "things",
  verbs: random.chance(0.5) ? ["*"] : times(anySize(random, 300), (v) => `verb${v}`),
});

const selector = (random: SeededRandom) =>
  random.pick<object>([
    { matchAll: true },
    { matchLabels: Object.fromEntries(times(anySize(random, 2000), (i) => [`l${i}`, "v"])) },
    {
      matchExpressions: times(anySize(random, 300), (i) => ({
        key: `l${i}`,
        operator: "NotIn",
        values: times(anySize(random, 200), (v) => `v${v}`),
      })),
    },
  ]);

const exports: Attack = {
  name: "APIExports with large schemas and many permission claims",
  *steps({ random, workspace }) {
    yield post("/apis/apis.kcp.io/v1alpha1/apiresourceschemas", {
      apiVersion: "apis.kcp.io/v1alpha1",
      kind: "APIResourceSchema",
      metadata: { name: `v1.things.${group}` },
      spec: {
        group,
        scope: "Namespaced",
        names: { plural: "things", singular: "thing", kind: "Thing", listKind: "ThingList" },
        versions: [{ name: "v1", served: true, storage: true, schema: anySchema(random) }],
      },
    });
    const claims = times(anySize(random, 900), (i) => claim(i, random));
    yield post(`${apis}/apiexports`, {
      apiVersion: "apis.kcp.io/v1alpha2",
      kind: "APIExport",
      metadata: { name: "things" },
      spec: {
        resources: [
          { name: "things", group, schema: `v1.things.${group}`, storage: { crd: {} } },
          ...times(random.chance(0.2) ? anySize(random, 3000) : 0, (i) => ({
            name: `more${i}`,
            group,
            schema: `v1.more${i}.${group}`,
            storage: { crd: {} },
          })),
        ],
        permissionClaims: claims,
      },
    });
    yield post(`${apis}/apibindings`, {
      apiVersion: "apis.kcp.io/v1alpha2",
      kind: "APIBinding",
      metadata: { name: "things" },
      spec: {
        reference: { export: { path: `root:${workspace}`, name: "things" } },
        permissionClaims: claims.map((each) => ({
          ...each,
          state: "Accepted",
          selector: selector(random),
        })),
      },
    });
    const thing = (name: string) =>
      `{"apiVersion":"${group}/v1","kind":"Thing","metadata":{"name":"${name}"},"any":${anyJson(random, 79_000)}}`;
    for (const name of ["a", "b", "c"]) yield post(objects, thing(name));
    yield post("/api/v1/namespaces/default/configmaps", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        name: "claimed",
        labels: Object.fromEntries(times(anySize(random, 1900), (i) => [`l${i}`, "v"])),
      },
    });
    yield patch(`${apis}/apibindings/things`, "merge-patch+json", {
      spec: { permissionClaims: [] },
    });
    const { text: slices } = yield get("/apis/apis.kcp.io/v1alpha1/apiexportendpointslices");
    const view = /\/services\/apiexport\/[^"]+/.exec(slices)?.[0];
    if (view !== undefined) {
      for (const accept of accepts) {
        if (!random.chance(0.4)) continue;
        const all = `${view}/clusters/*/apis/${group}/v1/things`;
        yield { ...get(all, accept), isFromRoot: true };
      }
      yield { ...get(`${view}/clusters/*/api/v1/configmaps`), isFromRoot: true };
      yield { ...get(`${view}/clusters/*/openapi/v3/apis/${group}/v1`), isFromRoot: true };
    }
    yield* accepts.filter(() => random.chance(0.3)).map((accept) => get(objects, accept));
    yield { method: "DELETE", path: `${apis}/apibindings/things` };
  },
};

const cached: Attack = {
  name: "ClusterCachedResources of large objects",
  *steps({ random }) {
    for (let i = 0; i < 1 + random.integer(6); i++) {
      yield post("/apis/rbac.authorization.k8s.io/v1/clusterroles", {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRole",
        metadata: { name: `c${i}`, labels: { cached: "true" } },
        rules: times(anySize(random, 15_000), (r) => ({
          apiGroups: [""],
          resources: [`r${r}`],
          verbs: ["get"],
        })),
      });
    }
    yield post("/apis/cache.kcp.io/v1alpha1/clustercachedresources", {
      apiVersion: "cache.kcp.io/v1alpha1",
      kind: "ClusterCachedResource",
      metadata: { name: "roles" },
      spec: {
        group: "rbac.authorization.k8s.io",
        version: "v1",
        resource: "clusterroles",
        labelSelector: random.chance(0.5) ? { matchLabels: { cached: "true" } } : selector(random),
      },
    });
    yield get("/apis/cache.kcp.io/v1alpha1/clustercachedresources");
    yield { method: "DELETE", path: "/apis/rbac.authorization.k8s.io/v1/clusterroles/c0" };
    yield { method: "DELETE", path: "/apis/cache.kcp.io/v1alpha1/clustercachedresources/roles" };
  },
};

const types: Attack = {
  name: "WorkspaceTypes that extend each other",
  *steps({ random, workspace }) {
    const count = 2 + random.integer(12);
    const path = `root:${workspace}`;
    const some = (most: number) => (random.chance(0.3) ? anySize(random, most) : 2);
    for (let i = 0; i < count; i++) {
      yield post("/apis/tenancy.kcp.io/v1alpha1/workspacetypes", {
        apiVersion: "tenancy.kcp.io/v1alpha1",
        kind: "WorkspaceType",
        metadata: { name: `type${i}` },
        spec: {
          extend: { with: times(some(5000), (t) => ({ name: `type${(i + t) % count}`, path })) },
          additionalWorkspaceLabels: Object.fromEntries(times(some(2000), (l) => [`l${l}`, "v"])),
          limitAllowedChildren: { types: times(some(5000), (t) => ({ name: `type${t}`, path })) },
          defaultAPIBindings: times(random.integer(3) * some(500), (b) => ({
            path,
            export: `e${b}`,
          })),
        },
      });
    }
    yield post("/apis/tenancy.kcp.io/v1alpha1/workspaces", {
      apiVersion: "tenancy.kcp.io/v1alpha1",
      kind: "Workspace",
      metadata: { name: "child" },
      spec: { type: { name: "type0", path } },
    });
    yield get("/apis/tenancy.kcp.io/v1alpha1/workspaces/child");
  },
};

const defaults: Attack = {
  name: "WorkspaceTypes with many default bindings, created and changed",
  *steps({ random, workspace }) {
    const all = "/apis/tenancy.kcp.io/v1alpha1/workspacetypes";
    const path = random.pick(["", `root:${workspace}`]);
    const count = anySize(random, 990);
    const bindings = (from: number) =>
      times(count, (i) => ({ ...(path === "" ? {} : { path }), export: `e${from + i}` }));
    yield post(all, {
      apiVersion: "tenancy.kcp.io/v1alpha1",
      kind: "WorkspaceType",
      metadata: { name: "defaults" },
      spec: { defaultAPIBindings: bindings(0) },
    });
    for (const from of [0, 1, 0])
      yield patch(`${all}/defaults`, "merge-patch+json", {
        metadata: { annotations: { from: String(from) } },
        spec: { defaultAPIBindings: bindings(from) },
      });
    yield get(all);
  },
};

export const sharingAttacks: readonly Attack[] = [exports, cached, types, defaults];
