/** StorageClasses and the kinds by which CSI drivers are known. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  csiDriver,
  csiNode,
  csiStorageCapacity,
  storageClass,
  volumeAttachment,
  volumeAttributesClass,
} from "@kcp-ts/machinery/shape";
import { mutableItems, mutableMember } from "../../mutable-members.ts";
import { nodeLabelWarning, topologyWarnings } from "../core/node-label-warnings.ts";
import type { NativeKind } from "../native-kind.ts";
import { fixedMemberErrors } from "../rules.ts";
import {
  createdAtCell,
  createdAtColumn,
  listIn,
  nameCell,
  nameColumn,
  textIn,
} from "../standard.ts";
import {
  attachmentErrors,
  attributesClassErrors,
  attributesClassUpdateErrors,
  capacityErrors,
  capacityUpdateErrors,
  driverErrors,
  driverUpdateErrors,
  driverWarnings,
  nodeDriverErrors,
  nodeDriverUpdateErrors,
  storageClassErrors,
  storageClassUpdateErrors,
} from "./storage-rules.ts";

const common = { group: "storage.k8s.io", hasStatus: false, hasGeneration: false } as const;

function storageClassWarnings({ allowedTopologies }: JsonObject): string[] {
  return (listIn(allowedTopologies) as readonly JsonObject[]).flatMap((term, index) =>
    (listIn(term["matchLabelExpressions"]) as readonly JsonObject[]).flatMap((one, place) => {
      const at = `allowedTopologies[${index}].matchLabelExpressions[${place}].key`;
      const warning = nodeLabelWarning(textIn(one, "key"));
      return warning === undefined ? [] : [`${at}: ${warning}`];
    }),
  );
}

export const storageClasses: NativeKind = {
  ...common,
  kind: "StorageClass",
  resource: "storageclasses",
  shortNames: ["sc"],
  isNamespaced: false,
  shape: storageClass,
  setDefaults(draft) {
    draft["reclaimPolicy"] ??= "Delete";
    draft["volumeBindingMode"] ??= "Immediate";
  },
  validate: storageClassErrors,
  objectWarnings: storageClassWarnings,
  validateUpdate: storageClassUpdateErrors,
  strategy: { returnsDeletedObject: true },
};

export const volumeAttributesClasses: NativeKind = {
  ...common,
  kind: "VolumeAttributesClass",
  resource: "volumeattributesclasses",
  shortNames: ["vac"],
  isNamespaced: false,
  shape: volumeAttributesClass,
  validate: attributesClassErrors,
  validateUpdate: attributesClassUpdateErrors,
};

const conditional = { strategy: { allowsUnconditionalUpdate: false } } as const;

export const csiDrivers: NativeKind = {
  ...common,
  ...conditional,
  kind: "CSIDriver",
  resource: "csidrivers",
  isNamespaced: false,
  shape: csiDriver,
  setDefaults(draft) {
    const spec = mutableMember(draft, "spec");
    spec["attachRequired"] ??= true;
    for (const member of ["podInfoOnMount", "storageCapacity", "requiresRepublish"])
      spec[member] ??= false;
    spec["seLinuxMount"] ??= false;
    spec["fsGroupPolicy"] ??= "ReadWriteOnceWithFSType";
    if (listIn(spec["volumeLifecycleModes"]).length === 0)
      spec["volumeLifecycleModes"] = ["Persistent"];
  },
  validate: driverErrors,
  validateUpdate: driverUpdateErrors,
  strategy: { ...conditional.strategy, warnings: driverWarnings },
};

export const csiNodes: NativeKind = {
  ...common,
  ...conditional,
  kind: "CSINode",
  resource: "csinodes",
  isNamespaced: false,
  shape: csiNode,
  setDefaults(draft) {
    const spec = mutableMember(draft, "spec");
    for (const driver of mutableItems(spec, "drivers")) driver["topologyKeys"] ??= null;
    if (listIn(spec["drivers"]).length === 0) spec["drivers"] = null;
  },
  validate: nodeDriverErrors,
  validateUpdate: nodeDriverUpdateErrors,
};

export const csiStorageCapacities: NativeKind = {
  ...common,
  ...conditional,
  kind: "CSIStorageCapacity",
  resource: "csistoragecapacities",
  shape: csiStorageCapacity,
  validate: capacityErrors,
  objectWarnings: (object) => topologyWarnings(object["nodeTopology"], "nodeTopology"),
  validateUpdate: capacityUpdateErrors,
  strategy: {
    ...conditional.strategy,
    columns: [nameColumn, createdAtColumn],
    cells: (object) => [nameCell(object), createdAtCell(object)],
  },
};

export const volumeAttachments: NativeKind = {
  ...common,
  ...conditional,
  kind: "VolumeAttachment",
  resource: "volumeattachments",
  isNamespaced: false,
  hasStatus: true,
  shape: volumeAttachment,
  prepareNew(draft) {
    draft["status"] = { attached: false };
  },
  validate: attachmentErrors,
  validateUpdate: (updated, old) => fixedMemberErrors(updated, old, "spec"),
};
