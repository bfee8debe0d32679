/** Wiring: how much a logical cluster may store, asked before an object is created and when it is stored. */
import { type Clock, neverAborted } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import { type AdmissionPlugin, denied } from "./admission/index.ts";
import { ObjectLimiter, type Usage } from "./fairness/index.ts";
import {
  type Capacity,
  type Catalog,
  collectionKeyOf,
  type Growth,
  type StoredPlace,
} from "./registry/index.ts";
import type { MaybePromise } from "./request/api-request.ts";
import { type UserInfo, wellKnownGroup } from "./request/user.ts";
import { clusterPrefix, type Storage, type StorageKey } from "./storage/index.ts";
import type { Tenancy } from "./tenancy/index.ts";
import type { TrafficOptions } from "./traffic.ts";
import type { WatchHub } from "./watch-cache/index.ts";

const objectCountIntervalDefaultMs = 60_000;

interface StoredLimitsParts {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly hub: WatchHub;
  readonly catalog: () => Catalog;
  readonly tenancy: () => Pick<Tenancy, "objectLimitOf" | "isBootstrapping">;
}

/** kcp's limit of objects in a logical cluster, and ours of their bytes. */
export class StoredLimits implements Capacity {
  readonly #limiter: ObjectLimiter;

  constructor(limits: TrafficOptions["tenantLimits"], parts: StoredLimitsParts) {
    const { storage, clock, hub, catalog, tenancy } = parts;
    const { objectsPerClusterMax = 0, bytesPerClusterMax = 0 } = limits ?? {};
    const { objectCountIntervalMs = objectCountIntervalDefaultMs } = limits ?? {};
    this.#limiter = new ObjectLimiter({
      limits: { objectsPerClusterMax, bytesPerClusterMax, objectCountIntervalMs },
      clock,
      usageOf: (cluster, withBytes) =>
        usageOf(cluster as ClusterName, withBytes, { storage, catalog: catalog() }),
      ownLimitOf: (cluster) => tenancy().objectLimitOf(cluster as ClusterName),
      isBootstrapping: (cluster) => tenancy().isBootstrapping(cluster as ClusterName),
    });
    hub.gone.tell((cluster) => this.#limiter.forget(cluster));
  }

  /** Before anything is done for an object that has no room anyway. */
  readonly plugin: AdmissionPlugin = {
    name: "core.kcp.io/LogicalClusterObjectCountLimit",
    admit: (request) => {
      const { operation, subresource, isDryRun, cluster } = request;
      if (operation !== "CREATE" || subresource !== "" || isDryRun) return undefined;
      if (isUncounted(request, request.name)) return undefined;
      return unlessRefused(this.#limiter.refusal(cluster), (reason) => denied(request, reason));
    },
  };

  /**
   * What makes an object smaller is never refused, nor what the server's own loops write about it: they must be able to say how an object
   * does, and to let go of it.
   */
  take(place: StoredPlace, growth: Growth, user: UserInfo | undefined): MaybePromise<void> {
    const { definition, cluster, name } = place;
    if (isUncounted(definition, name)) return undefined;
    const isShrinking = growth.objects <= 0 && growth.bytes <= 0;
    const isOwn = user === undefined || (growth.objects === 0 && isMaster(user));
    if (!isShrinking && !isOwn)
      return unlessRefused(this.#limiter.take(cluster, growth), (reason) =>
        statusError.forbidden(definition, name, reason),
      );
    this.#limiter.note(cluster, growth);
    return undefined;
  }

  giveBack({ definition, cluster, name }: StoredPlace, { objects, bytes }: Growth): void {
    if (isUncounted(definition, name)) return;
    this.#limiter.note(cluster, { objects: -objects, bytes: -bytes });
  }
}

function unlessRefused(
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

interface Kind {
  readonly group: string;
  readonly resource: string;
}

/** As in kcp: events come and go by themselves, and are needed to see what is wrong in a full cluster; the rest every workspace begins with. */
function isUncounted(kind: Kind, name: string): boolean {
  return isUncountedKind(kind) || (isRoleBinding(kind) && name === "workspace-admin");
}

function isUncountedKind({ group, resource }: Kind): boolean {
  if (resource === "events") return group === "" || group === "events.k8s.io";
  return resource === "logicalclusters" && group === "core.kcp.io";
}

function isRoleBinding({ group, resource }: Kind): boolean {
  return resource === "clusterrolebindings" && group === "rbac.authorization.k8s.io";
}

const pageEntries = 500;

async function usageOf(
  cluster: ClusterName,
  withBytes: boolean,
  { storage, catalog }: { storage: Storage; catalog: Catalog },
): Promise<Usage> {
  const signal = neverAborted;
  const prefixes = new Set(
    (await catalog.all(cluster))
      .filter((definition) => !isUncountedKind(definition))
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
