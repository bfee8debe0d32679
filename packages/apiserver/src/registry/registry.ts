/**
 * The generic registry: every resource's create, read, update and delete over one store, with the
 * resource's strategy for its own rules.
 *
 * Writes are compare-and-swap. A client with a resourceVersion gets a conflict when the object has
 * changed; without one the change is rebuilt on the newest state until it succeeds.
 */
import {
  type Clock,
  type Random,
  type Resumable,
  runSyncFirst,
  runYielding,
  yieldToEventLoop,
} from "@kcp-ts/machinery/base";
import { hasAtMost, type JsonObject, jsonEqual, shallowCopy } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { fieldError, statusError } from "@kcp-ts/machinery/status";
import type { UserInfo } from "../request/user.ts";
import {
  type Entry,
  isStorageError,
  type Revision,
  type Storage,
  type StorageKey,
  type Write,
} from "../storage/index.ts";
import {
  decodeMetadata,
  decodeObject,
  decodeObjectResumable,
  encodeObject,
  encodeObjectResumable,
  isBeingDeleted,
  isIntact,
  mayBeEqual,
} from "../stored-object/index.ts";
import type { WatchCache } from "../watch-cache/index.ts";
import {
  type DeleteRequest,
  type DeletionStep,
  ignoreReadErrorOption,
  planDeletion,
} from "./deletion.ts";
import { type FieldManager, withManagedFields } from "./managed-fields.ts";
import { checkPreconditions } from "./preconditions.ts";
import {
  prepareAsSent,
  prepareCreate,
  prepareUpdate,
  timestamp,
  type UpdateRules,
} from "./prepare.ts";
import { type ResourceDefinition, storageKeyOf } from "./resource-definition.ts";
import { fromStorageError, translateStorageErrors } from "./storage-errors.ts";
import type { StorageQuota, UsageDelta } from "./storage-quota.ts";
import type { Draft } from "./strategy.ts";
import { toServed } from "./version-codec.ts";

export interface RegistryOptions {
  readonly storage: Storage;
  readonly watchCache: WatchCache;
  readonly clock: Clock;
  readonly random: Random;
  readonly newUid: () => string;
  /**
   * Called in the turn in which an object is handed to the store: the state that admission checked
   * may have changed since. Throws when the object may not be created any more; a promise is
   * awaited and the check repeated.
   */
  readonly confirmCreate?: ConfirmCreate | undefined;
  /** Called for every stored write. Without it nothing is limited. */
  readonly quota?: StorageQuota;
}

export type ConfirmCreate = (
  definition: ResourceDefinition,
  address: ObjectAddress,
) => Promise<void> | undefined;

export interface ObjectAddress {
  readonly cluster: ClusterName;
  readonly namespace: string;
  readonly name: string;
}

/** Runs between the strategy and the store: validating admission. */
export type Validator = (object: JsonObject, old: JsonObject | undefined) => Promise<void> | void;

export interface WriteOptions {
  readonly isDryRun: boolean;
  /**
   * Each step of the write takes some milliseconds: the write yields to the event loop in between.
   */
  readonly isLarge?: boolean;
  /** The user of the write; absent for the server's own writes. */
  readonly user?: UserInfo;
  readonly validate: Validator;
  /** Whether `validate` looks at the object of a deletion; it does if omitted. */
  readonly validates?: () => boolean;
  /** Whether the response shows the object of a deletion; it does if omitted. */
  readonly isDeletedShown?: boolean;
  readonly signal: AbortSignal;
  /** Absent for deletions, which change no ownership. */
  readonly fieldManager?: FieldManager;
  /** The object that the sender owns, when admission mutated it. */
  readonly asSent?: { readonly sent?: Draft | undefined };
  /** The namespace is stored together with the object: its existence is not checked. */
  readonly isCreatedWithNamespace?: boolean;
}

/**
 * The result of a write. `isStored` is false for dry runs, whose object has no resourceVersion yet.
 */
export interface WriteResult {
  readonly entry: Entry;
  readonly isStored: boolean;
  readonly outcome: "created" | "updated" | "unchanged" | "deleted" | "marked";
  /** The uid of the deleted object. */
  readonly uid?: string | undefined;
  /** For the sender of a create or an update. */
  readonly warnings?: readonly string[];
  /** The object before its deletion, in the requested version, as admission has seen it. */
  readonly served?: Entry | undefined;
}

/**
 * Builds the new object from the stored one; called again when the stored one changed meanwhile.
 */
export type BuildObject = (old: JsonObject | undefined) => Promise<Draft>;

const generateNameTries = 8;
/**
 * Once is the common case, twice when a read was needed first; the limit guards against a store
 * without cached data.
 */
