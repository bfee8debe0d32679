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
import { type LocationInWorkspace, type LocationLimits, locationLimitsOf } from "./located.ts";
import {
  applicablePlacements,
  defaultPolicy,
  type Policy,
  type PolicyLevel,
  policyOf,
  selectsLocation,
} from "./policy.ts";

/** What of a namespace matters here. */
export interface NamespaceInfo {
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

export function namespaceInfoOf({ metadata, status }: Namespace): NamespaceInfo {
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
  readonly namespaces: ObjectStore<NamespaceInfo>;
}

/** What every namespace has, whoever made it. */
function ordinaryLabels(name: string): StringMap {
  return { [nameLabel]: name };
}

const nameLabel = "kubernetes.io/metadata.name";

/** Nothing but its name is to be known of it. */
export function hasOnlyDefaultLabels(namespace: Namespace): boolean {
  const { name, labels, isAnnotated, isDeleting, scheduled } = namespaceInfoOf(namespace);
  return (
    !isAnnotated &&
    !isDeleting &&
    scheduled === undefined &&
    labels[nameLabel] === name &&
    Object.keys(labels).length === 1
  );
}

/** Under "": all of a logical cluster, without walking those of all others. */
export const byLogicalCluster = { "of-cluster": { values: () => [""] } };

export function allInLogicalCluster<Cached>(
  store: ObjectStore<Cached>,
  cluster: ClusterName,
): Cached[] {
  return store.byIndex("of-cluster", { cluster, value: "" });
}

/**
 * All who watch namespaces through the same clusters have to do it by this. Of those that are like all others nothing is kept: most workspaces have no Placement,
 * and there may be very many of them. Where there is one, they are told of, so that who has to know all of them can list them.
 */
export function namespaceInformer(clusters: Clusters) {
  const { store } = clusters.source<Placement>(placements, { indexers: byLogicalCluster });
  return {
    transform: namespaceInfoOf,
    keep: (namespace: Namespace) => {
      if (!hasOnlyDefaultLabels(namespace)) return true;
      const cluster = clusterOf(namespace);
      return cluster === undefined || allInLogicalCluster(store, cluster).length > 0;
    },
    indexers: byLogicalCluster,
  };
}

export function policyStores(clusters: Clusters): PolicyStores {
  return {
    placements: clusters.source<Placement>(placements, { indexers: byLogicalCluster }).store,
    locations: clusters.source<Location>(locations, { indexers: byLogicalCluster }).store,
    namespaces: clusters.source<Namespace, NamespaceInfo>(namespaces, namespaceInformer(clusters))
      .store,
  };
}

/** Where Placements, Locations and namespaces are known from. */
export interface PolicyLister {
  placementsIn(cluster: ClusterName): readonly Placement[];
  placement(cluster: ClusterName, name: string): Placement | undefined;
  locationsIn(cluster: ClusterName): readonly Location[];
  /** Workspaces whose clusters this one uses, by their names and paths; none if left out. */
  homesOf?(cluster: ClusterName): ReadonlyMap<string, ClusterName>;
  /** Undefined for a namespace that is not known. */
  namespaceLabels(cluster: ClusterName, namespace: string): StringMap | undefined;
}

export function informerPolicyLister(
  stores: PolicyStores,
  users?: Required<Pick<PolicyLister, "homesOf">>,
): PolicyLister {
  return {
    homesOf: (cluster) => users?.homesOf(cluster) ?? noHomes,
    placementsIn: (cluster) => allInLogicalCluster(stores.placements, cluster),
    placement: (cluster, name) => stores.placements.get({ cluster, namespace: "", name }),
    locationsIn: (cluster) => allInLogicalCluster(stores.locations, cluster),
    namespaceLabels: (cluster, name) =>
      stores.namespaces.get({ cluster, namespace: "", name })?.labels ?? ordinaryLabels(name),
  };
}

const noHomes: ReadonlyMap<string, ClusterName> = new Map();

export interface PolicyKey {
  readonly cluster: ClusterName;
  readonly namespace: string;
  readonly labels: StringMap;
}

export class Policies {
  readonly #facts: PolicyLister;

  constructor(facts: PolicyLister) {
    this.#facts = facts;
  }

  policyFor({ cluster, namespace, labels: workloadLabels }: PolicyKey): Policy {
    const own = this.placementsOf(cluster);
    const global = this.globalPlacement();
    if (own.length === 0 && global === undefined) return defaultPolicy;
    const namespaceLabels = this.#facts.namespaceLabels(cluster, namespace) ?? {};
    const located = (placement: Placement, level: PolicyLevel) =>
      this.#locationsOf(cluster, placement, level);
    return policyOf(
      applicablePlacements({ namespaceLabels, workloadLabels }, own, global, located),
    );
  }

  placementsOf(cluster: ClusterName): readonly Placement[] {
    return this.#facts.placementsIn(cluster);
  }

  globalPlacement(): Placement | undefined {
    return this.#facts.placement(rootCluster, globalPlacement.name);
  }

  /** What the workspace may use of clusters at most, whatever chooses them. */
  allowancesFor(cluster: ClusterName): readonly LocationLimits[] {
    return locationLimitsOf(this.#seenFrom(cluster));
  }

  /** Locations of the workspace itself, and of those whose clusters it uses. */
  #seenFrom(cluster: ClusterName): readonly LocationInWorkspace[] {
    const found = this.#facts
      .locationsIn(cluster)
      .map((location): LocationInWorkspace => ({ location }));
    for (const home of new Set(this.#homesOf(cluster).values())) found.push(...this.#at(home));
    return found;
  }

  #at(home: ClusterName): readonly LocationInWorkspace[] {
    return this.#facts.locationsIn(home).map((location) => ({ location, home }));
  }

  #homesOf(cluster: ClusterName): ReadonlyMap<string, ClusterName> {
    return this.#facts.homesOf?.(cluster) ?? noHomes;
  }

  #locationsOf(
    cluster: ClusterName,
    placement: Placement,
    level: PolicyLevel,
  ): readonly LocationInWorkspace[] | undefined {
    if (level === "global") return this.#selectedByAll(cluster, placement);
    const { selectedLocation } = placement.status ?? {};
    if (selectedLocation === undefined) return [];
    const { path, locationName } = selectedLocation;
    const home = parseClusterName(path);
    if (home === undefined) return [];
    const located = (location: Location): LocationInWorkspace =>
      home === cluster ? { location } : { location, home };
    return this.#facts
      .locationsIn(home)
      .filter(({ metadata }) => metadata.name === locationName)
      .map(located);
  }

  /**
   * The Placement of all has no status for each workspace: whatever it selects there is meant. Where it names a workspace, it says nothing to those who do
   * not use its clusters: they could not follow it.
   */
  #selectedByAll(
    cluster: ClusterName,
    placement: Placement,
  ): readonly LocationInWorkspace[] | undefined {
    const { locationWorkspace = "" } = placement.spec;
    const home = this.#homesOf(cluster).get(locationWorkspace);
    const isNamed = locationWorkspace !== "" && locationWorkspace !== cluster;
    if (isNamed && home === undefined) return undefined;
    const all =
      home !== undefined
        ? this.#at(home)
        : this.#seenFrom(cluster).filter(
            (one) => locationWorkspace === "" || one.home === undefined,
          );
    return all.filter(({ location }) => selectsLocation(placement, location));
  }
}
