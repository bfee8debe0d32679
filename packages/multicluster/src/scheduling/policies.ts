/** The policy for a workload from what is watched: Placements, Locations, and the labels of namespaces. */
import { type ClusterName, parseClusterName, rootCluster } from "@kcp-ts/machinery/names";
import {
  type Clusters,
  type Condition,
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
  readonly namespaces: ObjectStore<NamespaceFacts>;
}

/** Under "": all of a logical cluster, without walking those of all others. */
export const ofCluster = { "of-cluster": { values: () => [""] } };

export function allIn<Cached>(store: ObjectStore<Cached>, cluster: ClusterName): Cached[] {
  return store.byIndex("of-cluster", { cluster, value: "" });
}

/** All who watch these through the same clusters have to do it by this. */
export function policyStores(clusters: Clusters): PolicyStores {
  return {
    placements: clusters.source<Placement>(placements, { indexers: ofCluster }).store,
    locations: clusters.source<Location>(locations, { indexers: ofCluster }).store,
    namespaces: clusters.source<Namespace, NamespaceFacts>(namespaces, {
      transform: namespaceFacts,
      indexers: ofCluster,
    }).store,
  };
}

export interface PolicyKey {
  readonly cluster: ClusterName;
  readonly namespace: string;
  readonly labels: StringMap;
}

const globalKey = { cluster: rootCluster, namespace: "", name: globalPlacement.name };

export class Policies {
  readonly #stores: PolicyStores;

  constructor(stores: PolicyStores) {
    this.#stores = stores;
  }

  policyFor({ cluster, namespace, labels: workloadLabels }: PolicyKey): Policy {
    const own = this.placementsOf(cluster);
    const global = this.globalPlacement();
    if (own.length === 0 && global === undefined) return builtIn;
    const found = this.#stores.namespaces.get({ cluster, namespace: "", name: namespace });
    const subject = { namespaceLabels: found?.labels ?? {}, workloadLabels };
    const located = (placement: Placement, level: Level) =>
      this.#locationsOf(cluster, placement, level);
    return policyOf(statementsFor(subject, own, global, located));
  }

  placementsOf(cluster: ClusterName): readonly Placement[] {
    return allIn(this.#stores.placements, cluster);
  }

  globalPlacement(): Placement | undefined {
    return this.#stores.placements.get(globalKey);
  }

  /** The Placement of all has no status for each workspace: whatever it selects there is meant. */
  #locationsOf(cluster: ClusterName, placement: Placement, level: Level): readonly Location[] {
    if (level === "global")
      return allIn(this.#stores.locations, cluster).filter((location) =>
        selectsLocation(placement, location),
      );
    const { selectedLocation } = placement.status ?? {};
    if (selectedLocation === undefined) return [];
    const { path, locationName: name } = selectedLocation;
    const home = parseClusterName(path);
    const location = home && this.#stores.locations.get({ cluster: home, namespace: "", name });
    return location === undefined ? [] : [location];
  }
}