const confirmTriesMax = 16;
/**
 * Each step of a write of a larger object takes some milliseconds: the write yields to the event
 * loop in between.
 */
const largeBytes = 32 << 10;
/** The same for an object that is not encoded yet. */
const smallValuesMax = 10_000;
/**
 * Optimistic retries: each lost race means another writer won, so progress is certain; the limit
 * guards against bugs.
 */
const updateTriesMax = 1000;

export class Registry {
  readonly #options: RegistryOptions;

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  async create(
    definition: ResourceDefinition,
    address: ObjectAddress,
    draft: Draft,
    options: WriteOptions,
  ): Promise<WriteResult> {
    const made = await this.#createOnce(definition, address, draft, options);
    if (made !== undefined) return made;
    const { name } = draft["metadata"] as { name: string };
    throw await this.#alreadyExists(definition, { ...address, name }, options.signal);
  }

  /** Undefined when an object of the name exists already. */
  async #createOnce(
    definition: ResourceDefinition,
    address: ObjectAddress,
    draft: Draft,
    options: WriteOptions,
  ): Promise<WriteResult | undefined> {
    const context = { user: options.user, ...this.#options };
    const ahead = definition.strategy.prevalidate?.(draft, undefined, address);
    if (ahead !== undefined) await ahead;
    const { sent } = options.asSent ?? {};
    const rests =
      ahead !== undefined ||
      options.isLarge === true ||
      (sent !== undefined && !hasAtMost(smallValuesMax, draft));
    const storing = rests ? { ...options, isLarge: true } : options;
    for (let tries = 1; ; tries++) {
      const copy = shallowCopy(draft) as Draft;
      const prepared = await prepareCreate(definition, address, copy, context);
      if (rests) await yieldToEventLoop();
      const owned =
        sent === undefined
          ? prepared
          : prepareAsSent(definition, sent, prepared.object, {
              nowMs: this.#options.clock.now(),
              user: options.user,
            });
      const object = await withManagedFields({
        definition,
        cluster: address.cluster,
        fieldManager: options.fieldManager,
        prepared: owned,
        live: undefined,
        isLarge: rests,
        now: timestamp(this.#options.clock.now()),
      });
      const { name } = object["metadata"] as { name: string };
      if (rests) await yieldToEventLoop();
      await options.validate(object, undefined);
      const prerequisites =
        options.isDryRun || definition.prerequisites === undefined
          ? undefined
          : await definition.prerequisites.create(object, address.cluster, options.user);
      const { cluster, namespace } = address;
      const place = { cluster, namespace, name };
      const written = await this.#insert(definition, place, object, storing);
      if (written !== undefined) {
        prerequisites?.commit();
        const { warnings } = prepared;
        return warnings.length === 0 ? written : { ...written, warnings };
      }
      if (prerequisites !== undefined) await prerequisites.rollback();
      const isGenerated =
        (draft["metadata"] as Draft)["name"] === undefined ||
        (draft["metadata"] as Draft)["name"] === "";
      if (!isGenerated) return undefined;
      if (tries >= generateNameTries) throw statusError.generateNameConflict(definition, name);
    }
  }

  /**
   * Updates through the main resource, or through a subresource with its own rules. Creates only
   * where the strategy allows it.
   */
  async update(
    definition: ResourceDefinition,
    address: ObjectAddress,
    build: BuildObject,
    options: WriteOptions & UpdateRules & { readonly mayCreate?: boolean },
  ): Promise<WriteResult> {
    const key = storageKeyOf(definition, address);
    for (let tries = 0; tries < updateTriesMax; tries++) {
      const entry = await this.#read(definition, key, options.signal);
      if (entry === undefined) {
        if (options.mayCreate !== true) throw statusError.notFound(definition, address.name);
        const made = await this.#createOnce(definition, address, await build(undefined), options);
        if (made !== undefined) return made;
        // Another writer created it meanwhile: it can be updated now.
        continue;
      }
      throwIfHidden(definition, address.name, entry);
      let rests = options.isLarge === true || entry.value.length > largeBytes;
      const old = await this.#toServed(definition, entry);
      if (rests) await yieldToEventLoop();
      const draft = await build(old);
      // A small patch, or admission, makes a small object large.
      rests ||= !hasAtMost(smallValuesMax, draft);
      if (rests) await yieldToEventLoop();
      checkPreconditions(definition, address.name, draft, entry, old, options);
      const { prevalidate } = options.subresource ?? definition.strategy;
      const ahead = prevalidate?.(draft, old, address);
      if (ahead !== undefined) await ahead;
      const context = { nowMs: this.#options.clock.now(), user: options.user };
      const prepared = await prepareUpdate(definition, draft, old, options, context);
      if (rests) await yieldToEventLoop();
      const { sent } = options.asSent ?? {};
      const owned =
        sent === undefined
          ? prepared
          : prepareAsSent(definition, sent, prepared.object, context, {
              old,
              subresource: options.subresource,
            });
      const updated = await withManagedFields({
        definition,
        cluster: address.cluster,
        fieldManager: options.fieldManager,
        prepared: owned,
        live: old,
        isLarge: rests,
        now: timestamp(context.nowMs),
      });
      if (rests) await yieldToEventLoop();
      await options.validate(updated, old);
      if (rests) await yieldToEventLoop();
      const written = await this.#replace(definition, address, entry, updated, {
        ...options,
        isLarge: rests,
      });
      // Another writer was faster: the next iteration detects a changed version, or a deleted
      // object.
      const { warnings } = prepared;
      if (written !== undefined) return warnings.length === 0 ? written : { ...written, warnings };
    }
    throw statusError.internal(`${updateTriesMax} writers in a row were faster`);
  }

  async delete(
    definition: ResourceDefinition,
    address: ObjectAddress,
    request: DeleteRequest,
    options: WriteOptions,
  ): Promise<WriteResult> {
    const forbidden = definition.strategy.deletionForbidden?.(address.name);
    if (forbidden !== undefined) throw statusError.forbidden(definition, address.name, forbidden);
    const key = storageKeyOf(definition, address);
    for (let tries = 0; tries < updateTriesMax; tries++) {
      const entry = await this.#read(definition, key, options.signal);
      if (entry === undefined) throw statusError.notFound(definition, address.name);
      if (request.ignoresReadError === true) {
        const deleted = await this.#deleteUnreadable(definition, address, entry, options.signal);
        if (deleted === undefined) continue;
        return deleted;
      }
      throwIfHidden(definition, address.name, entry);
      const rests = entry.value.length > largeBytes;
      if (rests) await yieldToEventLoop();
      const isValidated = options.validates?.() ?? true;
      const planned = await this.#planDeletion(definition, address.name, entry, {
        request,
        readsMetadata: rests && !isValidated,
      });
      const { step, uid } = planned;
      // Admission sees the requested version, whatever the storage version is.
      const shown =
        isValidated || step.kind !== "remove" || options.isDeletedShown !== false
          ? await toServed(definition, entry)
          : undefined;
      if (isValidated) {
        const old = planned.object ?? (await decoded(entry));
        const seen = shown === entry ? old : await decoded(shown ?? entry);
        await options.validate(seen, seen);
      }
      if (step.kind === "none") return { entry, served: shown, isStored: true, outcome: "marked" };
      const value =
        step.kind === "mark" ? await runSyncFirst(encodeObjectResumable(step.object)) : "delete";
      if (options.isDryRun) {
        return value === "delete"
          ? { entry, served: shown, isStored: true, outcome: "deleted", uid }
          : { entry: { ...entry, value }, served: shown, isStored: true, outcome: "marked" };
      }
      const revision = await this.#commit(definition, address, {
        write: { key, value, expected: entry.modifiedAt },
        growth: usageDeltaOf(entry, value),
        signal: options.signal,
      });
      if (revision === undefined) continue;
      if (value === "delete") {
        const gone = changed(entry, entry.value, revision);
        return { entry: gone, served: shown, isStored: true, outcome: "deleted", uid };
      }
      const marked = changed(entry, value, revision);
      return { entry: marked, served: shown, isStored: true, outcome: "marked" };
    }
    throw statusError.internal(`${updateTriesMax} writers in a row were faster`);
  }

  /**
   * Of a large object only the metadata are read, if they are all that the plan depends on: many
   * large objects can be deleted by one request.
   */
  async #planDeletion(
    definition: ResourceDefinition,
    name: string,
    entry: Entry,
    {
      request,
      readsMetadata,
    }: { readonly request: DeleteRequest; readonly readsMetadata: boolean },
  ): Promise<PlannedDeletion> {
    const { deletionRefusal, gracePeriodSeconds, isRemovalBlocked } = definition.strategy;
    const nowMs = this.#options.clock.now();
    const dependsOnAll = [deletionRefusal, gracePeriodSeconds, isRemovalBlocked].some(
      (rule) => rule !== undefined,
    );
    if (readsMetadata && !dependsOnAll) {
      const metadata = await runSyncFirst(decodeMetadata(entry));
      const step = planDeletion(definition, name, { metadata }, request, nowMs);
      if (step.kind !== "mark") return { step, uid: uidIn(metadata), object: undefined };
    }
    const object = await decoded(entry);
    const refusal = deletionRefusal?.(object);
    if (refusal !== undefined) throw statusError.forbidden(definition, name, refusal);
    const step = planDeletion(definition, name, object, request, nowMs);
    return { step, uid: uidIn(object["metadata"] as JsonObject), object };
  }

  /**
   * Deletes a value that is no object. Nothing is known of it but its key: it has no finalizers, no
   * dependents, and no labels by which a view could show it. Undefined when another writer was
   * faster.
   */
  async #deleteUnreadable(
    definition: ResourceDefinition,
    address: ObjectAddress,
    entry: Entry,
    signal: AbortSignal,
  ): Promise<WriteResult | undefined> {
    const { group, resource } = definition;
    const { name } = address;
    if (definition.isVisible !== undefined) throw statusError.notFound(definition, name);
    if (isIntact(entry))
      throw statusError.invalid({ group, kind: resource }, name, [
        fieldError.invalid(
          ignoreReadErrorOption,
          true,
          "is exclusively used to delete corrupt object(s), try again by removing this option",
        ),
      ]);
    return this.remove(definition, address, entry, signal);
  }

  /**
   * Removes an object without a look at it. For the code that holds its last finalizer, and has
   * ended its work: nothing is decoded, whatever its size is. Undefined when another writer was
   * faster.
   */
  async remove(
    definition: ResourceDefinition,
    address: ObjectAddress,
    entry: Entry,
    signal: AbortSignal,
  ): Promise<WriteResult | undefined> {
    const revision = await this.#commit(definition, address, {
      write: { key: entry.key, value: "delete", expected: entry.modifiedAt },
      growth: usageDeltaOf(entry, "delete"),
      signal,
    });
    if (revision === undefined) return undefined;
    const gone = changed(entry, entry.value, revision);
    return { entry: gone, isStored: true, outcome: "deleted", uid: undefined };
  }

  async #toServed(definition: ResourceDefinition, entry: Entry): Promise<JsonObject> {
    return decoded(await toServed(definition, entry));
  }

  async #insert(
    definition: ResourceDefinition,
    address: ObjectAddress,
    object: JsonObject,
    { isDryRun, signal, user, isLarge = false, isCreatedWithNamespace = false }: WriteOptions,
  ): Promise<WriteResult | undefined> {
    const key = storageKeyOf(definition, address);
    const value = await storedValue(definition, object, isLarge);
    if (isDryRun) {
      if ((await this.#read(definition, key, signal)) !== undefined) return undefined;
      const entry = { key, value, createdAt: 0 as Revision, modifiedAt: 0 as Revision };
      return { entry, isStored: false, outcome: "created" };
    }
    const { quota } = this.#options;
    const place = { definition, cluster: address.cluster, name: address.name };
    const growth = { objects: 1, bytes: value.length };
    await quota?.charge(place, growth, user);
    let revision: Revision;
    try {
      const { confirmCreate } = this.#options;
      if (confirmCreate !== undefined && !isCreatedWithNamespace) {
        for (let tries = 0; tries < confirmTriesMax; tries++) {
          const unconfirmed = confirmCreate(definition, address);
          if (unconfirmed === undefined) break;
          await unconfirmed;
        }
      }
      const write: Write = { key, value, expected: "absent" };
      revision = await this.#options.storage.commit(write, { signal });
    } catch (error) {
      quota?.refund(place, growth);
      return conflictError(definition, error);
    }
    return {
      entry: { key, value, createdAt: revision, modifiedAt: revision },
      isStored: true,
      outcome: "created",
    };
  }

  async #replace(
    definition: ResourceDefinition,
    address: ObjectAddress,
    entry: Entry,
    updated: JsonObject,
    { isDryRun, signal, user, isLarge = false }: WriteOptions,
  ): Promise<WriteResult | undefined> {
    const value = await storedValue(definition, updated, isLarge);
    const isRemoved = isRemovable(definition, updated);
    if (!isRemoved && (await runSyncFirst(isSame(entry, value))))
      return { entry, isStored: true, outcome: "unchanged" };
    if (isDryRun) {
      const entryAfter = changed(entry, value, entry.modifiedAt);
      return { entry: entryAfter, isStored: true, outcome: "updated" };
    }
    const write = {
      key: entry.key,
      value: isRemoved ? ("delete" as const) : value,
      expected: entry.modifiedAt,
    };
    const growth = usageDeltaOf(entry, write.value);
    const revision = await this.#commit(definition, address, { write, growth, signal, user });
    if (revision === undefined) return undefined;
    return {
      entry: changed(entry, value, revision),
      isStored: true,
      outcome: isRemoved ? "deleted" : "updated",
    };
  }

  /** The new revision, or undefined when another writer was faster. */
  async #commit(
    definition: ResourceDefinition,
    { cluster, name }: ObjectAddress,
    { write, growth, signal, user }: Replacement,
  ): Promise<Revision | undefined> {
    const { storage, quota } = this.#options;
    const place = { definition, cluster, name };
    await quota?.charge(place, growth, user);
    try {
      return await storage.commit(write, { signal });
    } catch (error) {
      quota?.refund(place, growth);
      return conflictError(definition, error);
    }
  }

  #read(
    definition: ResourceDefinition,
    key: StorageKey,
    signal: AbortSignal,
  ): Promise<Entry | undefined> {
    return translateStorageErrors({ resource: definition }, () =>
      this.#options.watchCache.get(key, { kind: "latest" }, signal),
    );
  }

  async #alreadyExists(
    definition: ResourceDefinition,
    address: ObjectAddress,
    signal: AbortSignal,
  ): Promise<Error> {
    const exists = statusError.alreadyExists(definition, address.name);
    const entry = await this.#read(definition, storageKeyOf(definition, address), signal);
    if (entry === undefined || !isBeingDeleted(entry)) return exists;
    return statusError.terminating(definition, address.name);
  }
}

