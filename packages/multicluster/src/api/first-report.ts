/**
 * The first report about a new per-cluster object: it comes when its replicas are available, or do
 * not change any more, so that a start is one write and not many.
 */
import { formatGroupResource } from "@kcp-ts/machinery/status";

/** The first report comes within this time. */
export const firstReportMsMax = 5000;

/** Whether objects of the kind report when their replicas have started. */
export function isReportedWhenStarted(resource: {
  readonly group: string;
  readonly resource: string;
}): boolean {
  return startingKinds.has(formatGroupResource(resource));
}

const startingKinds: ReadonlySet<string> = new Set(["deployments.apps", "statefulsets.apps"]);
