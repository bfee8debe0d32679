/**
 * The garbage collector's writes. Each carries the version of the object for which it was decided,
 * and is rejected if that is no longer the newest.
 */
import type { JsonValue } from "@kcp-ts/machinery/json";
import type { Client, ObjectMeta, ObjectName, OwnerReference, Patch } from "@kcp-ts/sdk";
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
  const { uid, resourceVersion } = node;
  await client
    .resource(node.resource)
    .delete(targetOf(node), { propagationPolicy, preconditions: { uid, resourceVersion }, signal });
}

/** Returns the version that was written. */
export async function writeOwners(
  node: GraphNode,
  owners: readonly OwnerReference[],
  { client, signal }: WriteContext,
): Promise<string> {
  const written = await client
    .resource(node.resource)
    .patch(targetOf(node), ownerReferencesPatch(node, owners), { signal });
  return written.metadata.resourceVersion ?? "";
}

export async function removeFinalizer(
  node: GraphNode,
  finalizer: string,
  { client, signal }: WriteContext,
): Promise<void> {
  const finalizers = node.finalizers.filter((one) => one !== finalizer);
  const { uid, resourceVersion } = node;
  const patch = { metadata: { uid, resourceVersion, finalizers } };
  await client.resource(node.resource).patch(targetOf(node), { type: "merge", patch }, { signal });
}

export function ownerReferencesPatch(
  { uid, resourceVersion }: Pick<ObjectMeta, "uid" | "resourceVersion">,
  owners: readonly OwnerReference[],
): Patch {
  const metadata = { uid, resourceVersion, ownerReferences: owners };
  return { type: "merge", patch: { metadata } as unknown as JsonValue };
}

function targetOf({ namespace, name }: GraphNode): ObjectName {
  return namespace === "" ? { name } : { namespace, name };
}