/** The object of an entry, parsed while yielding to the event loop when it is large. */
interface PlannedDeletion {
  readonly step: DeletionStep;
  readonly uid: string | undefined;
  /** The stored object, where it was read. */
  readonly object: JsonObject | undefined;
}

function uidIn(metadata: JsonObject): string | undefined {
  return (metadata as { readonly uid?: string }).uid;
}

async function decoded(entry: Entry): Promise<JsonObject> {
  if (entry.value.length <= largeBytes) return decodeObject(entry);
  return runSyncFirst(decodeObjectResumable(entry));
}

/** The bytes that are stored for an object of the definition. */
async function storedValue(
  { codec }: ResourceDefinition,
  object: JsonObject,
  isLarge: boolean,
): Promise<Buffer> {
  const stored = codec?.storesAsServed === false ? await codec.toStored(object) : object;
  return isLarge ? runYielding(encodeObjectResumable(stored)) : encodeObject(stored);
}

/**
 * An invisible object does not exist for this definition, and a read-only one cannot be changed.
 */
function throwIfHidden(definition: ResourceDefinition, name: string, entry: Entry): void {
  if (definition.isVisible?.(entry) === false) throw statusError.notFound(definition, name);
  if (definition.isWritable?.(entry) === false)
    throw statusError.forbidden(definition, name, "it can be read here, and not changed");
}

