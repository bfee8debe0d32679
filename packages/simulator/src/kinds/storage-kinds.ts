/**
 * PersistentVolumeClaims and PersistentVolumes, as far as a cluster without disks supports them.
 */
import {
  ageCell,
  ageColumn,
  column,
  type Draft,
  listIn,
  mutableMember,
  nameCell,
  nameColumn,
  objectIn,
  type ResourceDefinition,
  setDefault,
  textIn,
  wideColumn,
} from "@kcp-ts/apiserver/kinds";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { persistentVolume, persistentVolumeClaim } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { type Generation, inGeneration } from "../shapes/index.ts";
import { defineKind } from "./kind.ts";

const modes = new Map([
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
]);

function modesText(spec: JsonObject): string {
  return listIn(spec["accessModes"])
    .map((mode) => modes.get(String(mode)) ?? String(mode))
    .join(",");
}

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
    columns: [
      nameColumn,
      column("Status", "string", "Whether it has a volume."),
      column("Volume", "string", "The volume it has."),
      column("Capacity", "string", "Of the volume."),
      column("Access Modes", "string", "How it may be used."),
      column("StorageClass", "string", "What sort of volume is asked for."),
      column("VolumeAttributesClass", "string", "What else is asked of it."),
      ageColumn,
      wideColumn("VolumeMode", "string", "Files or blocks."),
    ],
    cells(object, nowMs) {
      const [spec, status] = [objectIn(object, "spec"), objectIn(object, "status")];
      const isBound = textIn(spec, "volumeName") !== "";
      return [
        nameCell(object),
        textIn(status, "phase"),
        textIn(spec, "volumeName"),
        isBound ? textIn(objectIn(status, "capacity"), "storage") : "",
        isBound ? modesText(status) : "",
        textIn(spec, "storageClassName"),
        textIn(spec, "volumeAttributesClassName") || "<unset>",
        ageCell(object, nowMs),
        textIn(spec, "volumeMode"),
      ];
    },
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
    columns: [
      nameColumn,
      column("Capacity", "string", "How much it holds."),
      column("Access Modes", "string", "How it may be used."),
      column("Reclaim Policy", "string", "What becomes of it without its claim."),
      column("Status", "string", "Whether it is taken."),
      column("Claim", "string", "Who has it."),
      column("StorageClass", "string", "What sort it is."),
      column("VolumeAttributesClass", "string", "What else it is."),
      column("Reason", "string", "Why it is in that state."),
      ageColumn,
      wideColumn("VolumeMode", "string", "Files or blocks."),
    ],
    cells(object, nowMs) {
      const [spec, status] = [objectIn(object, "spec"), objectIn(object, "status")];
      const claim = objectIn(spec, "claimRef");
      return [
        nameCell(object),
        textIn(objectIn(spec, "capacity"), "storage"),
        modesText(spec),
        textIn(spec, "persistentVolumeReclaimPolicy"),
        textIn(status, "phase"),
        spec["claimRef"] === undefined
          ? ""
          : `${textIn(claim, "namespace")}/${textIn(claim, "name")}`,
        textIn(spec, "storageClassName"),
        textIn(spec, "volumeAttributesClassName") || "<unset>",
        textIn(status, "reason"),
        ageCell(object, nowMs),
        textIn(spec, "volumeMode"),
      ];
    },
  });
}
