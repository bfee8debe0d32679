/** Ingresses, NetworkPolicies and, in newer clusters, ServiceCIDRs and IPAddresses. */
import {
  ingress,
  ingressClass,
  ipAddress,
  networkPolicy,
  serviceCIDR,
} from "@kcp-ts/machinery/shape";
import { mutableItems, mutableMember, setDefault } from "../../mutable-members.ts";
import { withoutOldSpellings } from "../address-rules.ts";
import { networkPolicyWarnings } from "../core/service-warnings.ts";
import { type NativeKind, restoreAllMetadata } from "../native-kind.ts";
import { immutableErrors } from "../rules.ts";
import { listIn, objectIn } from "../standard.ts";
import { classAnnotation, ingressClassErrors, ingressErrors } from "./ingress-rules.ts";
import {
  networkPolicyErrors,
  serviceBlockErrors,
  serviceBlockUpdateErrors,
} from "./policy-rules.ts";

const group = "networking.k8s.io";

export const ingresses: NativeKind = {
  group,
  kind: "Ingress",
  resource: "ingresses",
  shortNames: ["ing"],
  shape: ingress,
  prepareNew(draft) {
    draft["status"] = { loadBalancer: {} };
  },
  validate: ingressErrors,
  strategy: {
    warnings: (object, old) =>
      old !== undefined ||
      objectIn(object, "spec")["ingressClassName"] !== undefined ||
      objectIn(objectIn(object, "metadata"), "annotations")[classAnnotation] === undefined
        ? []
        : [
            `annotation "${classAnnotation}" is deprecated, please use 'spec.ingressClassName' instead`,
          ],
  },
};

export const ingressClasses: NativeKind = {
  group,
  kind: "IngressClass",
  resource: "ingressclasses",
  isNamespaced: false,
  hasStatus: false,
  shape: ingressClass,
  setDefaults(draft) {
    const spec = objectIn(draft, "spec");
    if (spec["parameters"] === undefined) return;
    setDefault(mutableMember(mutableMember(draft, "spec"), "parameters"), "scope", "Cluster");
  },
  validate: ingressClassErrors,
  validateUpdate: (updated, old) => immutableErrors(updated, old, "controller"),
};

export const networkPolicies: NativeKind = {
  group,
  kind: "NetworkPolicy",
  resource: "networkpolicies",
  shortNames: ["netpol"],
  hasStatus: false,
  objectWarnings: networkPolicyWarnings,
  shape: networkPolicy,
  setDefaults(draft) {
    const spec = mutableMember(draft, "spec");
    spec["podSelector"] ??= {};
    if (listIn(spec["policyTypes"]).length === 0)
      spec["policyTypes"] = listIn(spec["egress"]).length > 0 ? ["Ingress", "Egress"] : ["Ingress"];
    for (const member of ["ingress", "egress"])
      for (const rule of mutableItems(spec, member))
        for (const port of mutableItems(rule, "ports")) port["protocol"] ??= "TCP";
  },
  validate: (object, old) =>
    old === undefined
      ? networkPolicyErrors(object)
      : withoutOldSpellings(networkPolicyErrors(object), () => networkPolicyErrors(old)),
};

export const serviceCidrs: NativeKind = {
  group,
  kind: "ServiceCIDR",
  resource: "servicecidrs",
  isNamespaced: false,
  hasGeneration: false,
  shape: serviceCIDR,
  restoreStatusMetadata: restoreAllMetadata,
  validate: serviceBlockErrors,
  validateUpdate: serviceBlockUpdateErrors,
};

export const ipAddresses: NativeKind = {
  group,
  kind: "IPAddress",
  resource: "ipaddresses",
  shortNames: ["ip"],
  isNamespaced: false,
  hasStatus: false,
  shape: ipAddress,
};
