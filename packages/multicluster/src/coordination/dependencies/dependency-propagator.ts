/**
 * Propagates ConfigMaps, Secrets, ServiceAccounts and PodDisruptionBudgets to the clusters of the
 * workloads that depend on them, and removes them when no workload there does. Services and
 * PersistentVolumeClaims have controllers of their own (`traffic`, `volumes`).
 *
 * One reconcile covers a namespace: it reads the dependencies from the server, and not from a
 * cache, because an object that loses its assignment is deleted in a cluster. The reconcile reads
 * and writes nothing outside of the namespace.
 */
import { type Clock, TaskGroup } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { formatGroupResource, isStatusError } from "@kcp-ts/machinery/status";
import {
  type Change,
  type Client,
  type Clusters,
  Controller,
  type KubernetesObject,
  Manager,
  type ObjectKey,
  type ObjectStore,
  type Resource,
  stringMember,
} from "@kcp-ts/sdk";
import {
  configMaps,
  ingresses,
  podDisruptionBudgets,
  secrets,
  serviceAccounts,
} from "@kcp-ts/sdk/kinds";
import { clusterLabel, dependenciesAnnotation, dependenciesOn } from "../../api/index.ts";
import type { MetadataInformers } from "../metadata-informers.ts";
import { podTemplateOf, templateAt } from "../pod-template.ts";
import { metadataAndTargets, metadataClusters } from "../watched-clusters.ts";
import type { Workload } from "../workload.ts";
import { dependencyTargetsOf, type Referrer, targetsOf } from "./dependency-closure.ts";
import { withPropagatedTargets } from "./propagated-targets.ts";
import { clusterOwnedReferences, type DependencyResource, type Reference } from "./references.ts";

export interface DependencyPropagatorOptions {
  /** Client of the server, not of one logical cluster. It must be allowed everything. */
  readonly client: Client;
  /** The watch of SyncTargets; the caller runs it. */
  readonly targets: Clusters;
  /** Kinds whose objects may have dependencies. */
  readonly referrers: readonly Resource<Workload>[];
  /**
   * The custom kinds of a logical cluster; their per-cluster objects and their Pod templates name
   * the dependencies.
   */
  readonly custom?: CustomKinds | undefined;
  /** The metadata watches that controllers share; watches of its own if omitted. */
  readonly metadata?: MetadataInformers | undefined;
  readonly clock: Clock;
  readonly concurrency: number;
  readonly onError: (error: unknown, key?: ObjectKey) => void;
}

export interface CustomKinds {
  in(
    cluster: string,
  ): readonly {
    readonly resource: Resource<Workload>;
    readonly templatePath: readonly string[] | undefined;
  }[];
  /** Calls the listener once for each kind, including the kinds that are already known. */
  onKind(listener: (kind: Resource<Workload>) => void): void;
}

const dependencyResources: Readonly<Record<DependencyResource, Resource<KubernetesObject>>> = {
  configmaps: configMaps,
  secrets: secrets,
  serviceaccounts: serviceAccounts,
  poddisruptionbudgets: podDisruptionBudgets,
};

/** Per-cluster Ingresses, which `traffic` creates; their certificates are propagated with them. */

const fieldManager = "kcp-follower";
/** The delay until the watch cache agrees with the objects that were read. */
const retryMs = 1000;

