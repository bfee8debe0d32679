/**
 * PersistentVolumeClaims and PersistentVolumes, as far as a cluster without disks supports them.
 */
import {
  type Draft,
  listIn,
  mutableMember,
  objectIn,
  type ResourceDefinition,
  setDefault,
} from "@kcp-ts/apiserver/kinds";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { persistentVolume, persistentVolumeClaim } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { type Generation, inGeneration } from "../shapes/index.ts";
import { defineKind } from "./kind.ts";

export function setClaimDefaults(draft: Draft): void {
  setDefault(mutableMember(draft, "spec"), "volumeMode", "Filesystem");
}

export function claimErrors(object: JsonObject, field = "spec"): FieldError[] {
  const spec = objectIn(object, "spec");
  const errors: FieldError[] = [];
  if (listIn(spec["accessModes"]).length === 0)
    errors.push(fieldError.required(`${field}.accessModes`, "at least 1 access mode is required"));
  const requests = objectIn(objectIn(spec, "resources"), "requests");
  if (requests["storage"] === undefined)
    errors.push(fieldError.required(`${field}.resources[storage]`));
  return errors;
}

export function claimsKind(generation: Generation): ResourceDefinition {
  return defineKind({
    group: "",
    kind: "PersistentVolumeClaim",
    resource: "persistentvolumeclaims",
    shortNames: ["pvc"],
    shape: inGeneration(persistentVolumeClaim, generation),
    hasGeneration: false,
    setDefaults: setClaimDefaults,
    prepareNew(draft) {
      draft["status"] = { phase: "Pending" };
    },
    validate: claimErrors,
  });
}

export function volumesKind(generation: Generation): ResourceDefinition {
  return defineKind({
    group: "",
    kind: "PersistentVolume",
    resource: "persistentvolumes",
    shortNames: ["pv"],
    isNamespaced: false,
    shape: inGeneration(persistentVolume, generation),
    hasGeneration: false,
    setDefaults(draft) {
      const spec = mutableMember(draft, "spec");
      setDefault(spec, "volumeMode", "Filesystem");
      setDefault(spec, "persistentVolumeReclaimPolicy", "Retain");
    },
    prepareNew(draft) {
      draft["status"] = { phase: "Pending" };
    },
  });
}
