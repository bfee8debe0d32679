/**
 * Writes the status of the Locations, Placements and namespaces of each workspace, and creates the
 * default Location of every workspace with clusters.
 *
 * One reconcile covers a workspace, when something in it changes; it writes only differences.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  type Clusters,
  Controller,
  findCondition,
  type ObjectKey,
  type ObjectStore,
} from "@kcp-ts/sdk";
import {
  defaultLocationName,
  type Location,
  locationLabelsAnnotation,
  locations,
  type Placement,
  placementAnnotation,
  placements,
  type SyncTarget,
  schedulerFieldManager,
  syncTargetResource,
  syncTargets,
  targetConditions,
} from "../api/index.ts";
import {
  type LocationUpdate,
  type NamespaceUpdate,
  type PlacementUpdate,
  planWorkspace,
  type SharedLocations,
} from "./plan-workspace.ts";
import {
  allInLogicalCluster,
  byLogicalCluster,
  type Namespace,
  type NamespaceInfo,
  namespaceInfoOf,
  namespaceInformer,
  namespaces,
  policyStores,
} from "./policies.ts";
import type { ComputeConsumers } from "./scheduler.ts";

export interface WorkspaceControllerOptions {
  readonly clusters: Clusters;
  /**
   * The SyncTargets of each workspace, including those of compute workspaces; its own if omitted.
   * The caller runs it.
   */
  readonly consumers?: ComputeConsumersOf | undefined;
  readonly clock: Clock;
  readonly onError: (error: unknown, key: ObjectKey) => void;
}

export interface ComputeConsumersOf extends Clusters, ComputeConsumers {}

export class WorkspaceController {
  readonly controller: Controller;
  readonly #clock: Clock;
  readonly #stores: ReturnType<typeof policyStores>;
  readonly #targets: ObjectStore<SyncTarget>;
  readonly #consumers: ComputeConsumersOf | undefined;

