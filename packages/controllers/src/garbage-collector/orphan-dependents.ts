/**
 * Orphans the dependents of an owner: removes the reference to the owner from each of them.
 *
 * Dependents are found by a list and not by the watches: a dependent that was missed would be
 * deleted as soon as its owner is deleted, which the owner's deletion asked to prevent.
 */
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  discover,
  type KubernetesObject,
  type PartialObjectMetadata,
  type Resource,
  type ResourceClient,
  retryOnConflict,
} from "@kcp-ts/sdk";
import { forEachConcurrently, type YieldTimer } from "../pace/index.ts";
import type { GraphNode } from "./graph-node.ts";
import { collectable } from "./resource-source.ts";
import { ownerReferencesPatch } from "./writes.ts";

export interface OrphanOptions {
  /** The client of the owner's cluster. */
  readonly client: Client;
  readonly pace: YieldTimer;
  readonly signal: AbortSignal;
}

const pageObjects = 250;
const patchesMax = 16;

export async function orphanDependents(owner: GraphNode, options: OrphanOptions): Promise<void> {
  const { client, signal } = options;
  const discovery = await discover(client, { signal });
  for (const failure of discovery.failures.values()) throw failure;
  for (const resource of collectable(discovery)) {
    // A namespaced object owns only objects of its namespace.
    if (owner.namespace !== "" && !resource.namespaced) continue;
    await orphanDependentsOfKind(resource, owner, options);
  }
}

async function orphanDependentsOfKind(
  resource: Resource,
  owner: GraphNode,
  { client, pace, signal }: OrphanOptions,
): Promise<void> {
  const objects = client.resource(resource);
  const namespace = owner.namespace === "" ? undefined : owner.namespace;
  let next: string | undefined;
  do {
    const page = await objects.listMetadata({
      namespace,
      limit: pageObjects,
      continue: next,
      signal,
    });
    const dependents = page.items.filter((one) => refersTo(one, owner.uid));
    await forEachConcurrently(dependents, { concurrency: patchesMax, pace, signal }, (one) =>
      release(one, owner.uid, client.resource(resource)),
    );
    next = page.metadata.continue;
  } while (next);
}

async function release(
  dependent: PartialObjectMetadata,
  ownerUid: string,
  objects: ResourceClient<KubernetesObject>,
): Promise<void> {
  const { name, namespace, uid } = dependent.metadata;
  const { clock, random } = objects.client;
  let latest: KubernetesObject | undefined = dependent;
  try {
    await retryOnConflict(
      async () => {
        latest ??= await objects.getMetadata({ namespace, name });
        const { metadata } = latest;
        latest = undefined;
        if (metadata.uid !== uid || !refersTo({ metadata }, ownerUid)) return;
        const owners = (metadata.ownerReferences ?? []).filter((one) => one.uid !== ownerUid);
        await objects.sameVersion({ metadata }).mergePatch(ownerReferencesPatch(owners));
      },
      { clock, random },
    );
  } catch (error) {
    if (!isStatusError(error, "NotFound")) throw error;
  }
}

function refersTo({ metadata }: Pick<KubernetesObject, "metadata">, uid: string): boolean {
  return metadata.ownerReferences?.some((one) => one.uid === uid) === true;
}
