/** The labels by which a Job finds its own Pods. */
import { type Draft, mutableMember } from "@kcp-ts/apiserver/kinds";
import type { JsonObject } from "@kcp-ts/machinery/json";

/** A Job selects its Pods by its own uid, unless manualSelector is set. */
export function claimPods(draft: Draft): void {
  const spec = mutableMember(draft, "spec");
  if (spec["manualSelector"] === true) return;
  const { name, uid } = draft["metadata"] as { name: string; uid: string };
  const own = {
    "batch.kubernetes.io/controller-uid": uid,
    "batch.kubernetes.io/job-name": name,
    "controller-uid": uid,
    "job-name": name,
  };
  const metadata = mutableMember(mutableMember(spec, "template"), "metadata");
  metadata["labels"] = { ...(metadata["labels"] as JsonObject | undefined), ...own };
  spec["selector"] = { matchLabels: { "batch.kubernetes.io/controller-uid": uid } };
}
