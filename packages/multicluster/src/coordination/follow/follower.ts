/**
 * ConfigMaps, Secrets, ServiceAccounts and PodDisruptionBudgets go where the workloads are that need them, and leave when nothing there does. Services and
 * claims have rooms of their own.
 *
 * A namespace is looked at as a whole: what refers to what is read then, and not from a cache, because an object that leaves is deleted in a cluster.
 * Nothing outside of the namespace is read or written for it.
 */
import { type Clock, TaskGroup } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { formatGroupResource, isStatusError } from "@kcp-ts/machinery/status";
import {
  type Change,
  type Client,
  type Clusters,
  Controller,
  defineResource,
  type KubernetesObject,
  Manager,
  type ObjectKey,
  type ObjectStore,
  type Resource,
  stringMember,
} from "@kcp-ts/sdk";
import { clusterLabel, dependenciesAnnotation, dependenciesOn } from "../../api/index.ts";
import { podTemplateOf, templateAt } from "../pod-template.ts";
import { metadataAndTargets, metadataClusters } from "../watched-clusters.ts";
import type { Workload } from "../workload.ts";
import { dependencyTargetsOf, type Referrer, targetsOf } from "./closure.ts";
import { withPropagatedTargets } from "./following.ts";
import { clusterOwnedReferences, type DependencyResource, type Reference } from "./references.ts";

export interface DependencyPropagatorOptions {
  /** Of the server, not of one cluster of it. Must be allowed everything. */
  readonly client: Client;
  /** Where SyncTargets are watched; run by the caller. */
  readonly targets: Clusters;
  /** Kinds whose objects may refer to others. */
  readonly referrers: readonly Resource<Workload>[];
  /** Those that people have strategies for, in one logical cluster; what they refer to stands on their parts, and in their templates. */
  readonly custom?: CustomKinds | undefined;
  readonly clock: Clock;
  readonly concurrency: number;
  readonly onError: (error: unknown, key?: ObjectKey) => void;
}

export interface CustomKinds {
  in(cluster: string): readonly {
    readonly resource: Resource<Workload>;
    readonly templatePath: readonly string[] | undefined;
  }[];
  /** Told of each, once, also of those that are known. */
  onKind(listener: (kind: Resource<Workload>) => void): void;
}

const core = { group: "", version: "v1", namespaced: true } as const;

const dependencyResources: Readonly<Record<DependencyResource, Resource<KubernetesObject>>> = {
  configmaps: defineResource({ ...core, resource: "configmaps", kind: "ConfigMap" }),
  secrets: defineResource({ ...core, resource: "secrets", kind: "Secret" }),
  serviceaccounts: defineResource({ ...core, resource: "serviceaccounts", kind: "ServiceAccount" }),
  poddisruptionbudgets: defineResource({
    group: "policy",
    version: "v1",
    resource: "poddisruptionbudgets",
    kind: "PodDisruptionBudget",
    namespaced: true,
  }),
};

/** Those in clusters are parts, made elsewhere; their certificates follow them. */
const ingresses = defineResource<KubernetesObject>({
  group: "networking.k8s.io",
  version: "v1",
  resource: "ingresses",
  kind: "Ingress",
  namespaced: true,
});

const fieldManager = "kcp-follower";
/** Before what was read and what is told agree. */
const retryMs = 1000;

/** Works until the signal aborts, and resolves when what was under way is finished. */
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
  // Custom kinds count like those that are built in: the first workload of a namespace may be of one.
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
      // Most changes are of workloads whose namespace has nothing that could follow them.
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

/** A kind that was not there when everything began. Two that look at one namespace at the same time do no harm: writes are of what was read. */
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

/** Whose references have changed. */
function isReferring(change: Change<KubernetesObject>): boolean {
  if (change.type !== "updated") return false;
  const of = ({ metadata }: KubernetesObject) =>
    stringMember(metadata.annotations, dependenciesAnnotation);
  return of(change.object) !== of(change.previous);
}

/** What is assigned to no cluster needs nothing there; what runs there and says so needs nothing else than before. */
function affectsDependencies(change: Change<KubernetesObject>): boolean {
  const { object } = change;
  if (change.type !== "updated") return isPlaced(object);
  const { previous } = change;
  if (!isPlaced(object) && !isPlaced(previous)) return false;
  return (
    // Kinds without one change by writes alone.
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

/** Followers that can be assigned at all, by namespace. */
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
  /** By `resource.group`. */
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
    // As below: a kind that is not served for a moment is no reason to take things away.
    if (objects === undefined && store !== undefined && isPlacedIn(store, key))
      return { requeueAfterMs: retryMs };
    for (const object of (objects ?? []).filter(isPlaced)) {
      const template = templatePath && templateAt(object as Workload, templatePath);
      referrers.push({ object, template, found: foundBy(object) });
    }
  }
  for (const [index, kind] of kinds.entries()) {
    // Of Pods, most are copies of what runs in clusters.
    const objects = await read(kind, kind.kind === "Pod" ? clusterLabel : undefined);
    const store = work.placed[index];
    // A kind that is not served for a moment is no reason to take things away.
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

/** Undefined when the kind is not served. */
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

/** Nothing but the assignments, of the very object that was looked at. */
async function write(
  client: Client,
  kind: Resource<KubernetesObject>,
  { metadata: before }: KubernetesObject,
  { metadata: after }: KubernetesObject,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name, uid = "", resourceVersion = "" } = before;
  const changed = (from: object | undefined, to: object | undefined): JsonObject => {
    const [old, now] = [from ?? {}, to ?? {}] as Record<string, string>[];
    const keys = new Set([...Object.keys(old ?? {}), ...Object.keys(now ?? {})]);
    const different = [...keys].filter((key) => old?.[key] !== now?.[key]);
    return Object.fromEntries(different.map((key) => [key, now?.[key] ?? null]));
  };
  const metadata = {
    uid,
    resourceVersion,
    labels: changed(before.labels, after.labels),
    annotations: changed(before.annotations, after.annotations),
  };
  const patch = { type: "merge" as const, patch: { metadata } };
  await client.resource(kind).patch({ namespace, name }, patch, { fieldManager, signal });
}