/** Runs until the signal aborts, and resolves when the reconciles in flight have finished. */
export async function propagateDependencies(
  options: DependencyPropagatorOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, concurrency, onError, referrers } = options;
  const clusters = metadataAndTargets(options);
  const placed = [...referrers, ingresses].map((kind) => clusters.source(kind, { indexers }).store);
  const kinds = Object.entries(dependencyResources).map(([resource, kind]) => ({
    kind,
    indexers: candidatesOf(resource as DependencyResource),
  }));
  const candidates = kinds.map(
    ({ kind, indexers: own }) => clusters.source(kind, { indexers: own }).store,
  );
  const work: Work = { ...options, placed, placedCustom: new Map() };
  // Custom kinds count like built-in kinds: the first workload of a namespace may be of a custom
  // kind.
  const isActive = (key: ObjectKey) =>
    [...placed, ...work.placedCustom.values()].some((store) => isPlacedIn(store, key));
  const namespaceOf = (key: ObjectKey) => [{ ...key, name: "" }];
  const controller = new Controller({
    name: "follower",
    clusters,
    concurrency,
    clock,
    onError,
    async reconcile(key, { signal: stop }) {
      // Most changes concern workloads in namespaces without any object to propagate.
      if (!candidates.some((store) => isAnyIn(store, "candidate", key))) return undefined;
      return await propagateIn(key, work, stop);
    },
  });
  for (const kind of [...referrers, ingresses]) {
    controller.watch(kind, {
      indexers,
      predicate: (change) => affectsDependencies(change),
      map: (_object, key) => namespaceOf(key),
    });
  }
  for (const { kind, indexers: own } of kinds) {
    controller.watch(kind, {
      indexers: own,
      map: (_object, key) => (isActive(key) ? namespaceOf(key) : []),
    });
  }
  const running = new TaskGroup(signal);
  options.custom?.onKind((kind) => running.start((stop) => propagateKind(kind, work, stop)));
  const manager = new Manager({ clusters: [clusters], controllers: [controller] });
  running.start((stop) => manager.run(stop));
  await running.join();
}

/**
 * Watches a kind that was not served at the start. Two concurrent reconciles of one namespace are
 * harmless: each write is conditional on the version that was read.
 */
async function propagateKind(
  kind: Resource<Workload>,
  work: Work,
  signal: AbortSignal,
): Promise<void> {
  const { clock, concurrency, onError } = work;
  const clusters = metadataClusters(work);
  work.placedCustom.set(formatGroupResource(kind), clusters.source(kind, { indexers }).store);
  const controller = new Controller({
    name: `follower of ${kind.resource}`,
    clusters,
    concurrency,
    clock,
    onError,
    reconcile: async (key, { signal: stop }) => await propagateIn(key, work, stop),
  }).watch(kind, {
    indexers,
    predicate: (change) => affectsDependencies(change) || isReferring(change),
    map: (_object, key) => [{ ...key, name: "" }],
  });
  await new Manager({ clusters: [clusters], controllers: [controller] }).run(signal);
}

/** Whether the dependencies of an object have changed. */
function isReferring(change: Change<KubernetesObject>): boolean {
  if (change.type !== "updated") return false;
  const of = ({ metadata }: KubernetesObject) =>
    stringMember(metadata.annotations, dependenciesAnnotation);
  return of(change.object) !== of(change.previous);
}

/**
 * Whether a change may affect dependencies: an unassigned object needs nothing, and a status update
 * of an assigned object changes nothing.
 */
function affectsDependencies(change: Change<KubernetesObject>): boolean {
  const { object } = change;
  if (change.type !== "updated") return isPlaced(object);
  const { previous } = change;
  if (!isPlaced(object) && !isPlaced(previous)) return false;
  return (
    // Kinds without a generation change only by writes.
    object.metadata.generation === undefined ||
    object.metadata.generation !== previous.metadata.generation ||
    [...targetsOf(object)].sort().join() !== [...targetsOf(previous)].sort().join()
  );
}

function isPlaced(object: KubernetesObject): boolean {
  return targetsOf(object).size > 0;
}

const indexers = {
  placed: {
    values: (object: KubernetesObject) =>
      isPlaced(object) ? [object.metadata.namespace ?? ""] : [],
  },
};

/** Objects that can be propagated, by namespace. */
function candidatesOf(resource: DependencyResource) {
  return {
    candidate: {
      values: ({ metadata: { namespace = "", name } }: KubernetesObject) =>
        clusterOwnedReferences.has(`${resource}/${name}`) ? [] : [namespace],
    },
  };
}

function isPlacedIn(store: ObjectStore<KubernetesObject>, key: NamespaceKey): boolean {
  return isAnyIn(store, "placed", key);
}

type NamespaceKey = Pick<ObjectKey, "cluster" | "namespace">;

function isAnyIn(
  store: ObjectStore<KubernetesObject>,
  index: string,
  { cluster, namespace }: NamespaceKey,
): boolean {
  return store.keysByIndex(index, { cluster, value: namespace }).length > 0;
}

interface Work extends DependencyPropagatorOptions {
  readonly placed: readonly ObjectStore<KubernetesObject>[];
  /** The custom kinds, by `resource.group`. */
  readonly placedCustom: Map<string, ObjectStore<KubernetesObject>>;
}

