/** The policy of a workload from the watched Placements, Locations, and namespace labels. */
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
import * as kinds from "@kcp-ts/sdk/kinds";
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
  applicablePlacements,
  defaultPolicy,
  type Policy,
  type PolicyLevel,
  policyOf,
  selectsLocation,
} from "./policy.ts";
import {
  type LocationInWorkspace,
  type LocationLimits,
  locationLimitsOf,
} from "./workspace-locations.ts";

/** The properties of a namespace that scheduling needs. */
export interface NamespaceInfo {
  readonly name: string;
  readonly labels: StringMap;
  /** Placements assign the namespace. */
  readonly isAnnotated: boolean;
  readonly isDeleting: boolean;
  /** The condition NamespaceScheduled. */
  readonly scheduled: Condition | undefined;
}

export interface Namespace extends KubernetesObject {
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export const namespaces = defineResource<Namespace>(kinds.namespaces);

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
  /**
   * The namespaces; those with default labels only are omitted in workspaces that had no Placement
   * when they last changed.
   */
  readonly namespaces: ObjectStore<NamespaceInfo>;
}

/** The labels that every namespace has. */
function ordinaryLabels(name: string): StringMap {
  return { [nameLabel]: name };
}

const nameLabel = "kubernetes.io/metadata.name";

/** Whether the namespace has only default labels, and no other relevant property. */
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

/** Index under "": lists all objects of a logical cluster without visiting the others. */
export const byLogicalCluster = { "of-cluster": { values: () => [""] } };

export function allInLogicalCluster<Cached>(
  store: ObjectStore<Cached>,
  cluster: ClusterName,
): Cached[] {
  return store.byIndex("of-cluster", { cluster, value: "" });
}

/**
 * The informer options of namespaces, which all watchers of the shared clusters must use.
 * Namespaces with default labels only are not cached: most workspaces have no Placement, and there
 * may be very many of them. In a workspace with a Placement they are cached, so that all of them
 * can be listed.
 */
export function namespaceInformer(clusters: Clusters) {
  const { store } = clusters.source<Placement>(placements, { indexers: byLogicalCluster });
  return {
    transform: namespaceInfoOf,
    filter: (namespace: Namespace) => {
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

/** The source of Placements, Locations and namespaces. */
export interface PolicyLister {
  placementsIn(cluster: ClusterName): readonly Placement[];
  placement(cluster: ClusterName, name: string): Placement | undefined;
  locationsIn(cluster: ClusterName): readonly Location[];
  /**
   * The compute workspaces whose clusters a workspace uses, by their names and paths; none if
   * omitted.
   */
  computeWorkspacesOf?(cluster: ClusterName): ReadonlyMap<string, ClusterName>;
  /** The labels of a namespace; undefined for an unknown namespace. */
  namespaceLabels(cluster: ClusterName, namespace: string): StringMap | undefined;
}

export function informerPolicyLister(
  stores: PolicyStores,
  users?: Required<Pick<PolicyLister, "computeWorkspacesOf">>,
): PolicyLister {
  return {
    computeWorkspacesOf: (cluster) => users?.computeWorkspacesOf(cluster) ?? noHomes,
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

  /** The workspace's limits on clusters, however the clusters are selected. */
  locationLimitsFor(cluster: ClusterName): readonly LocationLimits[] {
    return locationLimitsOf(this.#seenFrom(cluster));
  }

  /**
   * The Locations of the workspace itself, and of the compute workspaces whose clusters it uses.
   */
  #seenFrom(cluster: ClusterName): readonly LocationInWorkspace[] {
    const found = this.#facts
      .locationsIn(cluster)
      .map((location): LocationInWorkspace => ({ location }));
    for (const computeWorkspace of new Set(this.#homesOf(cluster).values()))
      found.push(...this.#at(computeWorkspace));
    return found;
  }

  #at(computeWorkspace: ClusterName): readonly LocationInWorkspace[] {
    return this.#facts
      .locationsIn(computeWorkspace)
      .map((location) => ({ location, computeWorkspace }));
  }

  #homesOf(cluster: ClusterName): ReadonlyMap<string, ClusterName> {
    return this.#facts.computeWorkspacesOf?.(cluster) ?? noHomes;
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
    const computeWorkspace = parseClusterName(path);
    if (computeWorkspace === undefined) return [];
    const located = (location: Location): LocationInWorkspace =>
      computeWorkspace === cluster ? { location } : { location, computeWorkspace };
    return this.#facts
      .locationsIn(computeWorkspace)
      .filter(({ metadata }) => metadata.name === locationName)
      .map(located);
  }

  /**
   * The Locations that the global Placement selects. It has no status for each workspace, so every
   * selected Location applies. A global Placement that names a compute workspace does not apply to
   * workspaces that do not use its clusters.
   */
  #selectedByAll(
    cluster: ClusterName,
    placement: Placement,
  ): readonly LocationInWorkspace[] | undefined {
    const { locationWorkspace = "" } = placement.spec;
    const computeWorkspace = this.#homesOf(cluster).get(locationWorkspace);
    const isNamed = locationWorkspace !== "" && locationWorkspace !== cluster;
    if (isNamed && computeWorkspace === undefined) return undefined;
    const all =
      computeWorkspace !== undefined
        ? this.#at(computeWorkspace)
        : this.#seenFrom(cluster).filter(
            (one) => locationWorkspace === "" || one.computeWorkspace === undefined,
          );
    return all.filter(({ location }) => selectsLocation(placement, location));
  }
}
