/**
 * The API of the tests of cached resources: sheriffs that one workspace stores, publishes, and
 * exports read-only.
 */
import { type AnyObject, install } from "@kcp-ts/apiserver/testing";
import type { TestServer } from "../../testing/index.ts";
import { apis, flushPendingWork, until } from "./cowboys.ts";

export const masters = { user: "masters" } as const;
export const cache = (cluster: string): string => `/clusters/${cluster}/apis/cache.kcp.io/v1alpha1`;
export const sheriffs = "/apis/wildwest.dev/v1alpha1/sheriffs";
const names = { plural: "sheriffs", singular: "sheriff", kind: "Sheriff", listKind: "SheriffList" };
const schema = {
  type: "object",
  properties: {
    spec: { type: "object", properties: { intent: { type: "string" } } },
    status: { type: "object", properties: { result: { type: "string" } } },
  },
};
const version = { name: "v1alpha1", served: true, storage: true, subresources: { status: {} } };

export const sheriffDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "sheriffs.wildwest.dev" },
  spec: {
    group: "wildwest.dev",
    names,
    scope: "Cluster",
    versions: [{ ...version, schema: { openAPIV3Schema: schema } }],
  },
};

export const sheriffSchema = {
  metadata: { name: "today.sheriffs.wildwest.dev" },
  spec: { group: "wildwest.dev", names, scope: "Cluster", versions: [{ ...version, schema }] },
};

export const sheriff = (name: string, labels: Readonly<Record<string, string>> = {}) => ({
  metadata: { name, labels },
  spec: { intent: "keep the peace" },
});

export const cachedResource = (spec: object = {}, name = "sheriffs") => ({
  metadata: { name },
  spec: { group: "wildwest.dev", version: "v1alpha1", resource: "sheriffs", ...spec },
});

export const cachedSlice = (spec: object = {}, name = "sheriffs") => ({
  metadata: { name },
  spec: { clusterCachedResource: { name: "sheriffs" }, export: { name: "law" }, ...spec },
});

export const virtualExport = (identityHash: string, slice = "sheriffs") => ({
  metadata: { name: "law" },
  spec: {
    resources: [
      {
        group: "wildwest.dev",
        name: "sheriffs",
        schema: "today.sheriffs.wildwest.dev",
        storage: {
          virtual: {
            reference: {
              apiGroup: "cache.kcp.io",
              kind: "ClusterCachedResourceEndpointSlice",
              name: slice,
            },
            identityHash,
          },
        },
      },
    ],
  },
});

interface CachedStatus {
  readonly identityHash?: string;
  readonly phase?: string;
  readonly resourceCounts?: { readonly cache: number; readonly local: number };
  readonly endpoints?: readonly { readonly url: string }[];
  readonly shardSelector?: string;
  readonly conditions?: readonly Readonly<Record<string, string>>[];
}

export const statusOf = (object: AnyObject) => (object["status"] ?? {}) as CachedStatus;

/** Waits until a ClusterCachedResource is Ready, and returns it. */
export async function readyResource(
  test: TestServer,
  cluster: string,
  name = "sheriffs",
): Promise<AnyObject> {
  const read = () =>
    test.requestOk("GET", `${cache(cluster)}/clustercachedresources/${name}`, masters);
  await until(test, "it is ready", async () => statusOf(await read()).phase === "Ready");
  return read();
}

/**
 * Sets up a workspace that publishes its sheriffs: CRD, schema, cached resource, export and slice.
 */
export async function publish(
  test: TestServer,
  cluster: string,
  spec: object = {},
): Promise<AnyObject> {
  await install(test, sheriffDefinition as unknown as AnyObject, cluster, "masters");
  const schemas = `${apis(cluster, "v1alpha1")}/apiresourceschemas`;
  await test.requestOk("POST", schemas, { ...masters, body: sheriffSchema });
  const body = cachedResource(spec);
  await test.requestOk("POST", `${cache(cluster)}/clustercachedresources`, { ...masters, body });
  const made = await readyResource(test, cluster);
  const exported = virtualExport(statusOf(made).identityHash ?? "");
  await test.requestOk("POST", `${apis(cluster)}/apiexports`, { ...masters, body: exported });
  const slices = `${cache(cluster)}/clustercachedresourceendpointslices`;
  await test.requestOk("POST", slices, { ...masters, body: cachedSlice() });
  await flushPendingWork(test);
  return made;
}

export function bindToLaw(test: TestServer, consumer: string, path: string): Promise<AnyObject> {
  return test.requestOk("POST", `${apis(consumer)}/apibindings`, {
    ...masters,
    body: { metadata: { name: "law" }, spec: { reference: { export: { path, name: "law" } } } },
  });
}
