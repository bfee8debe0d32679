/** PersistentVolumeClaims and PersistentVolumes. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { persistentVolume, persistentVolumeClaim } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { mutableMember, setDefault } from "../../mutable-members.ts";
import type { Draft } from "../../strategy.ts";
import type { NativeKind } from "../native-kind.ts";
import { negativeQuantityErrors } from "../rules.ts";
import { itemErrors, listIn, objectIn } from "../standard.ts";

const accessModes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

export function setClaimDefaults(draft: Draft): void {
  setDefault(mutableMember(draft, "spec"), "volumeMode", "Filesystem");
}

export function claimSpecErrors(spec: JsonObject, field: string): FieldError[] {
  const errors = accessModeErrors(spec, field);
  const { storage } = objectIn(objectIn(spec, "resources"), "requests");
  const at = `${field}.resources[storage]`;
  if (storage === undefined) errors.push(fieldError.required(at));
  else errors.push(...negativeQuantityErrors(storage, at));
  return errors;
}

function accessModeErrors(spec: JsonObject, field: string): FieldError[] {
  const at = `${field}.accessModes`;
  if (listIn(spec["accessModes"]).length === 0)
    return [fieldError.required(at, "at least 1 access mode is required")];
  return itemErrors<string>(spec["accessModes"], at, (mode) =>
    accessModes.includes(mode) ? [] : [fieldError.notSupported(at, mode, accessModes)],
  );
}

export const persistentVolumeClaims: NativeKind = {
  group: "",
  kind: "PersistentVolumeClaim",
  resource: "persistentvolumeclaims",
  shortNames: ["pvc"],
  shape: persistentVolumeClaim,
  hasGeneration: false,
  setDefaults: setClaimDefaults,
  prepareNew(draft) {
    draft["status"] = { phase: "Pending" };
  },
  validate: (object) => claimSpecErrors(objectIn(object, "spec"), "spec"),
  strategy: { returnsDeletedObject: true },
};

export const persistentVolumes: NativeKind = {
  group: "",
  kind: "PersistentVolume",
  resource: "persistentvolumes",
  shortNames: ["pv"],
  isNamespaced: false,
  shape: persistentVolume,
  hasGeneration: false,
  setDefaults(draft) {
    const spec = mutableMember(draft, "spec");
    setDefault(spec, "volumeMode", "Filesystem");
    setDefault(spec, "persistentVolumeReclaimPolicy", "Retain");
  },
  prepareNew(draft) {
    draft["status"] = { phase: "Pending" };
  },
  validate(object) {
    const spec = objectIn(object, "spec");
    const errors = accessModeErrors(spec, "spec");
    if (Object.keys(objectIn(spec, "capacity")).length === 0)
      errors.unshift(fieldError.required("spec.capacity"));
    return errors;
  },
  strategy: { returnsDeletedObject: true },
};
