/** Metrics of placement and of tunnels. No label names a tenant, a workload or a cluster. */
import { processMetrics } from "@kcp-ts/sdk";

export const placementDecisions = processMetrics.counter({
  name: "kcp_placement_decisions_total",
  help: "Decisions about the placement of a workload that were written, by kind.",
  labels: ["kind"],
});

export const movedReplicas = processMetrics
  .counter({
    name: "kcp_placement_moved_replicas_total",
    help: "Replicas that a decision took from one cluster and assigned to another.",
  })
  .with({});

export const connectedTunnels = processMetrics
  .gauge({ name: "kcp_tunnels", help: "SyncTargets whose agent has a tunnel to this server." })
  .with({});
