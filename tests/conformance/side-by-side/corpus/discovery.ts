/** Discovery, the version, and paths and methods that are none. */
import type { CorpusRequest, CorpusTopic } from "../corpus-request.ts";
import { accept, get, patch, post, put, remove } from "../requests.ts";

const aggregated = accept(
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
);

export const discovery: CorpusTopic = {
  name: "discovery",
  requests: [
    get("the core versions", "/api"),
    get("the core versions, with a slash", "/api/"),
    get("the groups", "/apis", { view: (body) => only(body, "groups", "name", groups) }),
    get("one group", "/apis/coordination.k8s.io"),
    get("one group, with a slash", "/apis/coordination.k8s.io/"),
    get("a group that is not there", "/apis/nothing.example.com"),
    get("a version that is not there", "/apis/coordination.k8s.io/v9"),
    get("the core resources", "/api/v1", { view: (body) => only(body, "resources", "name", core) }),
    get("leases", "/apis/coordination.k8s.io/v1"),
    get("events", "/apis/events.k8s.io/v1"),
    get("definitions", "/apis/apiextensions.k8s.io/v1"),
    get("roles", "/apis/rbac.authorization.k8s.io/v1"),
    get("all of the core at once", "/api", {
      ...aggregated,
      view: (body) => resourcesOf(body, "", core),
    }),
    get("all of leases at once", "/apis", {
      ...aggregated,
      view: (body) => resourcesOf(body, "coordination.k8s.io", ["leases"]),
    }),
    get("of an old version at once", "/apis", {
      ...accept("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"),
      view: () => "a list of groups",
    }),
    get("health", "/healthz"),
    get("life", "/livez"),
    get("readiness", "/readyz"),
    get("a path that is not there", "/nothing"),
    get("a path below one that is not there", "/nothing/at/all"),
    get("an API without a version", "/api/v2"),
    get("a resource without a version", "/api/configmaps"),
    post("to discovery", "/api", {}),
    put("a collection", "/api/v1/namespaces", {}),
    patch("merge", "a collection by patch", "/api/v1/namespaces", {}),
    remove("discovery", "/apis"),
    { ...get("an odd method", "/api/v1/namespaces"), method: "OPTIONS" },
    get("a subresource of a collection", "/api/v1/namespaces/default/configmaps/a/b/c"),
    get("a cluster's resource in a namespace", "/api/v1/namespaces/default/namespaces/default"),
    get("a namespace's resource without one", "/api/v1/configmaps/a"),
    get("with two slashes", "/api/v1//namespaces"),
  ] satisfies CorpusRequest[],
};

const groups = [
  "apiextensions.k8s.io",
  "certificates.k8s.io",
  "coordination.k8s.io",
  "events.k8s.io",
  "rbac.authorization.k8s.io",
];
const core = ["configmaps", "events", "namespaces", "namespaces/finalize", "namespaces/status"];

/** The members of a list that both serve. */
function only(body: unknown, list: string, key: string, names: readonly string[]): unknown {
  const items = (body as Record<string, Record<string, string>[]>)[list];
  return { ...(body as object), [list]: items?.filter((item) => names.includes(item[key] ?? "")) };
}

interface Groups {
  readonly items: {
    readonly metadata: { readonly name?: string };
    readonly versions: { readonly version: string; readonly resources: { resource: string }[] }[];
  }[];
}

function resourcesOf(body: unknown, group: string, names: readonly string[]): unknown {
  const item = (body as Groups).items.find(({ metadata }) => (metadata.name ?? "") === group);
  return item?.versions
    .filter(({ version }) => version === "v1")
    .map((one) => ({
      ...one,
      resources: one.resources.filter(({ resource }) => names.includes(resource)),
    }));
}