async function propagateIn(
  key: ObjectKey,
  work: Work,
  signal: AbortSignal,
): Promise<{ readonly requeueAfterMs: number } | undefined> {
  const { cluster, namespace } = key;
  const client = work.client.inCluster(cluster);
  const read = async (kind: Resource<KubernetesObject>, labelSelector?: string) =>
    await listed(client, kind, { namespace, labelSelector }, signal);
  const referrers: Referrer[] = [];
  const kinds = [...work.referrers, ingresses];
  const leaves: KubernetesObject[] = [];
  for (const { resource: kind, templatePath } of work.custom?.in(cluster) ?? []) {
    const objects = await read(kind);
    const store = work.placedCustom.get(formatGroupResource(kind));
    // As for built-in kinds: a kind that is temporarily not served must not remove assignments.
    if (objects === undefined && store !== undefined && isPlacedIn(store, key))
      return { requeueAfterMs: retryMs };
    for (const object of (objects ?? []).filter(isPlaced)) {
      const template = templatePath && templateAt(object as Workload, templatePath);
      referrers.push({ object, template, found: foundBy(object) });
    }
  }
  for (const [index, kind] of kinds.entries()) {
    // Most Pods are upsynced, so only assigned Pods are listed.
    const objects = await read(kind, kind.kind === "Pod" ? clusterLabel : undefined);
    const store = work.placed[index];
    // A kind that is temporarily not served must not remove assignments.
    if (objects === undefined && store !== undefined && isPlacedIn(store, key)) {
      return { requeueAfterMs: retryMs };
    }
    for (const object of (objects ?? []).filter(isPlaced)) {
      if (kind === ingresses) leaves.push(object);
      else referrers.push({ object, template: podTemplateOf(kind, object as Workload) });
    }
  }
  const found = new Map<DependencyResource, readonly KubernetesObject[]>();
  for (const [resource, kind] of Object.entries(dependencyResources)) {
    found.set(resource as DependencyResource, (await read(kind)) ?? []);
  }
  const closure = dependencyTargetsOf({
    referrers,
    ingresses: leaves,
    accounts: found.get("serviceaccounts") ?? [],
    budgets: found.get("poddisruptionbudgets") ?? [],
  });
  for (const [resource, objects] of found) {
    for (const object of objects) {
      const reference: Reference = `${resource}/${object.metadata.name}`;
      const next = withPropagatedTargets(object, closure.get(reference) ?? new Set());
      if (next !== object) await write(client, dependencyResources[resource], object, next, signal);
    }
  }
  return undefined;
}

function foundBy({ metadata: { annotations } }: KubernetesObject): readonly Reference[] {
  return (["configmaps", "secrets", "serviceaccounts"] as const).flatMap((resource) =>
    dependenciesOn(annotations, resource).map((name): Reference => `${resource}/${name}`),
  );
}

/** Lists a kind; undefined when it is not served. */
async function listed(
  client: Client,
  kind: Resource<KubernetesObject>,
  { namespace, labelSelector }: { namespace: string; labelSelector: string | undefined },
  signal: AbortSignal,
): Promise<readonly KubernetesObject[] | undefined> {
  const selector = labelSelector === undefined ? {} : { labelSelector };
  try {
    return (await client.resource(kind).list({ namespace, ...selector, signal })).items;
  } catch (error) {
    if (isStatusError(error, "NotFound")) return undefined;
    throw error;
  }
}

/** Writes only the assignments, conditional on the version that was read. */
async function write(
  client: Client,
  kind: Resource<KubernetesObject>,
  { metadata: before }: KubernetesObject,
  { metadata: after }: KubernetesObject,
  signal: AbortSignal,
): Promise<void> {
  const changed = (from: object | undefined, to: object | undefined): JsonObject => {
    const [old, now] = [from ?? {}, to ?? {}] as Record<string, string>[];
    const keys = new Set([...Object.keys(old ?? {}), ...Object.keys(now ?? {})]);
    const different = [...keys].filter((key) => old?.[key] !== now?.[key]);
    return Object.fromEntries(different.map((key) => [key, now?.[key] ?? null]));
  };
  const metadata = {
    labels: changed(before.labels, after.labels),
    annotations: changed(before.annotations, after.annotations),
  };
  await client
    .resource(kind)
    .sameVersion({ metadata: before })
    .mergePatch({ metadata }, { fieldManager, signal });
}
