/** Pods: their defaults, their rules, and what of a running Pod may change. */
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { pod } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { mutableItems, mutableMember } from "../../mutable-members.ts";
import type { Draft, SubresourceStrategy } from "../../strategy.ts";
import type { NativeKind } from "../native-kind.ts";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";
import { tolerationErrors } from "./affinity-rules.ts";
import {
  podAnnotationErrors,
  profileMatchErrors,
  setAppArmorOfAnnotations,
} from "./pod-annotation-rules.ts";
import { setPodDefaults } from "./pod-defaults.ts";
import { ephemeralContainerErrors, podSpecErrors } from "./pod-rules.ts";
import { podWarnings } from "./pod-warnings.ts";
import { qosClassOf } from "./qos-class.ts";

export const pods: NativeKind = {
  group: "",
  kind: "Pod",
  resource: "pods",
  shortNames: ["po"],
  categories: ["all"],
  shape: pod,
  setDefaults: (draft) => setPodDefaults(mutableMember(draft, "spec")),
  prepareNew(draft) {
    setAppArmorOfAnnotations(draft);
    draft["status"] = { phase: "Pending", qosClass: qosClassOf(draft["spec"] as JsonObject) };
  },
  completeStatus(status, old) {
    // A Pod's conditions have a lastProbeTime of null.
    for (const condition of mutableItems(status, "conditions")) condition["lastProbeTime"] ??= null;
    const { qosClass } = objectIn(old, "status");
    if (qosClass !== undefined) status["qosClass"] ??= qosClass;
  },
  restoreStatusMetadata(metadata, old) {
    const { ownerReferences } = old["metadata"] as JsonObject;
    if (ownerReferences === undefined) delete metadata["ownerReferences"];
    else metadata["ownerReferences"] = ownerReferences;
  },
  validate(object, old) {
    const spec = objectIn(object, "spec");
    const annotations = objectIn(objectIn(object, "metadata"), "annotations");
    return [
      ...podAnnotationErrors(annotations, spec, "metadata.annotations"),
      ...podSpecErrors(spec, "spec"),
      ...(old === undefined ? profileMatchErrors(annotations, spec, "spec") : []),
    ];
  },
  objectWarnings: podWarnings,
  // Where a cluster runs the Pod, its ephemeral containers are known here by an update.
  validateUpdate: (updated, old) => podUpdateErrors(updated, old, ["ephemeralContainers"]),
  strategy: {
    returnsDeletedObject: true,
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
};

function textAt(object: JsonObject, path: string): string {
  const [outer = "", inner = ""] = path.split(".");
  const text = textIn(objectIn(object, outer), inner);
  return path === "spec.hostNetwork" && text === "" ? "false" : text;
}

/**
 * Adds containers to a running Pod, and changes nothing else: for clusters that have kubelets.
 * `setDefaults` are those of the cluster's Pods.
 */
export function ephemeralContainersEndpoint(
  setDefaults: (draft: Draft) => void,
): SubresourceStrategy {
  return {
    verbs: ["get", "patch", "update"],
    prepareForUpdate(draft, old) {
      const wanted = objectIn(draft, "spec")["ephemeralContainers"];
      for (const member of Object.keys(draft)) delete draft[member];
      Object.assign(draft, old);
      const spec = mutableMember(draft, "spec");
      if (wanted === undefined) delete spec["ephemeralContainers"];
      else spec["ephemeralContainers"] = wanted;
      setDefaults(draft);
    },
    validateUpdate(updated, old) {
      const field = "spec.ephemeralContainers";
      const [now, before] = [updated, old].map((one) =>
        listIn(objectIn(one, "spec")["ephemeralContainers"]).filter(isJsonObject),
      ) as [JsonObject[], JsonObject[]];
      const errors = ephemeralContainerErrors(objectIn(updated, "spec"), field);
      const byName = new Map(now.toReversed().map((one) => [textIn(one, "name"), one]));
      for (const one of before) {
        const name = textIn(one, "name");
        const same = byName.get(name);
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
}

const updateForbidden =
  "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/** `free` are members of the spec that may change besides those that Kubernetes lets change. */
export function podUpdateErrors(
  updated: JsonObject,
  old: JsonObject,
  free: readonly string[] = [],
): FieldError[] {
  const [spec, oldSpec] = [objectIn(updated, "spec"), objectIn(old, "spec")];
  const members = ["containers", "initContainers"];
  const count = (one: JsonObject, member: string) => listIn(one[member]).length;
  const resized = members.find((member) => count(spec, member) !== count(oldSpec, member));
  if (resized !== undefined)
    return [
      fieldError.forbidden(`spec.${resized}`, "pod updates may not add or remove containers"),
    ];
  const late = deadlineChangeErrors(spec, oldSpec);
  const errors = [
    ...late,
    ...tolerationChangeErrors(spec, oldSpec),
    ...newGateErrors(spec, oldSpec),
  ];
  // A deadline that is too late is reported alone.
  if (late.length > 0 && spec["activeDeadlineSeconds"] !== undefined) return late;
  const [now, before] = [fixedPart(updated, free), fixedPart(old, free)];
  return jsonEqual(now, before)
    ? errors
    : [...errors, fieldError.forbidden("spec", updateForbidden)];
}

/** A deadline may be set, or come nearer. */
function deadlineChangeErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [spec["activeDeadlineSeconds"], old["activeDeadlineSeconds"]];
  const at = "spec.activeDeadlineSeconds";
  if (now === undefined)
    return before === undefined
      ? []
      : [fieldError.invalid(at, null, "must not update from a positive integer to nil value")];
  if (Number(now) < 0 || Number(now) > deadlineMax)
    return [fieldError.invalid(at, now, `must be between 0 and ${deadlineMax}, inclusive`)];
  return before !== undefined && Number(before) < Number(now)
    ? [fieldError.invalid(at, now, "must be less than or equal to previous value")]
    : [];
}

const deadlineMax = 2 ** 31 - 1;

/** All members of a toleration but its tolerationSeconds. */
const timelessMembers = ["key", "operator", "value", "effect"];

function tolerationChangeErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const at = "spec.tolerations";
  const timeless = (one: JsonValue) =>
    JSON.stringify(timelessMembers.map((member) => textIn(one as JsonObject, member)));
  const now = new Set(listIn(spec["tolerations"]).map(timeless));
  const isKept = listIn(old["tolerations"]).every((one) => now.has(timeless(one)));
  const detail = "existing toleration can not be modified except its tolerationSeconds";
  return isKept ? tolerationErrors(spec["tolerations"], at) : [fieldError.forbidden(at, detail)];
}

function newGateErrors(spec: JsonObject, old: JsonObject): FieldError[] {
  const names = new Set(
    listIn(old["schedulingGates"]).map((gate) => textIn(gate as JsonObject, "name")),
  );
  return itemErrors<JsonObject>(spec["schedulingGates"], "spec.schedulingGates", (gate, at) => {
    const name = textIn(gate, "name");
    const detail = `only deletion is allowed, but found new scheduling gate '${name}'`;
    return names.has(name) ? [] : [fieldError.forbidden(`${at}.name`, detail)];
  });
}

/** The immutable fields of the spec. */
function fixedPart(object: JsonObject, free: readonly string[]): JsonObject {
  const {
    activeDeadlineSeconds: _a,
    tolerations: _t,
    schedulingGates: _g,
    ...spec
  } = objectIn(object, "spec");
  const imageless = (list: unknown) =>
    Array.isArray(list) ? (list as JsonObject[]).map(({ image: _i, ...rest }) => rest) : [];
  const fixed = Object.entries(spec).filter(([member]) => !free.includes(member));
  return {
    ...Object.fromEntries(fixed),
    containers: imageless(spec["containers"]),
    initContainers: imageless(spec["initContainers"]),
  };
}
