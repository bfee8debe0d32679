/**
 * Clusters by ClusterProfiles of `multicluster.x-k8s.io` (KEP-4322), as managers of clusters write
 * them. How to log in is either a provider that the profile names and this program knows
 * (KEP-5339), or a Secret with a kubeconfig beside the profile.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { defineResource, type KubernetesObject } from "../client/index.ts";
import type { Clusters } from "../controller/index.ts";
import { secrets } from "../kinds/index.ts";
import { connect, parseKubeconfig } from "../kubeconfig/index.ts";
import {
  type ClusterAccess,
  FollowedClusters,
  type InventoryOptions,
} from "./followed-clusters.ts";
import { inlineAccess } from "./kubeconfig-clusters.ts";

export interface ClusterProfile extends KubernetesObject {
  readonly spec: {
    readonly displayName?: string;
    readonly clusterManager: { readonly name: string };
  };
  readonly status?: {
    readonly version?: { readonly kubernetes?: string };
    readonly properties?: readonly { readonly name: string; readonly value: string }[];
    readonly accessProviders?: readonly AccessProvider[];
    /** The name of the field in the first versions. */
    readonly credentialProviders?: readonly AccessProvider[];
  };
}

export interface AccessProvider {
  readonly name: string;
  /** As a cluster in a kubeconfig. */
  readonly cluster: JsonObject;
}

export const clusterProfiles = /* @__PURE__ */ defineResource<ClusterProfile>({
  group: "multicluster.x-k8s.io",
  version: "v1alpha1",
  resource: "clusterprofiles",
  kind: "ClusterProfile",
  namespaced: true,
});

export interface ProfiledClustersOptions extends InventoryOptions {
  /**
   * The user for clusters of each access provider, as in a kubeconfig: `{ exec: { apiVersion,
   * command, interactiveMode: "Never" } }`. Of the providers of a profile the first that is here is
   * used.
   */
  readonly providers?: Readonly<Record<string, JsonObject>>;
  /**
   * The name of this program as a consumer of the inventory. With it, also Secrets beside the
   * profiles, labelled `x-k8s.io/cluster-inventory-consumer: <consumer>` and
   * `x-k8s.io/cluster-profile: <name>`, with a kubeconfig under the key `Config`. Kubeconfigs from
   * there name no files and run no commands.
   */
  readonly consumer?: string;
}

const consumerLabel = "x-k8s.io/cluster-inventory-consumer";
const profileLabel = "x-k8s.io/cluster-profile";

export function profiledClusters(options: ProfiledClustersOptions): Clusters {
  const { namespace, labelSelector, providers = {}, consumer } = options;
  const clusters = new FollowedClusters(options);
  const { hub } = clusters;
  const profiles = hub.source(clusterProfiles, { selector: { namespace, labelSelector } });
  const kubeconfigs =
    consumer === undefined
      ? undefined
      : hub.source(secrets, {
          selector: { namespace, labelSelector: `${consumerLabel}=${consumer},${profileLabel}` },
          indexers: {
            profile: { values: ({ metadata }) => [metadata.labels?.[profileLabel] ?? ""] },
          },
        });
  const put = (key: Parameters<typeof profiles.store.get>[0]) =>
    clusters.put(clusters.nameOf(key), () => {
      const profile = profiles.store.get(key);
      if (profile === undefined || profile.metadata.deletionTimestamp !== undefined)
        return undefined;
      const secret = kubeconfigs?.store
        .byIndex("profile", { cluster: key.cluster, value: key.name })
        .find(({ metadata }) => metadata.namespace === key.namespace);
      const encoded = secret?.data?.["Config"];
      return providedAccess(profile, providers) ?? (encoded ? inlineAccess(encoded) : undefined);
    });
  profiles.addHandler({
    added: (_, { key }) => put(key),
    updated: (_, { key }) => put(key),
    deleted: (_, { key }) => put(key),
  });
  const ofSecret = (
    { metadata }: KubernetesObject,
    { key }: { readonly key: Parameters<typeof put>[0] },
  ) => put({ ...key, name: metadata.labels?.[profileLabel] ?? "" });
  kubeconfigs?.addHandler({ added: ofSecret, updated: ofSecret, deleted: ofSecret });
  return clusters;
}

/** Fields of a cluster that name no file of this machine. */
const inlineFields = [
  "server",
  "tls-server-name",
  "certificate-authority-data",
  "insecure-skip-tls-verify",
  "proxy-url",
  "disable-compression",
  "extensions",
];

function providedAccess(
  { status }: ClusterProfile,
  providers: Readonly<Record<string, JsonObject>>,
): ClusterAccess | undefined {
  const offered = [...(status?.accessProviders ?? []), ...(status?.credentialProviders ?? [])];
  const provider = offered.find(({ name }) => Object.hasOwn(providers, name));
  if (provider === undefined) return undefined;
  const given = Object.entries(provider.cluster);
  const cluster = Object.fromEntries(given.filter(([name]) => inlineFields.includes(name)));
  const text = JSON.stringify({
    "current-context": "profile",
    clusters: [{ name: "profile", cluster }],
    // From this program, and so trusted.
    users: [{ name: "profile", user: providers[provider.name] }],
    contexts: [{ name: "profile", context: { cluster: "profile", user: "profile" } }],
  });
  return {
    fingerprint: text,
    connect: () => connect(parseKubeconfig(text, { trust: { resolvePath: (path) => path } })),
  };
}
