/** The shapes of coordination.k8s.io/v1. Numbers are those of the published protobuf files. */
import { objectMeta } from "./meta.ts";
import { int32, message, microTime, string } from "./shape.ts";

const coordination = "io.k8s.api.coordination.v1";

const leaseSpec = message(
  `${coordination}.LeaseSpec`,
  {
    holderIdentity: [1, string, "Who holds the lease."],
    leaseDurationSeconds: [2, int32, "How long others must wait after renewTime to take it."],
    acquireTime: [3, microTime, "When the holder took it."],
    renewTime: [4, microTime, "When the holder last renewed it."],
    leaseTransitions: [5, int32, "How often the holder changed."],
    strategy: [6, string, "How a leader is picked in coordinated elections."],
    preferredHolder: [7, string, "Who should take over; needs a strategy."],
  },
  "Who holds the lease, and until when.",
);

export const lease = message(
  `${coordination}.Lease`,
  {
    metadata: [1, objectMeta, "Standard object metadata."],
    spec: [2, leaseSpec, "Who holds the lease, and until when."],
  },
  "A claim on a role, such as leader, that must be renewed.",
);
