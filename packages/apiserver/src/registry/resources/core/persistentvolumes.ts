/** PersistentVolumeClaims and PersistentVolumes. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { persistentVolume, persistentVolumeClaim } from "@kcp-ts/machinery/shape";
import { mutableMember, mutableMemberIfPresent, setDefault } from "../../mutable-members.ts";
import type { Draft } from "../../strategy.ts";
import type { NativeKind } from "../native-kind.ts";
import { objectIn } from "../standard.ts";
import { claimSpecErrors, claimUpdateErrors } from "./claim-rules.ts";
import { claimWarnings, persistentVolumeWarnings } from "./claim-warnings.ts";
import {
  mountOptionErrors,
  volumeSpecErrors,
  volumeUpdateErrors,
} from "./persistent-volume-rules.ts";
import { setSourceDefaults } from "./pod-defaults.ts";

/** The defaults of a claim, and of a template of claims. */
export function setClaimDefaults(draft: Draft): void {
  mutableMember(draft, "spec")["volumeMode"] ??= "Filesystem";
}

/**
 * The two fields of a claim's source become one: the older one only takes sources that every
 * cluster knows.
 */
function setDataSources(spec: Draft): void {
  const source = mutableMemberIfPresent(spec, "dataSource");
  if (source !== undefined && !isKnownSource(source)) {
    delete spec["dataSource"];
    return;
  }
  const reference = mutableMemberIfPresent(spec, "dataSourceRef");
  for (const one of [source, reference]) if (one !== undefined) one["apiGroup"] ??= null;
  if (source !== undefined && reference === undefined) spec["dataSourceRef"] = { ...source };
  const isElsewhere = reference?.["namespace"] !== undefined;
  if (source === undefined && reference !== undefined && !isElsewhere)
    spec["dataSource"] = { ...reference };
}

function isKnownSource(source: JsonObject): boolean {
  const { apiGroup, kind } = source;
  return (apiGroup ?? "") === ""
    ? kind === "PersistentVolumeClaim"
    : apiGroup === "snapshot.storage.k8s.io" && kind === "VolumeSnapshot";
}

export const persistentVolumeClaims: NativeKind = {
  group: "",
  kind: "PersistentVolumeClaim",
  resource: "persistentvolumeclaims",
  shortNames: ["pvc"],
  shape: persistentVolumeClaim,
  hasGeneration: false,
  setDefaults(draft) {
    setClaimDefaults(draft);
    setDataSources(mutableMember(draft, "spec"));
  },
  prepareNew(draft) {
    draft["status"] = { phase: "Pending" };
  },
  validate: (object) => claimSpecErrors(objectIn(object, "spec"), "spec"),
  validateUpdate: claimUpdateErrors,
  objectWarnings: claimWarnings,
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
    spec["volumeMode"] ??= "Filesystem";
    setDefault(spec, "persistentVolumeReclaimPolicy", "Retain");
    setSourceDefaults(spec);
  },
  prepareNew(draft) {
    draft["status"] = { phase: "Pending" };
  },
  validate: (object) => [
    ...volumeSpecErrors(objectIn(object, "spec"), "spec"),
    ...mountOptionErrors(object),
  ],
  validateUpdate: volumeUpdateErrors,
  objectWarnings: persistentVolumeWarnings,
  strategy: { returnsDeletedObject: true },
};
