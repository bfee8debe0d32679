/** Whether a workload of a bundle is ready, by its spec and its status. */
import { type CorpusResponse, valueAt } from "../side-by-side/index.ts";
import type { BundleObject } from "./bundle.ts";

const workloads: ReadonlySet<string> = new Set([
  "apps/v1 Deployment",
  "apps/v1 StatefulSet",
  "apps/v1 DaemonSet",
  "batch/v1 Job",
]);

export function isWorkload({ apiVersion, kind }: BundleObject): boolean {
  return workloads.has(`${apiVersion} ${kind}`);
}

/** Undefined when the workload is ready. */
export function unreadyReason(
  { kind, spec }: BundleObject,
  { status, body }: CorpusResponse,
): string | undefined {
  // A Job may be deleted as soon as it is complete.
  if (kind === "Job" && status === 404 && spec?.["ttlSecondsAfterFinished"] !== undefined)
    return undefined;
  if (status !== 200) return `reading it gave ${status}`;
  const count = (path: string, otherwise = 0) => Number(valueAt(body, path) ?? otherwise);
  const compared = (wanted: number, ready: number) =>
    ready === wanted ? undefined : `${ready} of ${wanted} are ready`;
  switch (kind) {
    case "DaemonSet":
      return compared(count("status.desiredNumberScheduled", -1), count("status.numberReady"));
    case "Job":
      return compared(count("spec.completions", 1), count("status.succeeded"));
    default:
      return compared(count("spec.replicas", 1), count("status.readyReplicas"));
  }
}
