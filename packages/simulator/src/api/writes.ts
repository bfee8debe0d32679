/**
 * Writes whose answer nobody needs to read: controllers see what became of them through their caches. A large part of what a write costs in the same
 * process is reading its answer.
 */
import type { JsonValue } from "@kcp-ts/machinery/json";
import {
  apiVersionOf,
  type Client,
  type KubernetesObject,
  type ObjectInput,
  type Resource,
  resourcePath,
} from "@kcp-ts/sdk";

/** Refused when the object is no longer the one that was read. */
export async function writeStatus<Object extends KubernetesObject & { readonly status?: unknown }>(
  client: Client,
  resource: Resource<Object>,
  { metadata }: Object,
  status: NonNullable<Object["status"]>,
): Promise<void> {
  const { name, namespace } = metadata;
  const path = resourcePath(resource, { name, namespace, subresource: "status" });
  // Real servers take labels and annotations from here for some kinds: what is left out would be removed.
  const { managedFields: _, ...kept } = metadata;
  const body = {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: kept,
    status,
  } as unknown as JsonValue;
  await client.send({ method: "PUT", path, body });
}

export async function createUnread<Object extends KubernetesObject>(
  client: Client,
  resource: Resource<Object>,
  object: ObjectInput<Object>,
): Promise<void> {
  const { namespace } = object.metadata;
  const body = {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    ...object,
  } as unknown as JsonValue;
  await client.send({ method: "POST", path: resourcePath(resource, { namespace }), body });
}
