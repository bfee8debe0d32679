/** On upstream objects, `<prefix><SyncTarget>`: why it is not in sync. Written by the syncer; absent when it is. */
const syncedAnnotationPrefix = "synced.workload.kcp.io/";

export function syncedAnnotation(target: string): string {
  return syncedAnnotationPrefix + target;
}
