/**
 * Creates the objects of a copy by snapshot, one step in each reconcile, and deletes objects of
 * copies that are no longer requested. Snapshots in the storage are kept: all of their objects have
 * the policy `Retain`.
 */
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Client, Resource } from "@kcp-ts/sdk";
import { clusterLabel } from "../api/index.ts";
import type { VolumesInput } from "./decide-volumes.ts";
import { type StoredObject, volumeSnapshotContents, volumeSnapshots } from "./objects.ts";
import {
  newDestinationContent,
  newDestinationSnapshot,
  newSourceSnapshot,
  obsoleteSnapshots,
  snapshotStep,
} from "./snapshot-steps.ts";
import { snapshotTransferOf } from "./snapshot-transfer.ts";
import type { VolumeCopyRequest } from "./volume-copies.ts";
import type { FoundClaim, VolumeCluster } from "./volume-writes.ts";

export interface SnapshotWritesOptions extends Pick<VolumesInput, "storageOf"> {
  /** A client of the claims' logical cluster. */
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly clusters: (target: string) => VolumeCluster | undefined;
  /** Clients of the logical clusters that have contents of copies. */
  readonly computeWorkspaces: readonly Client[];
}

export class SnapshotWrites {
  readonly #options: SnapshotWritesOptions;

  constructor(options: SnapshotWritesOptions) {
    this.#options = options;
  }

  /** The request is on the claim already, so another process continues with the same request. */
  async advance(
    { object, claim, snapshots }: FoundClaim,
    request: VolumeCopyRequest,
  ): Promise<void> {
    const { storageOf, client, signal, clusters } = this.#options;
    if (snapshots === undefined || request.failure !== undefined) return;
    const journey = { source: request.from, destination: request.to };
    const way = snapshotTransferOf(claim, journey, storageOf === undefined ? {} : { storageOf });
    if (way === undefined || !("driver" in way)) return;
    const step = snapshotStep(request, object, snapshots);
    const own = client.resource(volumeSnapshots);
    if (step.to === "take") {
      await unlessThere(() => own.create(newSourceSnapshot(object, request, way), { signal }));
    } else if (step.to === "offer") {
      const there = clusters(request.to);
      // The cluster is not registered any more: the next reconcile reports it.
      if (there === undefined) return;
      const { name, namespace } = there;
      const labels = { [clusterLabel]: name };
      const content = newDestinationContent(object, request, way, {
        handle: step.handle,
        namespace,
        labels,
      });
      const contents = there.client.resource(volumeSnapshotContents);
      await unlessThere(() => contents.create(content, { signal }));
      await unlessThere(() => own.create(newDestinationSnapshot(object, request, way), { signal }));
    }
  }

  /** Deletes the objects of copies that are no longer requested. */
  async deleteObsolete(
    { snapshots }: FoundClaim,
    request: VolumeCopyRequest | undefined,
  ): Promise<void> {
    if (snapshots === undefined) return;
    const { client, computeWorkspaces } = this.#options;
    for (const one of obsoleteSnapshots(snapshots.snapshots, request))
      await this.#remove(client, volumeSnapshots, one);
    for (const one of obsoleteSnapshots(snapshots.contents, request))
      for (const home of computeWorkspaces) await this.#remove(home, volumeSnapshotContents, one);
  }

  async #remove(
    client: Client,
    resource: Resource<StoredObject>,
    object: StoredObject,
  ): Promise<void> {
    try {
      const { signal } = this.#options;
      await client.resource(resource).sameObject(object).remove({ signal });
    } catch (error) {
      const isAnother = isStatusError(error, "NotFound") || isStatusError(error, "Conflict");
      if (!isAnother) throw error;
    }
  }
}

async function unlessThere(create: () => Promise<unknown>): Promise<void> {
  try {
    await create();
  } catch (error) {
    if (!isStatusError(error, "AlreadyExists")) throw error;
  }
}
