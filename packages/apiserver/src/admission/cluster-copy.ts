/** Copies of objects that physical clusters have, which their syncers write. */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { objectAt } from "@kcp-ts/machinery/quota";
import { isSystemMaster } from "../request/user.ts";
import type { AdmissionRequest } from "./admission.ts";

const copyLabelPrefix = "state.workload.kcp.io/";
const copyState = "Upsync";

/**
 * Whether a syncer writes the object as its cluster has it: through the view of an agent, or from
 * inside the server. Labels of other writers say nothing.
 */
export function isClusterCopy({ user, service }: AdmissionRequest, object: JsonObject): boolean {
  if (service?.name !== "syncer" && !isSystemMaster(user)) return false;
  const { labels } = objectAt(object, "metadata");
  if (!isJsonObject(labels)) return false;
  return Object.entries(labels).some(
    ([label, state]) => state === copyState && label.startsWith(copyLabelPrefix),
  );
}
