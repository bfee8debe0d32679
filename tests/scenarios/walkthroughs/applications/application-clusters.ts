/**
 * For the test of applications: physical clusters, and where in them the objects of a namespace of
 * the control plane are.
 */
import type { Manifest } from "@kcp-ts/controlplane";
import { namespaceLocatorAnnotation } from "@kcp-ts/multicluster";
import type { Client, KubernetesObject } from "@kcp-ts/sdk";
import { namespaces } from "@kcp-ts/sdk/kinds";
import { type Pod, pods } from "@kcp-ts/testing/internal";
import type { TestCluster } from "../../test-environments/index.ts";
import { resourceOf } from "./resource-of.ts";

export interface Found<Object> {
  readonly cluster: string;
  readonly object: Object;
}

export class ApplicationClusters {
  readonly clusters: readonly TestCluster[];
  readonly nodesEach: number;

  constructor(clusters: readonly TestCluster[], nodesEach: number) {
    this.clusters = clusters;
    this.nodesEach = nodesEach;
  }

  /** The object of this name, and its parts. */
  async find<Object extends KubernetesObject>(
    namespace: string,
    manifest: Manifest,
  ): Promise<readonly Found<Object>[]> {
    const { name } = manifest["metadata"] as unknown as { name: string };
    const found: Found<Object>[] = [];
    for (const { name: cluster, client } of this.clusters) {
      for (const place of await this.#placesOf(cluster, namespace)) {
        const { items } = await client
          .resource(resourceOf<Object>(manifest))
          .list({ namespace: place });
        for (const object of items) {
          const isIt = object.metadata.name === name;
          if (isIt || object.metadata.name === `${name}--${cluster}`)
            found.push({ cluster, object });
        }
      }
    }
    return found;
  }

  /** A Pod that runs, with the client of its cluster. */
  async podOf(
    namespace: string,
    labelSelector: string,
  ): Promise<{ readonly client: Client; readonly object: Pod } | undefined> {
    for (const { name: cluster, client } of this.clusters) {
      for (const place of await this.#placesOf(cluster, namespace)) {
        const { items } = await client.resource(pods).list({ namespace: place, labelSelector });
        const object = items.find(({ status }) => status?.phase === "Running");
        if (object !== undefined) return { client, object };
      }
    }
    return undefined;
  }

  async #placesOf(cluster: string, namespace: string): Promise<readonly string[]> {
    const { client } = this.clusters.find(({ name }) => name === cluster) as TestCluster;
    const { items } = await client.resource(namespaces).list({});
    return items.flatMap(({ metadata }) => {
      const text = metadata.annotations?.[namespaceLocatorAnnotation];
      const locator = text === undefined ? {} : (JSON.parse(text) as { namespace?: string });
      return locator.namespace === namespace ? [metadata.name] : [];
    });
  }
}
