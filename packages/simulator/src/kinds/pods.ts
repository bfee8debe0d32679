/** Pods as a cluster with nodes has them: bound to a node, and stopped before they are removed. */
import {
  type Draft,
  ephemeralContainersEndpoint,
  mutableMember,
  type NativeKind,
  objectIn,
  podUpdateErrors,
  type SubresourceStrategy,
  textIn,
} from "@kcp-ts/apiserver/kinds";
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import type { Generation } from "../shapes/index.ts";
import { addDefaultTolerations, setAdmittedDefaults } from "./pod-defaults.ts";

/**
 * The user agent of the cluster's own controllers: they make three writes for each Pod, whose
 * managed fields are not needed.
 */
export const clusterControllerUserAgent = "simulator";

export function clusterPods(
  kind: NativeKind,
  generation: Generation,
  subresources: readonly (readonly [string, SubresourceStrategy])[],
): NativeKind {
  return {
    ...kind,
    // Pods have a generation since 1.33.
    hasGeneration: generation !== "1.28",
    setDefaults: setAdmittedDefaults,
    validateUpdate: podUpdateErrors,
    prepareNew(draft) {
      addDefaultTolerations(draft);
      kind.prepareNew?.(draft);
    },
    subresources: [
      ["ephemeralcontainers", ephemeralContainersEndpoint(setAdmittedDefaults)],
      ...subresources,
    ],
    strategy: {
      ...kind.strategy,
      recordsFieldManager: (manager) => manager !== clusterControllerUserAgent,
      gracePeriodSeconds,
    },
  };
}

const graceSecondsDefault = 30;

/**
 * A Pod that no kubelet has observed is deleted immediately; other Pods get the grace period that
 * they, or the client, request.
 */
function gracePeriodSeconds(object: JsonObject, asked: number | undefined): number {
  const [metadata, spec] = [objectIn(object, "metadata"), objectIn(object, "spec")];
  if (textIn(spec, "nodeName") === "") return 0;
  if (["Succeeded", "Failed"].includes(textIn(objectIn(object, "status"), "phase"))) return 0;
  if (asked !== undefined) return Math.max(0, asked);
  if (metadata["deletionTimestamp"] !== undefined)
    return Number(metadata["deletionGracePeriodSeconds"] ?? 0);
  return Number(spec["terminationGracePeriodSeconds"] ?? graceSecondsDefault);
}

/** The scheduler's decision: the node of the Pod. */
export function bindToNode(present: JsonObject, nodeName: string, now: string): Draft {
  const draft: Draft = { ...present };
  mutableMember(draft, "spec")["nodeName"] = nodeName;
  const status = mutableMember(draft, "status");
  const others = (Array.isArray(status["conditions"]) ? status["conditions"] : []) as JsonObject[];
  status["conditions"] = [
    ...others.filter((one) => isJsonObject(one) && one["type"] !== "PodScheduled"),
    { type: "PodScheduled", status: "True", lastProbeTime: null, lastTransitionTime: now },
  ];
  return draft;
}
