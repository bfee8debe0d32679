/**
 * Wiring of the storage limits of a logical cluster, which are checked before an object is created
 * and when it is stored.
 */
import { type Clock, neverAborted } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
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
import type { MaybePromise } from "../request/api-request.ts";
import { type UserInfo, wellKnownGroup } from "../request/user.ts";
import type { RequestLimitOptions } from "../request-limits.ts";
import { clusterPrefix, type Storage, type StorageKey } from "../storage/index.ts";
import type { WatchHub } from "../watch-cache/index.ts";

const objectCountIntervalDefaultMs = 60_000;

interface ClusterStorageQuotaDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly hub: WatchHub;
  /** Called on demand: the directory is created after the registry. */
  readonly directory: () => LimitsDirectory;
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
  readonly #directory: () => LimitsDirectory;

  constructor(
    limits: RequestLimitOptions["tenantLimits"],
    dependencies: ClusterStorageQuotaDependencies,
  ) {
    const { storage, clock, hub, directory } = dependencies;
    this.#directory = directory;
    const { objectsPerClusterMax = 0, bytesPerClusterMax = 0 } = limits ?? {};
    const { objectCountIntervalMs = objectCountIntervalDefaultMs } = limits ?? {};
    this.#limiter = new ObjectLimiter({
      limits: { objectsPerClusterMax, bytesPerClusterMax, objectCountIntervalMs },
      clock,
      usageOf: (cluster, withBytes) =>
        usageOf(cluster as ClusterName, withBytes, { storage, directory: directory() }),
      clusterLimitOf: (cluster) => directory().objectLimitOf(cluster as ClusterName),
      isBootstrapping: (cluster) => directory().isBootstrapping(cluster as ClusterName),
    });
    hub.clusterDeletions.onDeleted((cluster) => this.#limiter.forget(cluster));
  }

  /** Rejects a creation in a full cluster before the server does any work for the object. */
  readonly plugin: AdmissionPlugin = {
    name: "core.kcp.io/LogicalClusterObjectCountLimit",
    admit: (request) => {
      const { operation, subresource, isDryRun, cluster } = request;
      if (operation !== "CREATE" || subresource !== "" || isDryRun) return undefined;
      if (this.#isUncounted(request, request.name)) return undefined;
      return throwIfExceeded(this.#limiter.limitExceededReason(cluster), (reason) =>
        denied(request, reason),
      );
    },
  };

  /**
   * Charges a write. Writes that make an object smaller are never rejected, nor are writes of the
   * server's own loops, which must be able to update the status of an object and to remove
   * finalizers.
   */
  charge(
    place: StoredLocation,
    growth: UsageDelta,
    user: UserInfo | undefined,
  ): MaybePromise<void> {
    const { definition, cluster, name } = place;
    if (this.#isUncounted(definition, name)) return undefined;
    const isShrinking = growth.objects <= 0 && growth.bytes <= 0;
    const isOwn = user === undefined || (growth.objects === 0 && isMaster(user));
    if (!isShrinking && !isOwn)
      return throwIfExceeded(this.#limiter.charge(cluster, growth), (reason) =>
        statusError.forbidden(definition, name, reason),
      );
    this.#limiter.record(cluster, growth);
    return undefined;
  }

  refund({ definition, cluster, name }: StoredLocation, { objects, bytes }: UsageDelta): void {
    if (this.#isUncounted(definition, name)) return;
    this.#limiter.record(cluster, { objects: -objects, bytes: -bytes });
  }

  #isUncounted(kind: CountedKind, name: string): boolean {
    return isEvent(kind) || this.#directory().isUncounted(kind, name);
  }
}

function throwIfExceeded(
  refusal: MaybePromise<string | undefined>,
  toError: (reason: string) => Error,
): MaybePromise<void> {
  const settle = (reason: string | undefined) => {
    if (reason !== undefined) throw toError(reason);
  };
  if (refusal instanceof Promise) return refusal.then(settle);
  settle(refusal);
  return undefined;
}

function isMaster({ groups }: UserInfo): boolean {
  return groups.includes(wellKnownGroup.masters);
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
