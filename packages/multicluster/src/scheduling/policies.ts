/** The policy for a workload from what is watched: Placements, Locations, and the labels of namespaces. */
import { type ClusterName, parseClusterName, rootCluster } from "@kcp-ts/machinery/names";
import {
  type Clusters,
  type Condition,
  clusterOf,
  defineResource,
  findCondition,
  type KubernetesObject,
  type ObjectStore,
  type StringMap,
} from "@kcp-ts/sdk";
import {
  globalPlacement,
  type Location,
  locations,
  namespaceScheduledCondition,
  type Placement,
  placementAnnotation,
  placements,
} from "../api/index.ts";
import {
  builtIn,
  type Level,
  type Policy,
  policyOf,
  selectsLocation,
  statementsFor,
} from "./policy.ts";

/** What of a namespace matters here. */
export interface NamespaceFacts {
  readonly name: string;
  readonly labels: StringMap;
  /** That it is assigned by Placements. */
  readonly isAnnotated: boolean;
  readonly isDeleting: boolean;
  /** Its condition NamespaceScheduled. */
  readonly scheduled: Condition | undefined;
}

export interface Namespace extends KubernetesObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export const namespaces = defineResource<Namespace>({
  group: "",
  version: "v1",
  resource: "namespaces",
  kind: "Namespace",
  namespaced: false,
});

export function namespaceFacts({ metadata, status }: Namespace): NamespaceFacts {
  return {
    name: metadata.name,
    labels: metadata.labels ?? {},
    isAnnotated: metadata.annotations?.[placementAnnotation] !== undefined,
    isDeleting: metadata.deletionTimestamp !== undefined,
    scheduled: findCondition(status?.conditions, namespaceScheduledCondition),
  };
}

export interface PolicyStores {
  readonly placements: ObjectStore<Placement>;
  readonly locations: ObjectStore<Location>;
  /** Without ordinary ones of workspaces that had no Placement when they last changed. */
  readonly namespaces: ObjectStore<NamespaceFacts>;
}

/** What every namespace has, whoever made it. */
function ordinaryLabels(name: string): StringMap {
  return { [nameLabel]: name };
}

const nameLabel = "kubernetes.io/metadata.name";

/** Nothing but its name is to be known of it. */
export function isOrdinary(namespace: Namespace): boolean {
  const { name, labels, isAnnotated, isDeleting, scheduled } = namespaceFacts(namespace);
  return (
    !isAnnotated &&
    !isDeleting &&
    scheduled === undefined &&
    labels[nameLabel] === name &&
    Object.keys(labels).length === 1
  );
}

/** Under "": all of a logical cluster, without walking those of all others. */
export const ofCluster = { "of-cluster": { values: () => [""] } };

export function allIn<Cached>(store: ObjectStore<Cached>, cluster: ClusterName): Cached[] {
  return store.byIndex("of-cluster", { cluster, value: "" });
}

/**
 * All who watch namespaces through the same clusters have to do it by this. Of those that are like all others nothing is kept: most workspaces have no Placement,
 * and there may be very many of them. Where there is one, they are told of, so that who has to know all of them can list them.
 */
export function watchedNamespaces(clusters: Clusters) {
  const { store } = clusters.source<Placement>(placements, { indexers: ofCluster });
  return {
    transform: namespaceFacts,
    keep: (namespace: Namespace) => {
      if (!isOrdinary(namespace)) return true;
      const cluster = clusterOf(namespace);
      return cluster === undefined || allIn(store, cluster).length > 0;
    },
    indexers: ofCluster,
  };
}

export function policyStores(clusters: Clusters): PolicyStores {
  return {
    placements: clusters.source<Placement>(placements, { indexers: ofCluster }).store,
    locations: clusters.source<Location>(locations, { indexers: ofCluster }).store,
    namespaces: clusters.source<Namespace, NamespaceFacts>(namespaces, watchedNamespaces(clusters))
      .store,
  };
}

/** Where Placements, Locations and namespaces are known from. */
export interface PolicyFacts {
  placementsIn(cluster: ClusterName): readonly Placement[];
  placement(cluster: ClusterName, name: string): Placement | undefined;
  locationsIn(cluster: ClusterName): readonly Location[];
  /** Undefined for a namespace that is not known. */
  namespaceLabels(cluster: ClusterName, namespace: string): StringMap | undefined;
}

export function watchedFacts(stores: PolicyStores): PolicyFacts {
  return {
    placementsIn: (cluster) => allIn(stores.placements, cluster),
    placement: (cluster, name) => stores.placements.get({ cluster, namespace: "", name }),
    locationsIn: (cluster) => allIn(stores.locations, cluster),
    namespaceLabels: (cluster, name) =>
      stores.namespaces.get({ cluster, namespace: "", name })?.labels ?? ordinaryLabels(name),
  };
}

export interface PolicyKey {
  readonly cluster: ClusterName;
  readonly namespace: string;
  readonly labels: StringMap;
}

export class Policies {
  readonly #facts: PolicyFacts;

  constructor(facts: PolicyFacts) {
    this.#facts = facts;
  }

  policyFor({ cluster, namespace, labels: workloadLabels }: PolicyKey): Policy {
    const own = this.placementsOf(cluster);
    const global = this.globalPlacement();
    if (own.length === 0 && global === undefined) return builtIn;
    const namespaceLabels = this.#facts.namespaceLabels(cluster, namespace) ?? {};
    const located = (placement: Placement, level: Level) =>
      this.#locationsOf(cluster, placement, level);
    return policyOf(statementsFor({ namespaceLabels, workloadLabels }, own, global, located));
  }

  placementsOf(cluster: ClusterName): readonly Placement[] {
    return this.#facts.placementsIn(cluster);
  }

  globalPlacement(): Placement | undefined {
    return this.#facts.placement(rootCluster, globalPlacement.name);
  }

  /** The Placement of all has no status for each workspace: whatever it selects there is meant. */
  #locationsOf(cluster: ClusterName, placement: Placement, level: Level): readonly Location[] {
    if (level === "global")
      return this.#facts
        .locationsIn(cluster)
        .filter((location) => selectsLocation(placement, location));
    const { selectedLocation } = placement.status ?? {};
    if (selectedLocation === undefined) return [];
    const { path, locationName } = selectedLocation;
    const home = parseClusterName(path);
    const all = home === undefined ? [] : this.#facts.locationsIn(home);
    return all.filter(({ metadata }) => metadata.name === locationName);
  }
}
