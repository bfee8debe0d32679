/**
 * Tells tables that are kept by logical cluster which clusters are no more, so that a deleted workspace leaves nothing behind in memory.
 *
 * A LogicalCluster object is the last thing to go of its cluster: what is loaded of one after that is empty, and goes when others come.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { parseObjectKey, resourcePrefix, type StorageError } from "../storage/index.ts";
import type { HubEvent } from "./hub-event.ts";
import type { WatchHub } from "./watch-hub.ts";

const prefix = resourcePrefix({ group: "core.kcp.io", resource: "logicalclusters", identity: "" });

export function whenClustersGo(hub: WatchHub, forget: (cluster: ClusterName) => void): void {
  hub.listen(prefix, {
    onEvent({ key, current }: HubEvent) {
      if (current === undefined) forget(parseObjectKey(key).cluster);
    },
    // The tables are emptied then, by whoever keeps them.
    onLost(error: StorageError) {
      if (error.code !== "closed") whenClustersGo(hub, forget);
    },
  });
}
