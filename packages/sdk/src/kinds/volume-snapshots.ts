/** Volume snapshots, whose definitions a cluster installs with its CSI drivers. */
import type { DynamicObject, Resource } from "../client/index.ts";

export const volumeSnapshots: Resource<DynamicObject> = {
  group: "snapshot.storage.k8s.io",
  version: "v1",
  resource: "volumesnapshots",
  kind: "VolumeSnapshot",
  namespaced: true,
};

export const volumeSnapshotContents: Resource<DynamicObject> = {
  group: "snapshot.storage.k8s.io",
  version: "v1",
  resource: "volumesnapshotcontents",
  kind: "VolumeSnapshotContent",
  namespaced: false,
};

export const volumeSnapshotClasses: Resource<DynamicObject> = {
  group: "snapshot.storage.k8s.io",
  version: "v1",
  resource: "volumesnapshotclasses",
  kind: "VolumeSnapshotClass",
  namespaced: false,
};
