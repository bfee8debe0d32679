/**
 * Keeps the offers of compute workspaces true: the APIExport names a schema for each API that was negotiated, and follows when it is negotiated anew.
 *
 * What is in use stays offered: an API that no cluster serves any more leaves the offer when nobody has stored an object of it. Schemas that the offer no
 * longer names are removed; those who are bound keep copies of their own.
 */
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  type Clusters,
  Controller,
  defineResource,
  EventRecorder,
  isBeingDeleted,
  type KubernetesObject,
  type ObjectKey,
  type ObjectSource,
  type ReconcileContext,
  type ReconcileResult,
} from "@kcp-ts/sdk";
import {
  computeFieldManager,
  type NegotiatedAPIResource,
  negotiatedApiResources,
  type SyncTarget,
  syncTargets,
} from "../api/index.ts";
import { negotiatedInformer } from "../negotiation/index.ts";
import {
  type APIExport,
  apiExports,
  apiResourceSchemas,
  computeExportInformer,
  computeExportName,
  consumersPath,
  type ExportedResource,
  isComputeExport,
} from "./compute-export.ts";
import { inOrder, type PlannedComputeExport, planComputeExport } from "./plan-offer.ts";

export interface ComputeExportControllerOptions {
  /** Of the control plane, not of one cluster of it. */
  readonly client: Client;
  readonly clusters: Clusters;
  /** What is synced where a SyncTarget does not say. */
  readonly resources: readonly string[];
  readonly onError?: ((error: unknown, key?: ObjectKey) => void) | undefined;
}

interface ExportOwner {
  readonly object: APIExport;
  readonly cluster: ObjectKey["cluster"];
}

/** How long after something was kept for the sake of stored objects it is looked at again. */
export const computeExportRecheckMs = 60_000;
const concurrency = 2;

export class ComputeExportController {
  readonly controller: Controller;
  readonly #options: ComputeExportControllerOptions;
  readonly #negotiated: ObjectSource<NegotiatedAPIResource>;
  readonly #targets: ObjectSource<SyncTarget>;
  readonly #events: EventRecorder;

