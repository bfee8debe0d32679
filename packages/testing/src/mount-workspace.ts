/** For tests: a workspace that another server serves, and the mount object with its address. */
import assert from "node:assert/strict";
import { type Client, type DynamicObject, defineResource } from "@kcp-ts/sdk";
import { eventually } from "@kcp-ts/testkit";

const clusterScoped = (group: string, version: string, resource: string, kind: string) =>
  defineResource<DynamicObject>({ group, version, resource, kind, namespaced: false });

const places = clusterScoped("mounts.example.com", "v1", "places", "RequestedObject");
const workspaces = clusterScoped("tenancy.kcp.io", "v1alpha1", "workspaces", "Workspace");
const definitions = clusterScoped(
  ...(["apiextensions.k8s.io", "v1"] as const),
  ...(["customresourcedefinitions", "CustomResourceDefinition"] as const),
);

const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const placeDefinition = {
  metadata: { name: "places.mounts.example.com" },
  spec: {
    group: places.group,
    names: { plural: "places", singular: "place", kind: "RequestedObject", listKind: "PlaceList" },
    scope: "Cluster",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", properties: { status: open } } },
      },
    ],
  },
};

/** Creates a workspace of this name whose requests go to the address, and waits until they do. */
export async function mountWorkspace(client: Client, name: string, url: string): Promise<void> {
  const { metadata } = placeDefinition;
  if ((await client.resource(definitions).find(metadata)) === undefined)
    await client.resource(definitions).create(placeDefinition as never);
  const place = { metadata: { name }, status: { phase: "Ready", URL: url } };
  await eventually(async () => void (await client.resource(places).create(place)));
  const ref = { apiVersion: "mounts.example.com/v1", kind: "RequestedObject", name };
  await client
    .resource(workspaces)
    .create({ metadata: { name }, spec: { mount: { ref } } } as never);
  await eventually(async () => {
    const { status } = await client.resource(workspaces).get({ name });
    assert.equal((status as { phase?: string } | undefined)?.phase, "Ready");
  });
}
