/**
 * Reconciles the compute exports of compute workspaces: the APIExport names a schema for each
 * negotiated API, and is updated when an API is negotiated again.
 *
 * An API in use stays exported: an API that no cluster serves any more leaves the export when no
 * object of it is stored. Schemas that the export no longer names are deleted; bound workspaces
 * have copies of their own.
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
import { inOrder, type PlannedComputeExport, planComputeExport } from "./plan-compute-export.ts";

export interface ComputeExportControllerOptions {
  /** The client of the control plane, not of one logical cluster. */
  readonly client: Client;
  readonly clusters: Clusters;
  /** The synced resources of a SyncTarget that does not list any. */
  readonly resources: readonly string[];
  readonly onError?: ((error: unknown, key?: ObjectKey) => void) | undefined;
}

interface ExportOwner {
  readonly object: APIExport;
  readonly cluster: ObjectKey["cluster"];
}

/** The delay of the next check of an API that stays exported because objects are stored. */
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

  /** Creates the schemas; returns those that the control plane rejects. */
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
        // A retry would fail again: an Event reports it, and the next change triggers another
        // attempt.
        refused.add(name);
        const message = `${name} cannot be offered, the control plane does not take its schema: ${error.message}`;
        const event = { type: "Warning", reason: "SchemaRefused", message } as const;
        this.#events.record(owner.cluster, owner.object, event);
      }
    }
    return refused;
  }

  /** The exported resources that are no longer desired, and of which objects are stored. */
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
    // Without its schema the resource cannot be checked, so it stays exported.
    if (version === undefined || names === undefined) return true;
    const resource = defineResource<KubernetesObject>({
      group,
      version: version.name,
      resource: name,
      kind: names.kind,
      namespaced: true,
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
      name,
      group,
      schema,
    }));
    const isSaid =
      same(known, resources) &&
      same(
        (spec.permissionClaims ?? []).map(({ group = "", resource, verbs }) => ({
          group,
          resource,
          verbs,
        })),
        claims,
      );
    if (isSaid) return;
    const { name, uid = "" } = metadata;
    const wanted = { metadata: { name, uid }, spec: { resources, permissionClaims: claims } };
    const options = { fieldManager: computeFieldManager, force: true, signal };
    await client.resource(apiExports).apply(wanted, options);
  }
}

/** Deletes the schemas that were created for this export, and that it no longer names. */
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
  for (const schema of known) {
    const { metadata } = schema;
    const isOurs = metadata.ownerReferences?.some((one) => one.uid === uid) === true;
    if (!isOurs || named.has(metadata.name)) continue;
    try {
      await schemas.sameObject(schema).remove({ signal });
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