  constructor(options: ComputeExportControllerOptions) {
    const { clusters, client, onError } = options;
    this.#options = options;
    this.#negotiated = clusters.source(negotiatedApiResources, negotiatedInformer);
    this.#targets = clusters.source(syncTargets);
    this.#events = new EventRecorder({
      component: "kcp-compute",
      client: (cluster) => client.inCluster(cluster),
      onError: (error) => onError?.(error),
    });
    const map = (_object: unknown, { cluster }: ObjectKey) => [
      { cluster, namespace: "", name: computeExportName },
    ];
    this.controller = new Controller({
      name: "compute",
      clusters,
      concurrency,
      reconcile: (key, context) => this.#reconcile(key, context),
      ...(onError === undefined ? {} : { onError }),
    })
      .watch(apiExports, { ...computeExportInformer, map })
      .watch(negotiatedApiResources, { ...negotiatedInformer, map })
      .watch<SyncTarget>(syncTargets, {
        map,
        predicate: (change) =>
          change.type !== "updated" ||
          change.object.spec?.resources?.join() !== change.previous.spec?.resources?.join(),
      });
  }

  async #reconcile(key: ObjectKey, { client, signal }: ReconcileContext): Promise<ReconcileResult> {
    const { cluster, name } = key;
    const found = await client.resource(apiExports).find({ name }, { signal });
    if (found === undefined || !isComputeExport(found) || isBeingDeleted(found)) return undefined;
    const planned = planComputeExport({
      negotiated: this.#negotiated.store.list({ cluster }).filter((one) => !isBeingDeleted(one)),
      targets: this.#targets.store.list({ cluster }),
      resourcesDefault: this.#options.resources,
    });
    const schemas = (await client.resource(apiResourceSchemas).listMetadata({ signal })).items;
    const known = new Set(schemas.map(({ metadata }) => metadata.name));
    const missing = planned.schemas.filter(({ metadata }) => !known.has(metadata.name ?? ""));
    const refused = await this.#writeSchemas({ object: found, cluster }, missing, client, signal);
    const wanted = planned.resources.filter(({ schema }) => !refused.has(schema));
    const kept = await this.#inUse(found, wanted, cluster, signal);
    const resources = inOrder([...wanted, ...kept]);
    await this.#writeExport(found, { ...planned, resources }, client, signal);
    await removeSchemas(found, resources, schemas, client, signal);
    return kept.length > 0 ? { requeueAfterMs: computeExportRecheckMs } : undefined;
  }

  /** Those that the control plane does not take. */
  async #writeSchemas(
    owner: ExportOwner,
    schemas: PlannedComputeExport["schemas"],
    client: Client,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const refused = new Set<string>();
    const resource = client.resource(apiResourceSchemas);
    const ownerReferences = [ownerReference(owner.object)];
    for (const { metadata, ...rest } of schemas) {
      const { name = "" } = metadata;
      try {
        await resource.create({ ...rest, metadata: { ...metadata, ownerReferences } }, { signal });
      } catch (error) {
        if (isStatusError(error, "AlreadyExists")) continue;
        if (!isStatusError(error, "Invalid") && !isStatusError(error, "Forbidden")) throw error;
        // Another try would end the same way: it is said, and looked at again when something changes.
        refused.add(name);
        const message = `${name} cannot be offered, the control plane does not take its schema: ${error.message}`;
        const happening = { type: "Warning", reason: "SchemaRefused", message } as const;
        this.#events.record(owner.cluster, owner.object, happening);
      }
    }
    return refused;
  }

  /** What was offered and would not be any more, and somebody has an object of. */
  async #inUse(
    { spec }: APIExport,
    wanted: readonly ExportedResource[],
    cluster: string,
    signal: AbortSignal,
  ): Promise<readonly ExportedResource[]> {
    const kept: ExportedResource[] = [];
    for (const one of spec?.resources ?? []) {
      const isWanted = wanted.some(
        ({ name, group = "" }) => name === one.name && group === (one.group ?? ""),
      );
      if (!isWanted && (await this.#isStored(one, cluster, signal))) kept.push(one);
    }
    return kept;
  }

  async #isStored(
    { name, group = "", schema }: ExportedResource,
    cluster: string,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { client } = this.#options;
    const found = await client
      .inCluster(cluster)
      .resource(apiResourceSchemas)
      .find({ name: schema }, { signal });
    const { versions = [], names } = (found?.spec ?? {}) as {
      versions?: readonly { readonly name: string }[];
      names?: { readonly kind: string };
    };
    const [version] = versions;
    // Without its schema nobody can say: it stays.
    if (version === undefined || names === undefined) return true;
    const resource = defineResource<KubernetesObject>({
      ...{ group, version: version.name, resource: name, kind: names.kind, namespaced: true },
    });
    const consumers = client.withBasePath(consumersPath(cluster)).inCluster("*");
    const { items } = await consumers.resource(resource).listMetadata({ limit: 1, signal });
    return items.length > 0;
  }

  async #writeExport(
    { metadata, spec = {} }: APIExport,
    { resources, claims }: Pick<PlannedComputeExport, "resources" | "claims">,
    client: Client,
    signal: AbortSignal,
  ): Promise<void> {
    const known = inOrder(spec.resources ?? []).map(({ name, group = "", schema }) => ({
      ...{ name, group, schema },
    }));
    const isSaid =
      same(known, resources) &&
      same(
        (spec.permissionClaims ?? []).map(({ group = "", resource, verbs }) => ({
          ...{ group, resource, verbs },
        })),
        claims,
      );
    if (isSaid) return;
    const { name } = metadata;
    const wanted = { metadata: { name }, spec: { resources, permissionClaims: claims } };
    const options = { fieldManager: computeFieldManager, force: true, signal };
    await client.resource(apiExports).apply(wanted, options);
  }
}

/** Made for this export, and no longer named by it. */
async function removeSchemas(
  owner: APIExport,
  resources: readonly ExportedResource[],
  known: readonly KubernetesObject[],
  client: Client,
  signal: AbortSignal,
): Promise<void> {
  const named = new Set(resources.map(({ schema }) => schema));
  const schemas = client.resource(apiResourceSchemas);
  const { uid } = owner.metadata;
  for (const { metadata } of known) {
    const isOurs = metadata.ownerReferences?.some((one) => one.uid === uid) === true;
    if (!isOurs || named.has(metadata.name)) continue;
    try {
      const preconditions = { uid: metadata.uid ?? "" };
      await schemas.delete({ name: metadata.name }, { preconditions, signal });
    } catch (error) {
      if (!isStatusError(error, "NotFound")) throw error;
    }
  }
}

function ownerReference({ metadata: { name, uid = "" } }: APIExport) {
  const { group, version, kind } = apiExports;
  return { apiVersion: `${group}/${version}`, kind, name, uid };
}

function same(a: readonly object[], b: readonly object[]): boolean {
  return jsonEqual(a as unknown as JsonValue, b as unknown as JsonValue);
}
