/** StorageClasses and the kinds by which CSI drivers are known. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { jsonEqual } from "@kcp-ts/machinery/json";
import {
  csiDriver,
  csiNode,
  csiStorageCapacity,
  storageClass,
  volumeAttachment,
  volumeAttributesClass,
} from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { setDefault } from "../../mutable-members.ts";
import type { NativeKind } from "../native-kind.ts";
import { oneOf, required } from "../rules.ts";

const common = { group: "storage.k8s.io", hasStatus: false, hasGeneration: false } as const;

export const storageClasses: NativeKind = {
  ...common,
  kind: "StorageClass",
  resource: "storageclasses",
  shortNames: ["sc"],
  isNamespaced: false,
  shape: storageClass,
  setDefaults(draft) {
    setDefault(draft, "reclaimPolicy", "Delete");
    setDefault(draft, "volumeBindingMode", "Immediate");
  },
  validate: (object) => [
    ...required(object, "provisioner", ""),
    ...oneOf(object, "reclaimPolicy", ["Delete", "Retain"], ""),
    ...oneOf(object, "volumeBindingMode", ["Immediate", "WaitForFirstConsumer"], ""),
  ],
  validateUpdate: (updated, old) => [
    ...fixed(updated, old, "parameters", "updates to parameters are forbidden."),
    ...fixed(updated, old, "provisioner", "updates to provisioner are forbidden."),
    ...fixed(updated, old, "reclaimPolicy", "updates to reclaimPolicy are forbidden."),
  ],
  strategy: { returnsDeletedObject: true },
};

function fixed(
  updated: JsonObject,
  old: JsonObject,
  member: string,
  message: string,
): FieldError[] {
  return jsonEqual(updated[member] ?? null, old[member] ?? null)
    ? []
    : [fieldError.forbidden(member, message)];
}

export const volumeAttributesClasses: NativeKind = {
  ...common,
  kind: "VolumeAttributesClass",
  resource: "volumeattributesclasses",
  shortNames: ["vac"],
  isNamespaced: false,
  shape: volumeAttributesClass,
};

const conditional = { strategy: { allowsUnconditionalUpdate: false } } as const;

export const csiDrivers: NativeKind = {
  ...common,
  ...conditional,
  kind: "CSIDriver",
  resource: "csidrivers",
  isNamespaced: false,
  shape: csiDriver,
};

export const csiNodes: NativeKind = {
  ...common,
  ...conditional,
  kind: "CSINode",
  resource: "csinodes",
  isNamespaced: false,
  shape: csiNode,
};

export const csiStorageCapacities: NativeKind = {
  ...common,
  ...conditional,
  kind: "CSIStorageCapacity",
  resource: "csistoragecapacities",
  shape: csiStorageCapacity,
};

export const volumeAttachments: NativeKind = {
  ...common,
  ...conditional,
  kind: "VolumeAttachment",
  resource: "volumeattachments",
  isNamespaced: false,
  hasStatus: true,
  shape: volumeAttachment,
};
