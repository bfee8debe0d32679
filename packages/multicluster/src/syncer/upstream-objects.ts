/**
 * The upstream objects of one kind, as a syncer reads and writes them.
 *
 * Errors from here are distinguished from the cluster's errors: an error of one tenant's logical
 * cluster must not block the kind for other tenants.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import type {
  DynamicObject,
  JsonPatchOperation,
  KubernetesObject,
  ObjectInput,
  ObjectKey,
  ObjectMeta,
  ResourceClient,
} from "@kcp-ts/sdk";
import { syncerFieldManager } from "../api/index.ts";
import type { SyncContext, SyncedResource } from "./context.ts";
import { isObjectNotFound } from "./sync-error.ts";

const upstreamErrors = new WeakSet<object>();

export function isUpstreamError(error: unknown): boolean {
  return typeof error === "object" && error !== null && upstreamErrors.has(error);
}

/** The request was not rejected, but got no response, or a response to retry later. */
export function isUpstreamUnavailable(error: unknown): boolean {
  if (!isUpstreamError(error)) return false;
  return !isStatusError(error) || error.code >= 500 || error.code === 429;
}

export class UpstreamObjects {
  readonly #context: SyncContext;
  readonly #synced: SyncedResource;

  constructor(context: SyncContext, synced: SyncedResource) {
    this.#context = context;
    this.#synced = synced;
  }

  /**
   * Undefined only when the server responds that no object has this name. All other errors are
   * thrown.
   */
  async get(key: ObjectKey): Promise<KubernetesObject | undefined> {
    const { signal } = this.#context;
    try {
      return await this.#in(key).get(key, { signal });
    } catch (error) {
      if (isObjectNotFound(error, key.name)) return undefined;
      throw marked(error);
    }
  }

  /** Patches the object of this uid. */
  mergePatch(key: ObjectKey, uid: string, patch: JsonObject): Promise<KubernetesObject> {
    return guarded(async () => {
      const object = this.#in(key).sameObject({ metadata: { ...key, uid } });
      return await object.mergePatch(patch, this.#options);
    });
  }

  /** Patches the object as it was observed: for its finalizers. */
  mergePatchVersion(
    key: ObjectKey,
    { uid, resourceVersion }: Pick<ObjectMeta, "uid" | "resourceVersion">,
    patch: JsonObject,
  ): Promise<KubernetesObject> {
    return guarded(async () => {
      const metadata = { ...key, uid, resourceVersion };
      return await this.#in(key).sameVersion({ metadata }).mergePatch(patch, this.#options);
    });
  }

  /** Where the kind has no status subresource, the object itself is patched. */
  jsonPatchStatus(
    key: ObjectKey,
    uid: string,
    operations: readonly JsonPatchOperation[],
  ): Promise<KubernetesObject> {
    return guarded(async () => {
      const object = this.#in(key).sameObject({ metadata: { ...key, uid } });
      return await (this.#synced.hasStatus
        ? object.jsonPatchStatus(operations, this.#options)
        : object.jsonPatch(operations, this.#options));
    });
  }

  apply(key: ObjectKey, object: ObjectInput<DynamicObject>): Promise<KubernetesObject> {
    return guarded(() => this.#in(key).apply(object, { ...this.#options, force: true }));
  }

  /** Deletes the object of this uid; an object that is already deleted is no error. */
  async delete(key: ObjectKey, uid: string): Promise<void> {
    const { signal } = this.#context;
    try {
      const object = this.#in(key).sameObject({ metadata: { ...key, uid } });
      await object.remove({ gracePeriodSeconds: 0, signal });
    } catch (error) {
      if (!isObjectNotFound(error, key.name)) throw marked(error);
    }
  }

  get #options() {
    return { fieldManager: syncerFieldManager, signal: this.#context.signal };
  }

  #in({ cluster }: ObjectKey): ResourceClient<DynamicObject> {
    return this.#context
      .upstreamIn(cluster)
      .resource<DynamicObject>(this.#synced.resource as never);
  }
}

async function guarded<Value>(write: () => Promise<Value>): Promise<Value> {
  try {
    return await write();
  } catch (error) {
    throw marked(error);
  }
}

function marked(error: unknown): unknown {
  if (typeof error === "object" && error !== null) upstreamErrors.add(error);
  return error;
}
