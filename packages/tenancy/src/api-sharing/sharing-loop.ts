/**
 * Brings exports and bindings to where they say they want to be: identities, what is bound, endpoints, and the end of bindings.
 *
 *     hub event ──► queue of keys ──► one look at a time per object ──► status written through the registry
 *
 * One loop for all logical clusters. Every step looks at what is stored and can be repeated, so that a crash between two of them, or a second
 * server that does the same, does no harm.
 */

import { type Entry, parseObjectKey, type StorageKey } from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import { type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  conditionsOf,
  createIfAbsent,
  KeyedWorkQueue,
  member,
  setCondition,
  uncancelled,
} from "../workspaces/index.ts";
import { BindingRemoval, withoutFinalizer } from "./binding-removal.ts";
import { restoreDefaultBinding, undecidedClaims, withClaims } from "./default-bindings.ts";
import { endpointSlice, endpointStatus, skipSliceAnnotation } from "./endpoint-slices.ts";
import { withExtraAnnotations } from "./extra-annotations.ts";
import { identityOf } from "./identity.ts";
import { textOf } from "./kinds/as-definition.ts";
import { apiBindings, apiExportEndpointSlices, apiExports } from "./kinds/definitions.ts";
import { bindingFinalizer } from "./marks.ts";
import { type ApiSharingDependencies, keyOf } from "./parts.ts";
import { updateClaimLabels } from "./permission-claims.ts";
import {
  type BindingRecord,
  type ExportRecord,
  readBinding,
  schemasChangedAnnotation,
} from "./records.ts";
import { SecretWaiters } from "./secret-waits.ts";
import { type DesiredBindingStatus, desiredBindingStatus } from "./settle-binding.ts";
import type { BoundResourceCatalog } from "./sharing-catalog.ts";
import { updateAsSystem } from "./update-as-system.ts";

export interface ApiSharingControllerOptions {
  readonly parts: ApiSharingDependencies;
  readonly catalog: BoundResourceCatalog;
  readonly externalUrl: () => string;
}

export class ApiSharingController {
  readonly #options: ApiSharingControllerOptions;
  readonly #removal: BindingRemoval;
  readonly bindings: KeyedWorkQueue<StorageKey>;
  readonly exports: KeyedWorkQueue<StorageKey>;
  readonly slices: KeyedWorkQueue<StorageKey>;
  readonly #secretWaits = new SecretWaiters();

