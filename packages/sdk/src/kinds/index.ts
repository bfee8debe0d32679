/**
 * The kinds of Kubernetes, of kcp and of volume snapshots: types of their objects, and their
 * resources for a client. Types of parts are members of these, as in `NonNullable<Pod["spec"]>`.
 */
export * from "./generated/index.ts";
export * from "./kcp/generated/index.ts";
export {
  volumeSnapshotClasses,
  volumeSnapshotContents,
  volumeSnapshots,
} from "./volume-snapshots.ts";
