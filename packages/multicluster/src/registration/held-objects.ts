/**
 * The objects that a SyncTarget holds by its finalizer, in its own logical cluster and in all
 * logical clusters that use it: copies of them are, or may be, in its cluster.
 */
import { isStatusError, type StatusReason } from "@kcp-ts/machinery/status";
import {
  type Client,
  clusterAnnotation,
  type KubernetesObject,
  type Resource,
  stringMember,
} from "@kcp-ts/sdk";
import { agentViewPath } from "../agent/index.ts";
import {
  registrationFieldManager,
  resourcesOfTarget,
  type SyncTarget,
  syncerFinalizer,
  targetNameIn,
} from "../api/index.ts";
import { releasePatch, type TargetIdentity } from "../syncer/index.ts";

export interface HeldObject {
  readonly object: KubernetesObject;
  /** Removes the finalizer: the copy in the cluster stays there, and is no longer managed. */
  release(): Promise<void>;
}

export interface HeldObjectsOptions {
  /** A client of the SyncTarget's logical cluster that may do everything. */
  readonly client: Client;
  readonly target: SyncTarget;
  readonly cluster: string;
  readonly signal: AbortSignal;
}

/** The objects of all resources that were synced, one at a time, because there may be many. */
export async function* heldObjects(options: HeldObjectsOptions): AsyncGenerator<HeldObject> {
  const { client, target, signal } = options;
  for (const resource of await resourcesOfTarget(client, target, signal))
    yield* heldOf(resource, options);
}

async function* heldOf(
  resource: Resource,
  { client, target: { metadata }, cluster: home, signal }: HeldObjectsOptions,
): AsyncGenerator<HeldObject> {
  const target = { cluster: home, name: metadata.name, uid: metadata.uid ?? "" };
  const own: HeldObjectLookup = { listed: client, inCluster: () => client, absences: ["NotFound"] };
  yield* heldIn(own, resource, target, signal);
  const view = client.withBasePath(agentViewPath(target));
  const shared: HeldObjectLookup = {
    listed: view.inCluster("*"),
    inCluster: (cluster) => view.inCluster(cluster),
    // Where no other logical cluster may use the SyncTarget, the view of other logical clusters
    // does not exist.
    absences: ["NotFound", "Forbidden"],
  };
  yield* heldIn(shared, resource, target, signal);
}

interface HeldObjectLookup {
  readonly listed: Client;
  readonly inCluster: (cluster: string) => Client;
  /** The errors that mean that there are no objects: an API that is not served has none. */
  readonly absences: readonly StatusReason[];
}

async function* heldIn(
  { listed, inCluster, absences }: HeldObjectLookup,
  resource: Resource,
  target: TargetIdentity,
  signal: AbortSignal,
): AsyncGenerator<HeldObject> {
  try {
    for await (const { items } of listed
      .resource<KubernetesObject>(resource as never)
      .pages({ signal })) {
      for (const object of items) {
        const { metadata } = object;
        const cluster = stringMember(metadata.annotations, clusterAnnotation) ?? target.cluster;
        const targetName = targetNameIn(cluster, target);
        if (metadata.finalizers?.includes(syncerFinalizer(targetName)) !== true) continue;
        const patch = releasePatch(metadata, targetName);
        const release = async () => {
          if (patch === undefined) return;
          const owner = inCluster(cluster).resource<KubernetesObject>(resource as never);
          try {
            const options = { fieldManager: registrationFieldManager, signal };
            await owner.sameVersion(object).mergePatch(patch, options);
          } catch (error) {
            if (!isStatusError(error, "NotFound")) throw error;
          }
        };
        yield { object, release };
      }
    }
  } catch (error) {
    if (!absences.some((reason) => isStatusError(error, reason))) throw error;
  }
}

/** A description of one held object, for a message. */
export async function describeHeldObject(
  options: HeldObjectsOptions,
  isMeant: (object: KubernetesObject) => boolean = () => true,
): Promise<string | undefined> {
  for await (const { object } of heldObjects(options)) {
    if (!isMeant(object)) continue;
    const { namespace = "", name } = object.metadata;
    return `${object.kind ?? "the object"} ${namespace}/${name}`;
  }
  return undefined;
}
