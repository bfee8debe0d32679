/**
 * Reconciles APIExports and APIBindings: identities, bound resources, endpoints, and the removal of
 * bindings.
 *
 *     hub event ──► queue of keys ──► one reconcile at a time per object ──► status written through the registry
 *
 * One loop reconciles all logical clusters. Every step is level-based and can be repeated, so that
 * a crash between two steps, or a second server with the same loop, does no harm.
 */
import { type Entry, parseObjectKey, type StorageKey } from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import { type JsonObject, jsonEqual, textOf } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  conditionsOf,
  createIfAbsent,
  KeyedWorkQueue,
  member,
  setCondition,
  uncancelled,
} from "../workspaces/index.ts";
import { bindingFinalizer } from "./binding-metadata.ts";
import { BindingRemoval, withoutFinalizer } from "./binding-removal.ts";
import type { BoundResourceCatalog } from "./bound-resource-catalog.ts";
import { updateClaimLabels } from "./claim-labels.ts";
import { restoreDefaultBinding, undecidedClaims, withClaims } from "./default-bindings.ts";
import { type ApiSharingDependencies, keyOf } from "./dependencies.ts";
import { type DesiredBindingStatus, desiredBindingStatus } from "./desired-binding-status.ts";
import { endpointSlice, endpointStatus, skipSliceAnnotation } from "./endpoint-slices.ts";
import { withExtraAnnotations } from "./extra-annotations.ts";
import { identityOf } from "./identity.ts";
import { apiBindings, apiExportEndpointSlices, apiExports } from "./kinds/definitions.ts";
import {
  type BindingRecord,
  type ExportRecord,
  readBinding,
  schemasChangedAnnotation,
} from "./records.ts";
import { SecretWaiters } from "./secret-waiters.ts";
import { updateAsSystem } from "./update-as-system.ts";

export interface ApiSharingControllerOptions {
  readonly dependencies: ApiSharingDependencies;
  readonly catalog: BoundResourceCatalog;
  readonly externalUrl: () => string;
}

export class ApiSharingController {
  readonly #options: ApiSharingControllerOptions;
  readonly #removal: BindingRemoval;
  readonly bindings: KeyedWorkQueue<StorageKey>;
  readonly exports: KeyedWorkQueue<StorageKey>;
  readonly slices: KeyedWorkQueue<StorageKey>;
  readonly #secretWaiters = new SecretWaiters();

  constructor(options: ApiSharingControllerOptions) {
    this.#options = options;
    const { clock, onError } = options.dependencies;
    const queue = (work: (key: StorageKey) => Promise<undefined>) =>
      new KeyedWorkQueue<StorageKey>({ clock, onError, work });
    this.bindings = queue((key) => this.#reconcileBinding(key));
    this.exports = queue((key) => this.#reconcileExport(key));
    this.slices = queue((key) => this.#reconcileSlice(key));
    this.#removal = new BindingRemoval({ ...options, requeue: (key) => this.bindings.add(key) });
  }

  async stop(): Promise<void> {
    this.#removal.close();
    await Promise.all([this.bindings.stop(), this.exports.stop(), this.slices.stop()]);
  }

  /** Called for every change of a Secret. */
  onSecret(key: StorageKey): void {
    for (const waiting of this.#secretWaiters.take(key)) this.exports.add(waiting);
  }

  async #reconcileBinding(key: StorageKey): Promise<undefined> {
    const { dependencies } = this.#options;
    const entry = await this.#read(key);
    const { cluster, name } = parseObjectKey(key);
    if (entry === undefined) {
      this.#removal.forget(key);
      await restoreDefaultBinding(dependencies, cluster, name);
      return;
    }
    const object = decodeObject(entry);
    if (member(object, "metadata")["deletionTimestamp"] !== undefined)
      return this.#finalizeBinding(key, readBinding(entry));
    const unanswered = await undecidedClaims(dependencies, cluster, object);
    if (unanswered.length > 0) {
      // The event of this write requeues the binding.
      await updateAsSystem(
        this.#options.dependencies,
        apiBindings,
        { cluster, name },
        async (old) => {
          const still = await undecidedClaims(dependencies, cluster, old);
          return still.length === 0 ? old : withClaims(old, still);
        },
      );
      return;
    }
    const settled = await desiredBindingStatus(dependencies, cluster, object);
    const isSame =
      jsonEqual(settled.status, member(object, "status")) &&
      mirrored(object, settled.export) === object;
    // Readers must know that an export has objects of another schema before such objects can exist.
    if (settled.hasChangedSchemas && settled.export?.hasChangedSchemas === false)
      await this.#markSchemasChanged(settled.export.cluster, settled.export.name);
    if (!isSame)
      await updateAsSystem(
        this.#options.dependencies,
        apiBindings,
        { cluster, name },
        async (old) => {
          const { status, export: exported } = await desiredBindingStatus(
            dependencies,
            cluster,
            old,
          );
          return { ...mirrored(old, exported), status };
        },
      );
    if (settled.unapplied.length > 0) await this.#applyClaims(cluster, name, object, settled);
  }

  /**
   * Labels the existing objects only after the binding's status lists the claims and this server
   * has seen that status: from then on admission labels every write, and `ClaimLabelController`
   * finds every write that admission missed.
   */
  async #applyClaims(
    cluster: ClusterName,
    name: string,
    binding: JsonObject,
    { unapplied, accepted }: DesiredBindingStatus,
  ): Promise<void> {
    const { dependencies, catalog } = this.#options;
    for (const claim of unapplied) await updateClaimLabels(dependencies, catalog, cluster, claim);
    await updateAsSystem(
      this.#options.dependencies,
      apiBindings,
      { cluster, name },
      async (old) => {
        // A binding that changed meanwhile is requeued by its own event.
        if (generationOf(old) !== generationOf(binding)) return old;
        const { status } = await desiredBindingStatus(dependencies, cluster, old, {
          labelled: accepted,
        });
        return { ...old, status };
      },
    );
  }

  /** The objects of consumers on this shard concern this shard alone. */
  async #markSchemasChanged(cluster: ClusterName, name: string): Promise<void> {
    const { replicas } = this.#options.dependencies;
    if (replicas !== undefined && replicas.shardOf(cluster) !== undefined)
      return replicas.mark(apiExports, cluster, name);
    await updateAsSystem(this.#options.dependencies, apiExports, { cluster, name }, async (old) => {
      const metadata = member(old, "metadata");
      const annotations = {
        ...member(metadata, "annotations"),
        [schemasChangedAnnotation]: "true",
      };
      return { ...old, metadata: { ...metadata, annotations } };
    });
  }

