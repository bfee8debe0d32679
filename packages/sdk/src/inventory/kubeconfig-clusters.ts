/** Clusters by kubeconfigs: the contexts of one, or one Secret for each. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { ClusterSet, type ClusterSetOptions, type Clusters } from "../controller/index.ts";
import { type Secret, secrets } from "../kinds/index.ts";
import { type Connection, connect, type Kubeconfig, parseKubeconfig } from "../kubeconfig/index.ts";
import { FollowedClusters, type InventoryOptions } from "./followed-clusters.ts";

export interface KubeconfigClustersOptions extends ClusterSetOptions {
  readonly kubeconfig: Kubeconfig;
  /** Of its contexts; all if omitted. */
  readonly contexts?: readonly string[];
}

/** The clusters of a kubeconfig, under the names of its contexts. Close it to close connections. */
export function kubeconfigClusters(
  options: KubeconfigClustersOptions,
): ClusterSet & { close(): Promise<void> } {
  const { kubeconfig, contexts = [...kubeconfig.contexts.keys()], ...rest } = options;
  const connections: Connection[] = [];
  const set = new ClusterSet(rest);
  for (const context of contexts) {
    const connection = connect(kubeconfig, { context });
    connections.push(connection);
    // A name in this process: it is part of no path.
    set.addCluster(context as ClusterName, connection.client);
  }
  return Object.assign(set, {
    async close() {
      await Promise.all(connections.map((one) => one.close()));
    },
  });
}

export interface KubeconfigSecretsOptions extends InventoryOptions {
  /** The key of the Secret's data; `kubeconfig` if omitted. */
  readonly key?: string;
}

/** The label of multicluster-runtime's provider of kubeconfigs. */
const kubeconfigLabel = "sigs.k8s.io/multicluster-runtime-kubeconfig=true";

/**
 * Clusters whose kubeconfigs are in Secrets of a hub, labelled
 * `sigs.k8s.io/multicluster-runtime-kubeconfig: "true"` unless another selector is given. A
 * kubeconfig from there names no files and runs no commands.
 */
export function kubeconfigSecrets(options: KubeconfigSecretsOptions): Clusters {
  const { key = "kubeconfig", namespace, labelSelector = kubeconfigLabel } = options;
  const clusters = new FollowedClusters(options);
  const put = (secret: Secret) =>
    clusters.put(clusters.nameOf(keyOf(secret)), () => {
      const encoded = secret.data?.[key];
      return encoded === undefined ? undefined : inlineAccess(encoded);
    });
  clusters.hub
    .source(secrets, { selector: { namespace, labelSelector } })
    .addHandler({
      added: put,
      updated: put,
      deleted: (_, { key: gone }) => clusters.put(clusters.nameOf(gone), () => undefined),
    });
  return clusters;
}

export function inlineAccess(encoded: string) {
  return {
    fingerprint: encoded,
    connect: () =>
      connect(
        parseKubeconfig(Buffer.from(encoded, "base64").toString("utf8"), { trust: "inline" }),
      ),
  };
}

function keyOf({ metadata: { namespace = "", name } }: Secret) {
  return { namespace, name };
}
