/**
 * Writes whose response is not parsed: controllers observe the result through their caches. Parsing
 * the response is a large part of the cost of a write in the same process.
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

/** Rejected when the object has changed since it was read. */
export async function writeStatus<Object extends KubernetesObject & { readonly status?: unknown }>(
  client: Client,
  resource: Resource<Object>,
  { metadata }: Object,
  status: NonNullable<Object["status"]>,
): Promise<void> {
  const { name, namespace } = metadata;
  const path = resourcePath(resource, { name, namespace, subresource: "status" });
  // Real servers accept labels and annotations in status writes of some kinds: omitted ones would
  // be removed.
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