  constructor({ clusters, consumers, clock, onError }: WorkspaceControllerOptions) {
    this.#consumers = consumers;
    this.#clock = clock;
    this.#stores = policyStores(clusters);
    this.#targets = (consumers ?? clusters).source<SyncTarget>(syncTargets).store;
    const keyOf = (cluster: ClusterName) => ({ cluster, namespace: "", name: "workspace" });
    const toWorkspace = (_: unknown, { cluster }: ObjectKey) => [keyOf(cluster)];
    const toUsers = (_: unknown, { cluster }: ObjectKey) =>
      [cluster, ...(consumers?.tenantsOf(cluster) ?? [])].map(keyOf);
    const hasPlacements = ({ key: { cluster } }: { readonly key: ObjectKey }) =>
      allInLogicalCluster(this.#stores.placements, cluster).length > 0;
    this.controller = new Controller({
      name: "scheduler",
      clusters,
      clock,
      onError,
      reconcile: (key, { client, signal }) => this.#reconcile(key, client, signal),
    })
      .watch<SyncTarget>(syncTargets, {
        predicate: (change) =>
          change.type !== "updated" || facts(change.object) !== facts(change.previous),
        map: toWorkspace,
      })
      .watch<Location>(locations, { indexers: byLogicalCluster, map: toUsers })
      .watch<Placement>(placements, { indexers: byLogicalCluster, map: toWorkspace })
      .watch<Namespace, NamespaceInfo>(namespaces, {
        ...namespaceInformer(clusters),
        predicate: hasPlacements,
        map: toWorkspace,
      });
    const tell = (_: unknown, { key }: { readonly key: ObjectKey }) => {
      if (hasPlacements({ key })) this.controller.enqueue(keyOf(key.cluster));
    };
    consumers?.source<SyncTarget>(syncTargets).addHandler({
      added: tell,
      updated: (now, { key, previous }) => {
        if (facts(now) !== facts(previous)) tell(now, { key });
      },
      deleted: tell,
    });
  }

  async #reconcile({ cluster }: ObjectKey, client: Client, signal: AbortSignal): Promise<void> {
    const placed = allInLogicalCluster(this.#stores.placements, cluster);
    const plan = planWorkspace({
      cluster,
      targets: this.#targets.list({ cluster }),
      locations: allInLogicalCluster(this.#stores.locations, cluster),
      sharedLocations: this.#offeredTo(cluster),
      placements: placed,
      // Without Placements, only namespaces that had one matter.
      namespaces:
        placed.length === 0
          ? allInLogicalCluster(this.#stores.namespaces, cluster)
          : await namespacesIn(client, signal),
      nowMs: this.#clock.now(),
    });
    if (plan.needsDefaultLocation) await makeDefaultLocation(client, signal);
    for (const one of plan.locations) await ignoringNotFound(writeLocation(client, one, signal));
    for (const one of plan.placements) await ignoringNotFound(writePlacement(client, one, signal));
    for (const one of plan.namespaces) await ignoringNotFound(writeNamespace(client, one, signal));
  }

  #offeredTo(cluster: ClusterName): ReadonlyMap<string, SharedLocations> {
    const offered = new Map<string, SharedLocations>();
    for (const [name, computeWorkspace] of this.#consumers?.computeWorkspacesOf(cluster) ?? [])
      offered.set(name, {
        path: computeWorkspace,
        locations: allInLogicalCluster(this.#stores.locations, computeWorkspace),
      });
    return offered;
  }
}

async function namespacesIn(
  client: Client,
  signal: AbortSignal,
): Promise<readonly NamespaceInfo[]> {
  const { items } = await client.resource(namespaces).list({ signal });
  return items.map(namespaceInfoOf);
}

/** The properties of a SyncTarget that the plan uses. */
function facts({ metadata, spec, status }: SyncTarget): string {
  const { labels, deletionTimestamp } = metadata;
  const ready = findCondition(status?.conditions, targetConditions.ready)?.status;
  return JSON.stringify([labels, deletionTimestamp, ready, spec?.unschedulable, spec?.drain]);
}

async function makeDefaultLocation(client: Client, signal: AbortSignal): Promise<void> {
  try {
    await client
      .resource(locations)
      .create(
        {
          metadata: { name: defaultLocationName },
          spec: {
            resource: syncTargetResource,
            description: "All physical clusters of this workspace",
            instanceSelector: {},
          },
        },
        { signal, fieldManager: schedulerFieldManager },
      );
  } catch (error) {
    if (!isStatusError(error, "AlreadyExists")) throw error;
  }
}

async function writeLocation(
  client: Client,
  { location, status, labels }: LocationUpdate,
  signal: AbortSignal,
): Promise<void> {
  const resource = client.resource(locations);
  const said = location.metadata.annotations?.[locationLabelsAnnotation] ?? "";
  const annotations = { [locationLabelsAnnotation]: labels === "" ? null : labels };
  const current =
    said === labels
      ? location
      : await resource.sameObject(location).mergePatch({ metadata: { annotations } }, { signal });
  await resource.updateStatus({ ...current, status }, { signal });
}

/**
 * The write is conditional on the version that was read: a Placement that was edited meanwhile is
 * reconciled again.
 */
async function writePlacement(
  client: Client,
  { placement, status }: PlacementUpdate,
  signal: AbortSignal,
): Promise<void> {
  await client.resource(placements).updateStatus({ ...placement, status }, { signal });
}

async function writeNamespace(
  client: Client,
  { namespace, isScheduled, condition }: NamespaceUpdate,
  signal: AbortSignal,
): Promise<void> {
  const { name, uid, isAnnotated } = namespace;
  const object = client.resource(namespaces).sameObject({ metadata: { name, uid } });
  if (isAnnotated !== isScheduled) {
    const annotations = { [placementAnnotation]: isScheduled ? "" : null };
    await object.mergePatch({ metadata: { annotations } }, { signal });
  }
  const apply = { signal, fieldManager: schedulerFieldManager, force: true };
  await object.applyStatusFields({ conditions: [condition] }, apply);
}

async function ignoringNotFound(writing: Promise<void>): Promise<void> {
  try {
    await writing;
  } catch (error) {
    if (!isStatusError(error, "NotFound")) throw error;
  }
}
