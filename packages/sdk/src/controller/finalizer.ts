/** Finalizers: an object is not removed before its controller has cleaned up. */
import type { CallOptions, KubernetesObject, ResourceClient } from "../client/index.ts";

export interface FinalizerOptions<Object extends KubernetesObject> extends CallOptions {
  readonly resource: ResourceClient<Object>;
  readonly object: Object;
  /** Qualified by a domain, such as `example.io/cleanup`. */
  readonly finalizer: string;
}

export function isBeingDeleted({ metadata }: KubernetesObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

export function hasFinalizer({ metadata }: KubernetesObject, finalizer: string): boolean {
  return metadata.finalizers?.includes(finalizer) ?? false;
}

/**
 * Adds the finalizer if it is missing, and returns the resulting object. Throws Conflict when the
 * object has changed.
 */
export async function addFinalizer<Object extends KubernetesObject>(
  options: FinalizerOptions<Object>,
): Promise<Object> {
  const { object, finalizer } = options;
  if (hasFinalizer(object, finalizer) || isBeingDeleted(object)) return object;
  return patchFinalizers(options, [...(object.metadata.finalizers ?? []), finalizer]);
}

/**
 * Removes the finalizer if it is set; an object that is being deleted is removed with its last
 * finalizer.
 */
export async function removeFinalizer<Object extends KubernetesObject>(
  options: FinalizerOptions<Object>,
): Promise<Object> {
  const { object, finalizer } = options;
  if (!hasFinalizer(object, finalizer)) return object;
  const left = (object.metadata.finalizers ?? []).filter((one) => one !== finalizer);
  return patchFinalizers(options, left);
}

/**
 * The complete pattern: for a live object, adds the finalizer and calls `reconcile`; for an object
 * that is being deleted, calls `cleanUp` and then removes the finalizer. If `cleanUp` throws, the
 * object stays and is requeued.
 */
export async function withFinalizer<Object extends KubernetesObject, Result>(
  options: FinalizerOptions<Object> & {
    readonly reconcile: (object: Object) => Promise<Result>;
    readonly cleanUp: (object: Object) => Promise<void>;
  },
): Promise<Result | undefined> {
  const { object, finalizer, reconcile, cleanUp } = options;
  if (!isBeingDeleted(object)) return reconcile(await addFinalizer(options));
  if (hasFinalizer(object, finalizer)) {
    await cleanUp(object);
    await removeFinalizer(options);
  }
  return undefined;
}

/**
 * A merge patch replaces the list of finalizers, so it must carry the resourceVersion at which the
 * list was read.
 */
function patchFinalizers<Object extends KubernetesObject>(
  { resource, object, signal }: FinalizerOptions<Object>,
  finalizers: readonly string[],
): Promise<Object> {
  const { name, namespace, resourceVersion, uid } = object.metadata;
  const metadata = {
    finalizers,
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(uid === undefined ? {} : { uid }),
  };
  return resource.patch({ name, namespace }, { type: "merge", patch: { metadata } }, { signal });
}
