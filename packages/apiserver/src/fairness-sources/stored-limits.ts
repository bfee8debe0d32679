/** Wiring: how much a logical cluster may store, asked before an object is created and when it is stored. */
import { type Clock, neverAborted } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import { type AdmissionPlugin, denied } from "../admission/index.ts";
import type { ClusterDirectory, CountedKind } from "../cluster-directory.ts";
import { ObjectLimiter, type StoredUsage } from "../fairness/index.ts";
import {
  collectionKeyOf,
  type StorageQuota,
  type StoredLocation,
  type UsageDelta,
} from "../registry/index.ts";
import type { MaybePromise } from "../request/api-request.ts";
import { type UserInfo, wellKnownGroup } from "../request/user.ts";
import { clusterPrefix, type Storage, type StorageKey } from "../storage/index.ts";
import type { RequestLimitOptions } from "../traffic.ts";
import type { WatchHub } from "../watch-cache/index.ts";

const objectCountIntervalDefaultMs = 60_000;

interface ClusterStorageQuotaDependencies {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly hub: WatchHub;
  /** Asked for when it is needed: it is made later than what stores objects. */
  readonly directory: () => LimitsDirectory;
}

type LimitsDirectory = Pick<
  ClusterDirectory,
  "catalog" | "objectLimitOf" | "isBootstrapping" | "isUncounted"
>;

/** kcp's limit of objects in a logical cluster, and ours of their bytes. */
export class ClusterStorageQuota implements StorageQuota {
  readonly #limiter: ObjectLimiter;
  readonly #directory: () => LimitsDirectory;

  constructor(limits: RequestLimitOptions["tenantLimits"], parts: ClusterStorageQuotaDependencies) {
    const { storage, clock, hub, directory } = parts;
    this.#directory = directory;
    const { objectsPerClusterMax = 0, bytesPerClusterMax = 0 } = limits ?? {};
    const { objectCountIntervalMs = objectCountIntervalDefaultMs } = limits ?? {};
    this.#limiter = new ObjectLimiter({
      limits: { objectsPerClusterMax, bytesPerClusterMax, objectCountIntervalMs },
      clock,
      usageOf: (cluster, withBytes) =>
        usageOf(cluster as ClusterName, withBytes, { storage, directory: directory() }),
      ownLimitOf: (cluster) => directory().objectLimitOf(cluster as ClusterName),
      isBootstrapping: (cluster) => directory().isBootstrapping(cluster as ClusterName),
    });
    hub.gone.tell((cluster) => this.#limiter.forget(cluster));
  }

  /** Before anything is done for an object that has no room anyway. */
  readonly plugin: AdmissionPlugin = {
    name: "core.kcp.io/LogicalClusterObjectCountLimit",
    admit: (request) => {
      const { operation, subresource, isDryRun, cluster } = request;
      if (operation !== "CREATE" || subresource !== "" || isDryRun) return undefined;
      if (this.#isUncounted(request, request.name)) return undefined;
      return throwIfExceeded(this.#limiter.refusal(cluster), (reason) => denied(request, reason));
    },
  };

  /**
   * What makes an object smaller is never refused, nor what the server's own loops write about it: they must be able to say how an object
   * does, and to let go of it.
   */
  take(place: StoredLocation, growth: UsageDelta, user: UserInfo | undefined): MaybePromise<void> {
    const { definition, cluster, name } = place;
    if (this.#isUncounted(definition, name)) return undefined;
    const isShrinking = growth.objects <= 0 && growth.bytes <= 0;
    const isOwn = user === undefined || (growth.objects === 0 && isMaster(user));
    if (!isShrinking && !isOwn)
      return throwIfExceeded(this.#limiter.take(cluster, growth), (reason) =>
        statusError.forbidden(definition, name, reason),
      );
    this.#limiter.note(cluster, growth);
    return undefined;
  }

  giveBack({ definition, cluster, name }: StoredLocation, { objects, bytes }: UsageDelta): void {
    if (this.#isUncounted(definition, name)) return;
    this.#limiter.note(cluster, { objects: -objects, bytes: -bytes });
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

/** As in kcp: events come and go by themselves, and are needed to see what is wrong in a full cluster. */
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
