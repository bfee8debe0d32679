/**
 * Admission of WorkloadPlacements: they record reservations and moves, so that only the server's
 * own control loops write them, whatever roles a workspace grants. Members of `system:masters` are
 * these control loops, and operators.
 */
import { type AdmissionPlugin, denied } from "@kcp-ts/apiserver";
import { isSystemMaster } from "@kcp-ts/apiserver/request/user";
import { workloadPlacements } from "@kcp-ts/multicluster";

export const workloadPlacementAdmission: AdmissionPlugin = {
  name: "WorkloadPlacements",
  resources: [workloadPlacements],
  admit(request) {
    if (isSystemMaster(request.user)) return;
    throw denied(
      request,
      "the multi-cluster controllers write WorkloadPlacements; edit the workload to change its placement",
    );
  },
};
