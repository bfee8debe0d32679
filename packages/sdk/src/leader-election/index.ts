/** Leader election by Lease, compatible with client-go's candidates. */
export { fencedTransport, NotLeaderError } from "./fenced-transport.ts";
export {
  LeaderElector,
  type LeaderElectorOptions,
  type Leadership,
  leaderStatusMetric,
} from "./leader-elector.ts";
export { type Lease, type LeaseSpec, leases, microTime } from "./lease.ts";