  async #finalizeBinding(key: StorageKey, binding: BindingRecord): Promise<undefined> {
    const { clock } = this.#options.dependencies;
    const { cluster, name } = binding;
    for (const claim of binding.claims)
      if (claim.state === "Accepted")
        await updateClaimLabels(this.#options.dependencies, this.#options.catalog, cluster, claim);
    const held = await this.#removal.advance(key, binding);
    await updateAsSystem(
      this.#options.dependencies,
      apiBindings,
      { cluster, name },
      async (old) => {
        if (held === undefined) return withoutFinalizer(old, bindingFinalizer);
        const status = member(old, "status");
        const conditions = setCondition(conditionsOf(status), held, clock.now());
        return { ...old, status: { ...status, conditions } };
      },
    );
  }

  async #reconcileExport(key: StorageKey): Promise<undefined> {
    const { dependencies } = this.#options;
    const entry = await this.#read(key);
    if (entry === undefined) return;
    const { cluster, name } = parseObjectKey(key);
    const object = decodeObject(entry);
    if (member(object, "metadata")["deletionTimestamp"] !== undefined) return;
    const { secretRef, hash, condition, missing } = await identityOf(dependencies, cluster, object);
    if (missing !== undefined) this.#secretWaiters.add(missing, key);
    await updateAsSystem(this.#options.dependencies, apiExports, { cluster, name }, async (old) => {
      const [spec, status] = [member(old, "spec"), member(old, "status")];
      const conditions = setCondition(conditionsOf(status), condition, dependencies.clock.now());
      const identityHash = textOf(status["identityHash"]) || hash;
      return {
        ...old,
        spec: { ...spec, identity: { ...member(spec, "identity"), secretRef } },
        status: { ...status, ...(identityHash === "" ? {} : { identityHash }), conditions },
      };
    });
    const annotations = member(member(object, "metadata"), "annotations");
    if (annotations[skipSliceAnnotation] !== undefined) return;
    const slice = keyOf(apiExportEndpointSlices, cluster, name);
    if ((await this.#read(slice)) !== undefined) return;
    const address = { cluster, namespace: "", name };
    await createIfAbsent(dependencies, apiExportEndpointSlices, address, endpointSlice(object));
  }

  async #reconcileSlice(key: StorageKey): Promise<undefined> {
    const { dependencies, externalUrl } = this.#options;
    const entry = await this.#read(key);
    if (entry === undefined) return;
    const { cluster, name } = parseObjectKey(key);
    await updateAsSystem(
      this.#options.dependencies,
      apiExportEndpointSlices,
      { cluster, name },
      async (old) => ({
        ...old,
        status: await endpointStatus(dependencies, cluster, old, externalUrl()),
      }),
    );
  }

  #read(key: StorageKey): Promise<Entry | undefined> {
    return this.#options.dependencies.watchCache.get(key, { kind: "latest" }, uncancelled);
  }
}

/** Bindings keep their state when their export is deleted. */
function mirrored(binding: JsonObject, exported: ExportRecord | undefined): JsonObject {
  return exported === undefined
    ? binding
    : withExtraAnnotations(binding, exported.extraAnnotations);
}

/**
 * The uid is part of the generation: a recreated object of the same name differs at any generation.
 */
function generationOf(object: JsonObject): string {
  const { uid, generation } = member(object, "metadata");
  return `${textOf(uid)}/${String(generation)}`;
}
