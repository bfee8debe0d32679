/** The kinds by which Pods claim devices. */
import {
  deviceClass,
  resourceClaim,
  resourceClaimTemplate,
  resourceSlice,
} from "@kcp-ts/machinery/shape";
import type { NativeKind } from "./native-kind.ts";

const group = "resource.k8s.io";

export const resourceKinds: readonly NativeKind[] = [
  {
    group,
    kind: "DeviceClass",
    resource: "deviceclasses",
    isNamespaced: false,
    hasStatus: false,
    shape: deviceClass,
  },
  {
    group,
    kind: "ResourceClaim",
    resource: "resourceclaims",
    hasGeneration: false,
    shape: resourceClaim,
  },
  {
    group,
    kind: "ResourceClaimTemplate",
    resource: "resourceclaimtemplates",
    hasStatus: false,
    hasGeneration: false,
    shape: resourceClaimTemplate,
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
