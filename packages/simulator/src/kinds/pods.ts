/**
 * Pods: defaults, the mutable fields of a running Pod, graceful deletion, and the subresources with
 * side effects.
 */
import {
  type Draft,
  listIn,
  mutableItems,
  mutableMember,
  objectIn,
  type ResourceDefinition,
  type SubresourceStrategy,
  textIn,
} from "@kcp-ts/apiserver/kinds";
import { isJsonObject, type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { pod } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { type Generation, inGeneration } from "../shapes/index.ts";
import { defineKind } from "./kind.ts";
import { addDefaultTolerations, qosClassOf, setAdmittedDefaults } from "./pod-defaults.ts";
import { podSpecErrors } from "./pod-errors.ts";

/**
 * The user agent of the cluster's own controllers: they make three writes for each Pod, whose
 * managed fields are not needed.
 */
export const clusterControllerUserAgent = "simulator";

export function podsKind(
  generation: Generation,
  subresources: readonly (readonly [string, SubresourceStrategy])[],
): ResourceDefinition {
  return defineKind({
    group: "",
    kind: "Pod",
    resource: "pods",
    shortNames: ["po"],
    categories: ["all"],
    shape: inGeneration(pod, generation),
    // Pods have a generation since 1.33.
    hasGeneration: generation !== "1.28",
    setDefaults: setAdmittedDefaults,
    prepareNew(draft) {
      addDefaultTolerations(draft);
      draft["status"] = { phase: "Pending", qosClass: qosClassOf(draft["spec"] as JsonObject) };
    },
    completeStatus: addProbeTimes,
    validate: (object) => podSpecErrors(objectIn(object, "spec"), "spec"),
    validateUpdate: updateErrors,
    subresources: [["ephemeralcontainers", ephemeralContainers], ...subresources],
    strategy: {
      returnsDeletedObject: true,
      recordsFieldManager: (manager) => manager !== clusterControllerUserAgent,
      gracePeriodSeconds,
      selectableFields: new Map(
        [
          "spec.nodeName",
          "spec.restartPolicy",
          "spec.schedulerName",
          "spec.serviceAccountName",
          "spec.hostNetwork",
          "status.phase",
          "status.podIP",
          "status.nominatedNodeName",
        ].map((path) => [path, (object: JsonObject) => textAt(object, path)]),
      ),
    },
  });
}

/** A Pod's conditions have a lastProbeTime of null. */
function addProbeTimes(status: Draft): void {
  for (const condition of mutableItems(status, "conditions")) condition["lastProbeTime"] ??= null;
}

/** Adds containers to a running Pod, and changes nothing else. */
const ephemeralContainers: SubresourceStrategy = {
  verbs: ["get", "patch", "update"],
  prepareForUpdate(draft, old) {
    const wanted = objectIn(draft, "spec")["ephemeralContainers"];
    for (const member of Object.keys(draft)) delete draft[member];
    Object.assign(draft, old);
    const spec = mutableMember(draft, "spec");
    if (wanted === undefined) delete spec["ephemeralContainers"];
    else spec["ephemeralContainers"] = wanted;
    setAdmittedDefaults(draft);
  },
  validateUpdate(updated, old) {
    const field = "spec.ephemeralContainers";
    const [now, before] = [updated, old].map((one) =>
      listIn(objectIn(one, "spec")["ephemeralContainers"]).filter(isJsonObject),
    ) as [JsonObject[], JsonObject[]];
    const errors = now.flatMap((one, index) =>
      ["name", "image"]
        .filter((member) => textIn(one, member) === "")
        .map((member) => fieldError.required(`${field}[${index}].${member}`)),
    );
    for (const one of before) {
      const same = now.find((other) => other["name"] === one["name"]);
      const name = textIn(one, "name");
      if (same === undefined)
        errors.push(
          fieldError.forbidden(
            field,
            `existing ephemeral containers ${JSON.stringify(name)} may not be removed`,
          ),
        );
      else if (!jsonEqual(same, one))
        errors.push(
          fieldError.forbidden(
            field,
            `existing ephemeral containers ${JSON.stringify(name)} may not be changed`,
          ),
        );
    }
    return errors;
  },
};

function textAt(object: JsonObject, path: string): string {
  const [outer = "", inner = ""] = path.split(".");
  const text = textIn(objectIn(object, outer), inner);
  return path === "spec.hostNetwork" && text === "" ? "false" : text;
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

const updateForbidden =
  "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

function updateErrors(updated: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [fixedPart(updated), fixedPart(old)];
  if (jsonEqual(now, before)) return [];
  return [fieldError.forbidden("spec", updateForbidden)];
}

/** The immutable fields of the spec. */
function fixedPart(object: JsonObject): JsonObject {
  const {
    activeDeadlineSeconds: _a,
    tolerations: _t,
    schedulingGates: _g,
    ...spec
  } = objectIn(object, "spec");
  const imageless = (list: unknown) =>
    Array.isArray(list)
      ? (list as JsonObject[]).map(({ image: _i, resources: _r, ...rest }) => rest)
      : [];
  return {
    ...spec,
    containers: imageless(spec["containers"]),
    initContainers: imageless(spec["initContainers"]),
  };
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
