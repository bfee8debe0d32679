/** A warm standby of an embedded store: docs/adr/0098. */
export { FrameError, frameBytesMax } from "./change-frames.ts";
export {
  type FollowedStore,
  Follower,
  type FollowerOptions,
  type LostPrimary,
  type Primary,
} from "./follower.ts";
export {
  type ReplicationDependencies,
  renewalMs,
  replicationPath,
  serveReplication,
  storeHeader,
} from "./serve-replication.ts";
export {
  claimPrimary,
  type StandbyRole,
  StandbyRoleError,
  standbyRoleOf,
  writeStandbyRole,
} from "./standby-role.ts";
