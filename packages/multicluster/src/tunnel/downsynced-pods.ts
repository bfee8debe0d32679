/**
 * The stored state of Pods that were created in a logical cluster and synced down: their
 * per-cluster objects, the SyncTargets of these, and ephemeral containers that were added in the
 * cluster.
 */
import type { JsonValue } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Client, KubernetesObject } from "@kcp-ts/sdk";
import { pods } from "@kcp-ts/sdk/kinds";
import { ownedByLabel, syncTargets } from "../api/index.ts";
import { workloadUidOf } from "./pod-location.ts";

/** The limit of a label value; longer names are shortened there. */
const labelCharactersMax = 63;

export class DownsyncedPods {
  readonly #client: () => Client;

  /** `client` may do everything. */
  constructor(client: () => Client) {
    this.#client = client;
  }

  async copiesOf(
    cluster: ClusterName,
    { metadata }: KubernetesObject,
    signal: AbortSignal,
  ): Promise<readonly KubernetesObject[]> {
    const { name, namespace = "", uid } = metadata;
    const labelSelector =
      name.length <= labelCharactersMax ? `${ownedByLabel}=${name}` : ownedByLabel;
    const copies: KubernetesObject[] = [];
    const found = this.#pods(cluster).pages({ namespace, labelSelector, signal });
    for await (const { items } of found)
      copies.push(...items.filter((copy) => workloadUidOf(copy) === uid));
    return copies;
  }

  async targetUid(
    { cluster, name }: { readonly cluster: ClusterName; readonly name: string },
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const found = await this.#client()
      .inCluster(cluster)
      .resource(syncTargets)
      .find({ name }, { signal });
    return found?.metadata.uid;
  }

  /**
   * Writes the containers to the upstream Pod, which its per-cluster objects are created from; the
   * syncer does not sync them down, because they can only be added in the cluster.
   */
  async showContainers(
    cluster: ClusterName,
    pod: KubernetesObject,
    containers: readonly JsonValue[],
    signal: AbortSignal,
  ): Promise<void> {
    const { name, namespace = "" } = pod.metadata;
    const uid = workloadUidOf(pod);
    const workload = pod.metadata.ownerReferences?.find((one) => one.uid === uid)?.name ?? name;
    const shown = { uid: uid ?? pod.metadata.uid ?? "" };
    await this.#pods(cluster).patch(
      { namespace, name: workload },
      {
        type: "merge",
        patch: { metadata: shown, spec: { ephemeralContainers: [...containers] } },
      },
      { signal },
    );
  }

  #pods(cluster: ClusterName) {
    return this.#client().inCluster(cluster).resource(pods);
  }
}
