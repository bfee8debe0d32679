/**
 * Wiring of the storage limits of a logical cluster, which are checked before an object is created
 * and when it is stored.
 */
import { assert, type Clock, neverAborted } from "@kcp-ts/machinery/base";
import { type ClusterName, rootCluster } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import { type AdmissionPlugin, denied } from "../admission/index.ts";
import type { ClusterDirectory, CountedKind } from "../cluster-directory.ts";
import { ObjectLimiter, type StoredUsage } from "../flow-control/index.ts";
import {
  collectionKeyOf,
  type StorageQuota,
  type StoredLocation,
  type UsageDelta,
} from "../registry/index.ts";
import { isSystemMaster, type UserInfo } from "../request/user.ts";
import type { RequestLimitOptions } from "../request-limits.ts";
import { clusterPrefix, type Storage, type StorageKey } from "../storage/index.ts";
import type { WatchHub } from "../watch-cache/index.ts";

const objectCountIntervalDefaultMs = 60_000;
/** Zero is no limit. */
const unlimited: StoredUsage = { objects: 0, bytes: 0 };

interface ClusterStorageQuotaDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly hub: WatchHub;
}

type LimitsDirectory = Pick<
  ClusterDirectory,
  "catalog" | "objectLimitOf" | "isBootstrapping" | "isUncounted"
>;

/**
 * ClusterStorageQuota enforces kcp's limit of objects in a logical cluster, and this server's limit
 * of their bytes.
 */
export class ClusterStorageQuota implements StorageQuota {
  readonly #limiter: ObjectLimiter;
  readonly #perCluster: StoredUsage;
  /** Undefined until the server connects it: the directory is created after the registry. */
  #directory: LimitsDirectory | undefined;

  constructor(
    limits: RequestLimitOptions["tenantLimits"],
    dependencies: ClusterStorageQuotaDependencies,
  ) {
    const { storage, clock, hub } = dependencies;
    const { objectsPerClusterMax = 0, bytesPerClusterMax = 0 } = limits ?? {};
    this.#perCluster = { objects: objectsPerClusterMax, bytes: bytesPerClusterMax };
    const countIntervalMs = limits?.objectCountIntervalMs ?? objectCountIntervalDefaultMs;
    this.#limiter = new ObjectLimiter({
      clock,
      countIntervalMs,
      countsBytes: bytesPerClusterMax > 0,
      usageOf: (cluster, withBytes) =>
        usageOf(cluster as ClusterName, withBytes, { storage, directory: this.#connected() }),
      isBootstrapping: async (cluster) => this.#connected().isBootstrapping(cluster as ClusterName),
    });
    hub.clusterDeletions.onDeleted((cluster) => this.#limiter.forget(cluster));
  }

  get topStored(): ObjectLimiter["topStored"] {
    return this.#limiter.topStored;
  }

  connect(directory: LimitsDirectory): void {
    this.#directory = directory;
  }

  #connected(): LimitsDirectory {
    assert(this.#directory !== undefined, "the directory is connected before the first write");
    return this.#directory;
  }

  /** Rejects a creation in a full cluster before the server does any work for the object. */
  readonly plugin: AdmissionPlugin = {
    name: "core.kcp.io/LogicalClusterObjectCountLimit",
    admit: async (request) => {
      const { operation, subresource, isDryRun, cluster } = request;
      if (operation !== "CREATE" || subresource !== "" || isDryRun) return;
      if (this.#isUncounted(request, request.name)) return;
      const max = await this.#limitOf(cluster);
      const reason = max && (await this.#limiter.limitExceededReason(cluster, max));
      if (reason !== undefined) throw denied(request, reason);
    },
  };

  /**
   * Charges a write. Writes that make an object smaller are never rejected, nor are writes of the
   * server's own loops, which must be able to update the status of an object and to remove
   * finalizers.
   */
  async charge(
    place: StoredLocation,
    growth: UsageDelta,
    user: UserInfo | undefined,
  ): Promise<void> {
    const { definition, cluster, name } = place;
    if (this.#isUncounted(definition, name)) return;
    const isShrinking = growth.objects <= 0 && growth.bytes <= 0;
    const isOwn = user === undefined || (growth.objects === 0 && isSystemMaster(user));
    if (isShrinking || isOwn) {
      this.#limiter.record(cluster, growth);
      return;
    }
    const max = await this.#limitOf(cluster);
    const reason = max && (await this.#limiter.charge(cluster, growth, max));
    if (reason !== undefined) throw statusError.forbidden(definition, name, reason);
  }

  refund({ definition, cluster, name }: StoredLocation, { objects, bytes }: UsageDelta): void {
    if (this.#isUncounted(definition, name)) return;
    this.#limiter.record(cluster, { objects: -objects, bytes: -bytes });
  }

  #isUncounted(kind: CountedKind, name: string): boolean {
    return isEvent(kind) || this.#directory?.isUncounted(kind, name) === true;
  }

  /**
   * The limit that the cluster itself declares, or that of all clusters. The operator's own
   * clusters are only limited when they declare a limit. Undefined for an unlimited cluster.
   */
  async #limitOf(cluster: ClusterName): Promise<StoredUsage | undefined> {
    const declared = await this.#directory?.objectLimitOf(cluster);
    const isExempt = cluster === rootCluster || cluster.startsWith("system:");
    const { objects, bytes } = isExempt ? unlimited : this.#perCluster;
    const max = { objects: declared ?? objects, bytes };
    return max.objects > 0 || max.bytes > 0 ? max : undefined;
  }
}

/**
 * Events do not count, as in kcp: they expire by themselves, and are needed to diagnose a full
 * cluster.
 */
function isEvent({ group, resource }: CountedKind): boolean {
  return resource === "events" && (group === "" || group === "events.k8s.io");
}

const pageEntries = 500;

async function usageOf(
  cluster: ClusterName,
  withBytes: boolean,
  { storage, directory }: { storage: Storage; directory: LimitsDirectory },
): Promise<StoredUsage> {
  const signal = neverAborted;
  const prefixes = new Set(
    (await directory.catalog.all(cluster))
      .filter((definition) => !isEvent(definition) && !directory.isUncounted(definition))
      .map((definition) => clusterPrefix({ ...collectionKeyOf(definition), cluster })),
  );
  let [objects, bytes] = [0, 0];
  for (const prefix of prefixes) {
    if (!withBytes) {
      objects += await storage.count(prefix, { signal });
      continue;
    }
    for (let continueAfter: StorageKey | undefined, isMore = true; isMore; ) {
      const page = await storage.list(prefix, { signal, entriesMax: pageEntries, continueAfter });
      objects += page.entries.length;
      for (const { value } of page.entries) bytes += value.length;
      continueAfter = page.entries.at(-1)?.key;
      isMore = page.more;
    }
  }
  return { objects, bytes };
}
