/** How an open store is read and filled as a whole; undefined for one that is gone with the process. */
import type {
  Entry,
  Revision,
  SnapshotSource,
  SnapshotTarget,
  Storage,
} from "@kcp-ts/server/storage";
import type { OpenedStorage } from "./storage.ts";

export type SnapshotStore = SnapshotSource & SnapshotTarget;

/** The words of the etcd store: its revisions are etcd's, so a restore cannot keep them. */
interface EtcdSnapshots {
  snapshot(options: {
    readonly signal: AbortSignal;
  }): Promise<{ readonly revision: Revision; readonly entries: AsyncIterable<Entry> }>;
  restore(
    entries: AsyncIterable<Entry>,
    options: { readonly signal: AbortSignal },
  ): Promise<unknown>;
}

export function snapshotsOf(storage: OpenedStorage): SnapshotStore | undefined {
  const { openSnapshot, restoreSnapshot } = storage;
  if (openSnapshot !== undefined && restoreSnapshot !== undefined) {
    return {
      openSnapshot: (options) => openSnapshot.call(storage, options),
      restoreSnapshot: (snapshot, options) => restoreSnapshot.call(storage, snapshot, options),
    };
  }
  if (!hasEtcdSnapshots(storage)) return undefined;
  return {
    openSnapshot: async (options) => ({
      ...(await storage.snapshot(options)),
      close: async () => undefined,
    }),
    restoreSnapshot: async ({ entries }, options) => {
      await storage.restore(entries, options);
    },
  };
}

function hasEtcdSnapshots(storage: Storage): storage is Storage & EtcdSnapshots {
  return "snapshot" in storage && "restore" in storage;
}
