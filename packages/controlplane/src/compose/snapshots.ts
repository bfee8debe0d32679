/**
 * Reads and fills an open store completely, for backup and restore; undefined for a store in
 * memory.
 */
import type {
  CallOptions,
  Entry,
  SnapshotSource,
  SnapshotTarget,
  Storage,
} from "@kcp-ts/apiserver/storage";
import type { OpenedStorage } from "./storage.ts";

export type SnapshotStore = SnapshotSource & SnapshotTarget;

export function snapshotsOf(storage: OpenedStorage): SnapshotStore | undefined {
  const { openSnapshot, restoreSnapshot, storedChanges } = storage;
  if (openSnapshot === undefined) return undefined;
  const source: SnapshotSource = {
    openSnapshot: (options) => openSnapshot.call(storage, options),
    ...(storedChanges && { storedChanges: storedChanges.bind(storage) }),
  };
  if (restoreSnapshot !== undefined) {
    return {
      ...source,
      restoreSnapshot: (snapshot, options) => restoreSnapshot.call(storage, snapshot, options),
    };
  }
  if (!renumbers(storage)) return undefined;
  return {
    ...source,
    restoreSnapshot: async ({ entries }, options) => {
      await storage.restore(entries, options);
    },
  };
}

/** etcd's revisions are its own, so a restore to it cannot keep them. */
interface RenumberingTarget {
  restore(entries: AsyncIterable<Entry>, options: CallOptions): Promise<unknown>;
}

function renumbers(storage: Storage): storage is Storage & RenumberingTarget {
  return "restore" in storage;
}
