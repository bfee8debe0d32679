/** The kinds by which Pods claim devices. */
import { jsonEqual } from "@kcp-ts/machinery/json";
import {
  deviceClass,
  resourceClaim,
  resourceClaimTemplate,
  resourceSlice,
} from "@kcp-ts/machinery/shape";
import { mutableItems, mutableMember, mutableMemberIfPresent } from "../mutable-members.ts";
import type { Draft } from "../strategy.ts";
import { deviceClaimErrors, deviceClassErrors, templateMetadataErrors } from "./device-rules.ts";
import { type NativeKind, restoreAllMetadata } from "./native-kind.ts";
import { fixedMemberErrors } from "./rules.ts";
import { listIn, objectIn } from "./standard.ts";

const group = "resource.k8s.io";

export const resourceKinds: readonly NativeKind[] = [
  {
    group,
    kind: "DeviceClass",
    resource: "deviceclasses",
    isNamespaced: false,
    hasStatus: false,
    shape: deviceClass,
    validate: deviceClassErrors,
  },
  {
    group,
    kind: "ResourceClaim",
    resource: "resourceclaims",
    hasGeneration: false,
    shape: resourceClaim,
    setDefaults: (draft) => setDeviceDefaults(mutableMember(draft, "spec")),
    restoreStatusMetadata: restoreAllMetadata,
    validate: (object, old) =>
      old === undefined
        ? deviceClaimErrors(objectIn(objectIn(object, "spec"), "devices"), "spec.devices")
        : [],
    validateUpdate: (updated, old) => fixedMemberErrors(updated, old, "spec"),
  },
  {
    group,
    kind: "ResourceClaimTemplate",
    resource: "resourceclaimtemplates",
    hasStatus: false,
    hasGeneration: false,
    shape: resourceClaimTemplate,
    setDefaults(draft) {
      const spec = mutableMember(draft, "spec");
      mutableMember(spec, "metadata");
      setDeviceDefaults(mutableMember(spec, "spec"));
    },
    validate(object, old) {
      const spec = objectIn(object, "spec");
      if (old !== undefined && jsonEqual(spec, objectIn(old, "spec"))) return [];
      return [
        ...templateMetadataErrors(objectIn(spec, "metadata"), "spec.metadata"),
        ...deviceClaimErrors(objectIn(objectIn(spec, "spec"), "devices"), "spec.spec.devices"),
      ];
    },
    validateUpdate: (updated, old) => fixedMemberErrors(updated, old, "spec"),
  },
  {
    group,
    kind: "ResourceSlice",
    resource: "resourceslices",
    isNamespaced: false,
    hasStatus: false,
    shape: resourceSlice,
  },
];

function setDeviceDefaults(spec: Draft): void {
  const devices = mutableMember(spec, "devices");
  for (const request of mutableItems(devices, "requests")) {
    const exactly = mutableMemberIfPresent(request, "exactly");
    const all = [
      ...(exactly === undefined ? [] : [exactly]),
      ...mutableItems(request, "firstAvailable"),
    ];
    for (const one of all) {
      one["allocationMode"] ??= "ExactCount";
      if (one["allocationMode"] === "ExactCount" && (one["count"] ?? 0) === 0) one["count"] = 1;
    }
  }
  if (listIn(devices["requests"]).length === 0) devices["requests"] = null;
}