  constructor(options: ApiSharingControllerOptions) {
    this.#options = options;
    const { clock, onError } = options.parts;
    const queue = (work: (key: StorageKey) => Promise<undefined>) =>
      new KeyedWorkQueue<StorageKey>({ clock, onError, work });
    this.bindings = queue((key) => this.#settleBinding(key));
    this.exports = queue((key) => this.#settleExport(key));
    this.slices = queue((key) => this.#settleSlice(key));
    this.#removal = new BindingRemoval({ ...options, again: (key) => this.bindings.add(key) });
  }

  async stop(): Promise<void> {
    this.#removal.close();
    await Promise.all([this.bindings.stop(), this.exports.stop(), this.slices.stop()]);
  }

  /** Told of every change of a secret. */
  onSecret(key: StorageKey): void {
    for (const waiting of this.#secretWaits.take(key)) this.exports.add(waiting);
  }

  async #settleBinding(key: StorageKey): Promise<undefined> {
    const { parts } = this.#options;
    const entry = await this.#read(key);
    const { cluster, name } = parseObjectKey(key);
    if (entry === undefined) {
      this.#removal.forget(key);
      await restoreDefaultBinding(parts, cluster, name);
      return;
    }
    const object = decodeObject(entry);
    if (member(object, "metadata")["deletionTimestamp"] !== undefined)
      return this.#endBinding(key, readBinding(entry));
    const unanswered = await undecidedClaims(parts, cluster, object);
    if (unanswered.length > 0) {
      // The change brings it back here.
      await updateAsSystem(this.#options.parts, apiBindings, { cluster, name }, async (old) => {
        const still = await undecidedClaims(parts, cluster, old);
        return still.length === 0 ? old : withClaims(old, still);
      });
      return;
    }
    const settled = await desiredBindingStatus(parts, cluster, object);
    const isSame =
      jsonEqual(settled.status, member(object, "status")) &&
      mirrored(object, settled.export) === object;
    // Whoever reads must know that there are objects of another shape before there can be any.
    if (settled.isReshaped && settled.export?.isReshaped === false)
      await this.#markReshaped(settled.export.cluster, settled.export.name);
    if (!isSame)
      await updateAsSystem(this.#options.parts, apiBindings, { cluster, name }, async (old) => {
        const { status, export: exported } = await desiredBindingStatus(parts, cluster, old);
        return { ...mirrored(old, exported), status };
      });
    if (settled.unapplied.length > 0) await this.#applyClaims(cluster, name, object, settled);
  }

  /**
   * Objects are gone through only after the binding says, and this server has seen, what they are to be labelled for: from then on, whatever is
   * written is labelled by admission, and whatever admission missed is found by `ClaimLabelController`.
   */
  async #applyClaims(
    cluster: ClusterName,
    name: string,
    binding: JsonObject,
    { unapplied, accepted }: DesiredBindingStatus,
  ): Promise<void> {
    const { parts, catalog } = this.#options;
    for (const claim of unapplied) await updateClaimLabels(parts, catalog, cluster, claim);
    await updateAsSystem(this.#options.parts, apiBindings, { cluster, name }, async (old) => {
      // A binding that changed meanwhile is looked at again, because it changed.
      if (generationOf(old) !== generationOf(binding)) return old;
      const { status } = await desiredBindingStatus(parts, cluster, old, { labelled: accepted });
      return { ...old, status };
    });
  }

  async #markReshaped(cluster: ClusterName, name: string): Promise<void> {
    await updateAsSystem(this.#options.parts, apiExports, { cluster, name }, async (old) => {
      const metadata = member(old, "metadata");
      const annotations = {
        ...member(metadata, "annotations"),
        [schemasChangedAnnotation]: "true",
      };
      return { ...old, metadata: { ...metadata, annotations } };
    });
  }

  async #endBinding(key: StorageKey, binding: BindingRecord): Promise<undefined> {
    const { clock } = this.#options.parts;
    const { cluster, name } = binding;
    for (const claim of binding.claims)
      if (claim.state === "Accepted")
        await updateClaimLabels(this.#options.parts, this.#options.catalog, cluster, claim);
    const held = await this.#removal.advance(key, binding);
    await updateAsSystem(this.#options.parts, apiBindings, { cluster, name }, async (old) => {
      if (held === undefined) return withoutFinalizer(old, bindingFinalizer);
      const status = member(old, "status");
      const conditions = setCondition(conditionsOf(status), held, clock.now());
      return { ...old, status: { ...status, conditions } };
    });
  }

  async #settleExport(key: StorageKey): Promise<undefined> {
    const { parts } = this.#options;
    const entry = await this.#read(key);
    if (entry === undefined) return;
    const { cluster, name } = parseObjectKey(key);
    const object = decodeObject(entry);
    if (member(object, "metadata")["deletionTimestamp"] !== undefined) return;
    const { secretRef, hash, condition, missing } = await identityOf(parts, cluster, object);
    if (missing !== undefined) this.#secretWaits.add(missing, key);
    await updateAsSystem(this.#options.parts, apiExports, { cluster, name }, async (old) => {
      const [spec, status] = [member(old, "spec"), member(old, "status")];
      const conditions = setCondition(conditionsOf(status), condition, parts.clock.now());
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
    await createIfAbsent(parts, apiExportEndpointSlices, address, endpointSlice(object));
  }

  async #settleSlice(key: StorageKey): Promise<undefined> {
    const { parts, externalUrl } = this.#options;
    const entry = await this.#read(key);
    if (entry === undefined) return;
    const { cluster, name } = parseObjectKey(key);
    await updateAsSystem(
      this.#options.parts,
      apiExportEndpointSlices,
      { cluster, name },
      async (old) => ({
        ...old,
        status: await endpointStatus(parts, cluster, old, externalUrl()),
      }),
    );
  }

  #read(key: StorageKey): Promise<Entry | undefined> {
    return this.#options.parts.watchCache.get(key, { kind: "latest" }, uncancelled);
  }
}

/** An export that is gone leaves its bindings as they are. */
function mirrored(binding: JsonObject, exported: ExportRecord | undefined): JsonObject {
  return exported === undefined ? binding : withExtraAnnotations(binding, exported.extras);
}

/** Of another object of the name it is another one, whatever its generation. */
function generationOf(object: JsonObject): string {
  const { uid, generation } = member(object, "metadata");
  return `${textOf(uid)}/${String(generation)}`;
}
