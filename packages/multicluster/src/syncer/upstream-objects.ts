/**
 * The upstream objects of one kind, as a syncer reads and writes them.
 *
 * Errors from here are distinguished from the cluster's errors: an error of one tenant's logical
 * cluster must not block the kind for other tenants.
 */
import { isStatusError } from "@kcp-ts/machinery/status";
import type {
  DynamicObject,
  KubernetesObject,
  ObjectInput,
  ObjectKey,
  Patch,
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

  patch(key: ObjectKey, patch: Patch): Promise<KubernetesObject> {
    return guarded(this.#in(key).patch(key, patch, this.#options));
  }

  /** Where the kind has no status subresource, the object itself is patched. */
  patchStatus(key: ObjectKey, patch: Patch): Promise<KubernetesObject> {
    const resource = this.#in(key);
    return guarded(
      this.#synced.hasStatus
        ? resource.patchStatus(key, patch, this.#options)
        : resource.patch(key, patch, this.#options),
    );
  }

  apply(key: ObjectKey, object: ObjectInput<DynamicObject>): Promise<KubernetesObject> {
    return guarded(this.#in(key).apply(object, { ...this.#options, force: true }));
  }

  /** Deletes the object of this uid; an object that is already deleted is no error. */
  async delete(key: ObjectKey, uid: string): Promise<void> {
    const { signal } = this.#context;
    try {
      const options = { preconditions: { uid }, gracePeriodSeconds: 0, signal };
      await this.#in(key).delete(key, options);
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

async function guarded<Value>(answer: Promise<Value>): Promise<Value> {
  try {
    return await answer;
  } catch (error) {
    throw marked(error);
  }
}

function marked(error: unknown): unknown {
  if (typeof error === "object" && error !== null) upstreamErrors.add(error);
  return error;
}
