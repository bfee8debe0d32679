/**
 * OwnWrites: what a controller wrote and its caches have not shown yet, so that a reconcile reads
 * its own writes.
 *
 * An entry is dropped as soon as the cache has the written version or a later one. Versions are
 * compared as Kubernetes defines it: as numbers, within one resource of one server. Where they
 * cannot be compared, the cache is trusted.
 */
import { formatResource, type KubernetesObject, type Resource } from "../client/index.ts";
import { formatKey, type ObjectKey } from "../informer/index.ts";

interface OwnWrite {
  readonly key: ObjectKey;
  /** Undefined after a deletion. */
  readonly object: KubernetesObject | undefined;
  /** Of the deleted object, as the cache had it. */
  readonly deletedVersion: string | undefined;
}

/** A cache, as far as it matters here. */
export interface CacheView {
  get(key: ObjectKey): KubernetesObject | undefined;
  /** The version up to which the cache has all changes. */
  seenVersion(): string | undefined;
}

/** The oldest are forgotten: a cache that is so far behind is about to be replaced. */
const ownWritesMax = 10_000;

export class OwnWrites {
  readonly #resources = new Map<string, Map<string, OwnWrite>>();

  written(
    resource: Resource,
    key: ObjectKey,
    object: KubernetesObject | undefined,
    cached: KubernetesObject | undefined,
  ): void {
    const id = formatResource(resource);
    const writes = this.#resources.get(id) ?? new Map<string, OwnWrite>();
    this.#resources.set(id, writes);
    const text = formatKey(key);
    const previous = writes.get(text)?.object ?? cached;
    writes.delete(text);
    writes.set(text, { key, object, deletedVersion: previous?.metadata.resourceVersion });
    if (writes.size <= ownWritesMax) return;
    for (const oldest of writes.keys()) {
      writes.delete(oldest);
      return;
    }
  }

  /** The newest state that is known: that of the cache, or the controller's own write. */
  newest(resource: Resource, key: ObjectKey, cache: CacheView): KubernetesObject | undefined {
    const cached = cache.get(key);
    const writes = this.#resources.get(formatResource(resource));
    const text = formatKey(key);
    const own = writes?.get(text);
    if (own === undefined) return cached;
    if (isAhead(own, cached, cache.seenVersion())) return own.object;
    writes?.delete(text);
    return cached;
  }

  /** The keys of this resource that have writes. */
  keys(resource: Resource): ObjectKey[] {
    const writes = this.#resources.get(formatResource(resource));
    return writes === undefined ? [] : [...writes.values()].map(({ key }) => key);
  }
}

function isAhead(
  { object, deletedVersion }: OwnWrite,
  cached: KubernetesObject | undefined,
  seenVersion: string | undefined,
): boolean {
  const cachedVersion = cached?.metadata.resourceVersion;
  if (object === undefined) {
    // Of a later object of the same name the version is a later one.
    return cached !== undefined && cachedVersion === deletedVersion;
  }
  const version = object.metadata.resourceVersion;
  if (cached !== undefined) return isLater(version, cachedVersion);
  return seenVersion === undefined || isLater(version, seenVersion);
}

/** False where the two cannot be compared. */
export function isLater(version: string | undefined, than: string | undefined): boolean {
  if (version === undefined || than === undefined) return false;
  if (!/^[1-9]\d*$/.test(version) || !/^\d+$/.test(than)) return false;
  return version.length === than.length ? version > than : version.length > than.length;
}
