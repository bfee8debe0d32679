/**
 * A namespace may request access to the logical cluster for the Pods of its workloads: admission
 * then labels its workloads when they are created. A workload that opts out is unchanged, and so
 * are existing workloads: their Pods would be replaced.
 */
import type { AdmissionPlugin, PluginSources } from "@kcp-ts/apiserver";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import {
  apiAccessLabel,
  apiAccessResources,
  apiAddressLabel,
  clusterDaemonSets,
  ownedByLabels,
  stateLabelPrefix,
  stateUpsync,
  wantsApiAccess,
} from "@kcp-ts/multicluster";

export function apiAccessAdmission(): AdmissionPlugin {
  let sources: PluginSources | undefined;
  return {
    connect(given) {
      sources = given;
    },
    name: "ApiAccessOfPods",
    resources: [...apiAccessResources, clusterDaemonSets],
    handles: ({ subresource, operation }) =>
      subresource === "" && (operation === "CREATE" || operation === "UPDATE"),
    async mutate({ cluster, namespace, signal }, draft, old) {
      const labels = labelsOf(draft);
      if (Object.hasOwn(labels, apiAccessLabel) || isMade(labels)) return;
      // An update by a client that does not know the label does not remove it.
      if (old !== undefined && labelsOf(old)[apiAccessLabel] !== "true") return;
      const found = await sources?.namespaceLabels(cluster, namespace, signal);
      if (!wantsApiAccess(found)) return;
      const metadata = isJsonObject(draft["metadata"]) ? draft["metadata"] : {};
      const address = found?.[apiAddressLabel];
      const asked = {
        ...(address === undefined ? {} : { [apiAddressLabel]: address }),
        ...labels,
        [apiAccessLabel]: "true",
      };
      draft["metadata"] = { ...metadata, labels: asked };
    },
  };
}

/** Per-cluster objects follow their workloads, and upsynced Pods follow theirs. */
function isMade(labels: Readonly<Record<string, JsonValue>>): boolean {
  return Object.entries(labels).some(
    ([label, value]) =>
      ownedByLabels.includes(label) ||
      (label.startsWith(stateLabelPrefix) && value === stateUpsync),
  );
}

function labelsOf(object: JsonObject): Readonly<Record<string, JsonValue>> {
  const metadata = object["metadata"];
  const labels = metadata !== undefined && isJsonObject(metadata) ? metadata["labels"] : undefined;
  return labels !== undefined && isJsonObject(labels) ? labels : {};
}