interface Replacement {
  readonly write: Write;
  readonly growth: UsageDelta;
  readonly signal: AbortSignal;
  readonly user?: UserInfo | undefined;
}

function usageDeltaOf({ value: before }: Entry, value: Write["value"]): UsageDelta {
  return value === "delete"
    ? { objects: -1, bytes: -before.length }
    : { objects: 0, bytes: value.length - before.length };
}

/** Undefined when a commit failed because another writer was faster; throws other errors. */
function conflictError(definition: ResourceDefinition, error: unknown): undefined {
  if (isStorageError(error, "conflict")) return undefined;
  throw fromStorageError(error, { resource: definition });
}

/**
 * All entries are created with the same members in the same order, so that they have one hidden
 * class.
 */
function changed({ key, createdAt }: Entry, value: Uint8Array, modifiedAt: Revision): Entry {
  return { key, value, createdAt, modifiedAt };
}

/**
 * Equal content has the same bytes in some order, so nearly all changes are detected without
 * parsing.
 */
function* isSame(entry: Entry, value: Buffer): Resumable<boolean> {
  if (value.equals(entry.value)) return true;
  if (!mayBeEqual(value, entry.value)) return false;
  yield;
  const before = yield* decodeObjectResumable(entry);
  const after = yield* decodeObjectResumable({ ...entry, value });
  yield;
  return jsonEqual(before, after);
}

/** The object is marked as deleted, and no finalizer keeps it. */
function isRemovable(definition: ResourceDefinition, object: JsonObject): boolean {
  const metadata = object["metadata"] as JsonObject;
  if (metadata["deletionTimestamp"] === undefined) return false;
  const finalizers = metadata["finalizers"];
  if (Array.isArray(finalizers) && finalizers.length > 0) return false;
  if (Number(metadata["deletionGracePeriodSeconds"] ?? 0) > 0) return false;
  return definition.strategy.isRemovalBlocked?.(object) !== true;
}
