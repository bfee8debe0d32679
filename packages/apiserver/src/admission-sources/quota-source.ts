/** QuotaSource: the ResourceQuotas of each namespace, and writes of their used amounts. */
import { neverAborted } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Quota, QuotaSource } from "../admission/index.ts";
import { type Draft, type Registry, resourceQuotas } from "../registry/index.ts";
import { type Entry, parseObjectKey, type Storage } from "../storage/index.ts";
import { decodeObject } from "../stored-object/index.ts";
import type { WatchCache } from "../watch-cache/index.ts";
import { ClusterIndex, type ClusterIndexOptions } from "./cluster-index.ts";

export interface QuotaSourceOptions {
  readonly storage: Storage;
  readonly watchCache: WatchCache;
  readonly registry: Registry;
  /** See `ClusterIndexOptions`. */
  readonly mayContain?: ClusterIndexOptions<unknown>["mayContain"];
}

/**
 * A quota with this annotation applies to the whole logical cluster, in whichever namespace it is.
 */
const clusterScopedAnnotation = "experimental.quota.kcp.io/cluster-scoped";

export function quotaSource(options: QuotaSourceOptions): QuotaSource {
  const { storage, watchCache, registry, mayContain } = options;
  const { hub } = watchCache;
  const index = new ClusterIndex<QuotaSet>({
    storage,
    hub,
    mayContain,
    collections: [{ group: "", resource: "resourcequotas", identity: "" }],
    create: () => new QuotaSet(),
    apply: (set, key, entry) => {
      const { namespace, name } = parseObjectKey(key);
      set.apply(namespace, name, entry);
    },
  });
  return {
    clusters: index,
    quotas: async (cluster, namespace) => (await index.load(cluster)).quotas(namespace),
    update: (cluster, quota, change) => updateStatus(registry, cluster, quota, change),
  };
}

/** The quotas of one logical cluster. */
class QuotaSet {
  readonly #byNamespace = new Map<string, Map<string, Quota>>();
  readonly #clusterScoped = new Map<string, Quota>();

  apply(namespace: string, name: string, entry: Entry | undefined): void {
    const key = `${namespace}/${name}`;
    this.#clusterScoped.delete(key);
    const known = this.#byNamespace.get(namespace);
    known?.delete(name);
    if (known?.size === 0) this.#byNamespace.delete(namespace);
    if (entry === undefined) return;
    const object = decodeObject(entry);
    const quota = { namespace, name, object };
    if (isClusterScoped(object)) {
      this.#clusterScoped.set(key, quota);
      return;
    }
    const quotas = this.#byNamespace.get(namespace) ?? new Map<string, Quota>();
    quotas.set(name, quota);
    this.#byNamespace.set(namespace, quotas);
  }

  quotas(namespace: string): readonly Quota[] {
    const own = this.#byNamespace.get(namespace)?.values() ?? [];
    return [...own, ...this.#clusterScoped.values()];
  }
}

function isClusterScoped(object: JsonObject): boolean {
  const { annotations } = object["metadata"] as JsonObject;
  return isJsonObject(annotations) && annotations[clusterScopedAnnotation] === "true";
}

/**
 * Updates the status by compare-and-swap: the registry applies the change to the newest status
 * until the write succeeds.
 */
async function updateStatus(
  registry: Registry,
  cluster: ClusterName,
  { namespace, name }: Quota,
  change: Parameters<QuotaSource["update"]>[2],
): Promise<boolean> {
  try {
    await registry.update(
      resourceQuotas,
      { cluster, namespace, name },
      async (old) => {
        const present = old as JsonObject;
        const { hard = {}, used = {} } = (present["status"] ?? {}) as Partial<
          ReturnType<typeof change>
        >;
        const { resourceVersion: _, ...metadata } = present["metadata"] as JsonObject;
        return { ...present, metadata, status: change({ hard, used }) } as unknown as Draft;
      },
      {
        isDryRun: false,
        isDerivedFromLive: true,
        subresource: resourceQuotas.subresources.get("status"),
        validate: () => undefined,
        signal: neverAborted,
      },
    );
    return true;
  } catch (error) {
    if (isStatusError(error, "NotFound")) return false;
    throw error;
  }
}
