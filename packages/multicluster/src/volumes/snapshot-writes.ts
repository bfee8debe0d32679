/** Makes the objects of a copy by snapshot, one step at a look, and takes away what is left of copies that nobody asks for any more. Snapshots themselves are kept: all that stands for them says `Retain`. */
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Client, Resource } from "@kcp-ts/sdk";
import { clusterLabel } from "../api/index.ts";
import type { VolumeCopyRequest } from "./copies.ts";
import type { VolumesInput } from "./decide-volumes.ts";
import { type StoredObject, volumeSnapshotContents, volumeSnapshots } from "./objects.ts";
import {
  newDestinationContent,
  newDestinationSnapshot,
  newSourceSnapshot,
  obsoleteSnapshots,
  snapshotStep,
} from "./snapshot-steps.ts";
import { snapshotTransferOf } from "./snapshot-way.ts";
import type { FoundClaim, VolumeCluster } from "./volume-writes.ts";

export interface SnapshotWritesOptions extends Pick<VolumesInput, "storageOf"> {
  /** Of the logical cluster of the claims. */
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly whereabouts: (target: string) => VolumeCluster | undefined;
  /** In which logical clusters contents are that were made for copies. */
  readonly homes: readonly Client[];
}

export class SnapshotWrites {
  readonly #options: SnapshotWritesOptions;

  constructor(options: SnapshotWritesOptions) {
    this.#options = options;
  }

  /** The request is on the claim already, so that whoever comes after us goes on with the same. */
  async advance(
    { object, facts, snapshots }: FoundClaim,
    request: VolumeCopyRequest,
  ): Promise<void> {
    const { storageOf, client, signal, whereabouts } = this.#options;
    if (snapshots === undefined || request.failure !== undefined) return;
    const journey = { home: request.from, destination: request.to };
    const way = snapshotTransferOf(facts, journey, storageOf === undefined ? {} : { storageOf });
    if (way === undefined || !("driver" in way)) return;
    const step = snapshotStep(request, object, snapshots);
    const own = client.resource(volumeSnapshots);
    if (step.to === "take") {
      await unlessThere(() => own.create(newSourceSnapshot(object, request, way), { signal }));
    } else if (step.to === "offer") {
      const there = whereabouts(request.to);
      // Not registered any more: who wanted it there is told otherwise by the next look.
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

  /** What nobody asks for any more. */
  async tidy({ snapshots }: FoundClaim, request: VolumeCopyRequest | undefined): Promise<void> {
    if (snapshots === undefined) return;
    const { client, homes } = this.#options;
    for (const one of obsoleteSnapshots(snapshots.snapshots, request))
      await this.#remove(client, volumeSnapshots, one);
    for (const one of obsoleteSnapshots(snapshots.contents, request))
      for (const home of homes) await this.#remove(home, volumeSnapshotContents, one);
  }

  async #remove(
    client: Client,
    resource: Resource<StoredObject>,
    { metadata: { name, namespace, uid = "" } }: StoredObject,
  ): Promise<void> {
    const at = { name, ...(namespace === undefined ? {} : { namespace }) };
    const options = { preconditions: { uid }, signal: this.#options.signal };
    try {
      await client.resource(resource).delete(at, options);
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
