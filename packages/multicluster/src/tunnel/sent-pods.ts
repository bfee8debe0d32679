/** What is stored of Pods that were made in a logical cluster and sent elsewhere: their parts, the SyncTargets of those, and the containers that were added there. */
import type { JsonValue } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type Client, defineResource, type KubernetesObject } from "@kcp-ts/sdk";
import { ownedByLabel, syncTargets } from "../api/index.ts";
import { workloadUidOf } from "./pod-places.ts";

const pods = defineResource<KubernetesObject>({
  ...{ group: "", version: "v1", resource: "pods", kind: "Pod", namespaced: true },
});
/** Of the value of a label; longer names stand there shortened. */
const labelCharactersMax = 63;

export class DownsyncedPods {
  readonly #client: () => Client;

  /** `client` may do everything. */
  constructor(client: () => Client) {
    this.#client = client;
  }

  async partsOf(
    cluster: ClusterName,
    { metadata }: KubernetesObject,
    signal: AbortSignal,
  ): Promise<readonly KubernetesObject[]> {
    const { name, namespace = "", uid } = metadata;
    const labelSelector =
      name.length <= labelCharactersMax ? `${ownedByLabel}=${name}` : ownedByLabel;
    const parts: KubernetesObject[] = [];
    const found = this.#pods(cluster).pages({ namespace, labelSelector, signal });
    for await (const { items } of found)
      parts.push(...items.filter((part) => workloadUidOf(part) === uid));
    return parts;
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

  /** On the whole, which its parts are made like; the syncer does not send them, since they can only be added in the cluster. */
  async showContainers(
    cluster: ClusterName,
    pod: KubernetesObject,
    containers: readonly JsonValue[],
    signal: AbortSignal,
  ): Promise<void> {
    const { name, namespace = "" } = pod.metadata;
    const uid = workloadUidOf(pod);
    const whole = pod.metadata.ownerReferences?.find((one) => one.uid === uid)?.name ?? name;
    const shown = { uid: uid ?? pod.metadata.uid ?? "" };
    await this.#pods(cluster).patch(
      { namespace, name: whole },
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
