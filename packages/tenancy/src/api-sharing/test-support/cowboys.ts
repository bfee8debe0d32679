/** The API of the tests: cowboys with an intent, exported by one workspace and bound by others. */
import { type AnyObject, flushPendingWork, type RequestOptions } from "@kcp-ts/apiserver/testing";
import type { TestServer } from "../../testing/index.ts";

export { flushPendingWork, until } from "@kcp-ts/apiserver/testing";

export const apis = (cluster: string, version = "v1alpha2"): string =>
  `/clusters/${cluster}/apis/apis.kcp.io/${version}`;

const masters: RequestOptions = { user: "masters" };

export function cowboySchema(prefix: string, properties: object = {}) {
  return {
    apiVersion: "apis.kcp.io/v1alpha1",
    kind: "APIResourceSchema",
    metadata: { name: `${prefix}.cowboys.wildwest.dev` },
    spec: {
      group: "wildwest.dev",
      names: { plural: "cowboys", singular: "cowboy", kind: "Cowboy", listKind: "CowboyList" },
      scope: "Namespaced",
      versions: [
        {
          name: "v1alpha1",
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            type: "object",
            properties: {
              spec: { type: "object", properties: { intent: { type: "string" }, ...properties } },
              status: { type: "object", properties: { result: { type: "string" } } },
            },
          },
        },
      ],
    },
  };
}

export function cowboyExport(prefix: string, spec: object = {}, name = "cowboys") {
  return {
    apiVersion: "apis.kcp.io/v1alpha2",
    kind: "APIExport",
    metadata: { name },
    spec: {
      resources: [
        { name: "cowboys", group: "wildwest.dev", schema: `${prefix}.cowboys.wildwest.dev` },
      ],
      ...spec,
    },
  };
}

export async function offer(test: TestServer, cluster: string, spec: object = {}): Promise<void> {
  const body = cowboySchema("today");
  await test.requestOk("POST", `${apis(cluster, "v1alpha1")}/apiresourceschemas`, {
    ...masters,
    body,
  });
  const exported = cowboyExport("today", spec);
  await test.requestOk("POST", `${apis(cluster)}/apiexports`, { ...masters, body: exported });
  await flushPendingWork(test);
}

export function bindingTo(provider: string, name = "cowboys", permissionClaims: object[] = []) {
  return {
    apiVersion: "apis.kcp.io/v1alpha2",
    kind: "APIBinding",
    metadata: { name },
    spec: { reference: { export: { path: provider, name: "cowboys" } }, permissionClaims },
  };
}

export function bind(
  test: TestServer,
  consumer: string,
  provider: string,
  name = "cowboys",
  permissionClaims: object[] = [],
): Promise<AnyObject> {
  const body = bindingTo(provider, name, permissionClaims);
  return test.requestOk("POST", `${apis(consumer)}/apibindings`, { ...masters, body });
}

export function binding(test: TestServer, consumer: string, name = "cowboys"): Promise<AnyObject> {
  return test.requestOk("GET", `${apis(consumer)}/apibindings/${name}`, masters);
}

export function cowboy(name: string, spec: object = { intent: "ride" }) {
  return { apiVersion: "wildwest.dev/v1alpha1", kind: "Cowboy", metadata: { name }, spec };
}
