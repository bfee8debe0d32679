/**
 * For tests of traffic on a stopped clock, without API import and syncers: the kinds, and the
 * objects that syncers would create.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { syncerFieldManager } from "@kcp-ts/multicluster";
import { type Client, type DynamicObject, defineResource } from "@kcp-ts/sdk";
import { customResourceDefinitions } from "@kcp-ts/sdk/kinds";
import { endpointSlices, namespace } from "./traffic-fixture.ts";

/** Services, EndpointSlices and Deployments, of whatever shape. */
export async function defineTrafficKinds(client: Client): Promise<void> {
  await defineKinds(client, [
    ["", "services", "Service"],
    ["discovery.k8s.io", "endpointslices", "EndpointSlice"],
    ["apps", "deployments", "Deployment"],
  ]);
}

/** By group, resource and kind. */
export async function defineKinds(
  client: Client,
  kinds: readonly (readonly [string, string, string])[],
): Promise<void> {
  for (const [group, resource, kind] of kinds)
    await client.resource(definitions).create(definition(group, resource, kind));
}

const definitions = defineResource<DynamicObject>(customResourceDefinitions);

function definition(group: string, resource: string, kind: string) {
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const approved = { "api-approved.kubernetes.io": "unapproved, for a test" };
  const version: JsonObject = {
    name: "v1",
    served: true,
    storage: true,
    schema: { openAPIV3Schema: anything },
    subresources: { status: {} },
  };
  return {
    metadata: { name: `${resource}.${group === "" ? "core" : group}`, annotations: approved },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: resource, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [version],
    },
  };
}

/** A slice with one endpoint, as a syncer copies it up. */
export async function createUpsyncedSlice(client: Client, cluster: string): Promise<void> {
  const options = { fieldManager: syncerFieldManager };
  await client.resource(endpointSlices).create(copyOf(cluster) as never, options);
}

function copyOf(cluster: string) {
  const labels = {
    "kubernetes.io/service-name": "web",
    [`state.workload.kcp.io/${cluster}`]: "Upsync",
  };
  return {
    metadata: { name: `web-1--${cluster}`, namespace, labels },
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: true } }],
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  };
}
