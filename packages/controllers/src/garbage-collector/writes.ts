/**
 * The garbage collector's writes. Each carries the version of the object for which it was decided,
 * and is rejected if that is no longer the newest.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { Client, OwnerReference } from "@kcp-ts/sdk";
import type { Propagation } from "./decision.ts";
import type { GraphNode } from "./graph-node.ts";

export interface WriteContext {
  /** The client of the node's cluster. */
  readonly client: Client;
  readonly signal: AbortSignal;
}

export async function deleteNode(
  node: GraphNode,
  propagationPolicy: Propagation,
  { client, signal }: WriteContext,
): Promise<void> {
  await client
    .resource(node.resource)
    .sameVersion({ metadata: node })
    .remove({ propagationPolicy, signal });
}

/** Returns the version that was written. */
export async function writeOwners(
  node: GraphNode,
  owners: readonly OwnerReference[],
  { client, signal }: WriteContext,
): Promise<string> {
  const written = await client
    .resource(node.resource)
    .sameVersion({ metadata: node })
    .mergePatch(ownerReferencesPatch(owners), { signal });
  return written.metadata.resourceVersion ?? "";
}

export async function removeFinalizer(
  node: GraphNode,
  finalizer: string,
  { client, signal }: WriteContext,
): Promise<void> {
  const finalizers = node.finalizers.filter((one) => one !== finalizer);
  await client
    .resource(node.resource)
    .sameVersion({ metadata: node })
    .mergePatch({ metadata: { finalizers } }, { signal });
}

export function ownerReferencesPatch(owners: readonly OwnerReference[]): JsonObject {
  return { metadata: { ownerReferences: owners } } as unknown as JsonObject;
}
