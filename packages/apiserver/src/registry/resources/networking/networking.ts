/** Ingresses, NetworkPolicies and, in newer clusters, ServiceCIDRs and IPAddresses. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  ingress,
  ingressClass,
  ipAddress,
  networkPolicy,
  serviceCIDR,
} from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { mutableItems, mutableMember, setDefault } from "../../mutable-members.ts";
import { labelSelectorErrors } from "../label-selector-errors.ts";
import type { NativeKind } from "../native-kind.ts";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";

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
};

const pathTypes = ["Exact", "ImplementationSpecific", "Prefix"];

function ingressErrors(object: JsonObject): FieldError[] {
  const spec = objectIn(object, "spec");
  const errors: FieldError[] = [];
  if (listIn(spec["rules"]).length === 0 && spec["defaultBackend"] === undefined)
    errors.push(
      fieldError.invalid("spec", [], "either `defaultBackend` or `rules` must be specified"),
    );
  errors.push(
    ...itemErrors<JsonObject>(spec["rules"], "spec.rules", (rule, at) =>
      itemErrors<JsonObject>(objectIn(rule, "http")["paths"], `${at}.http.paths`, pathErrors),
    ),
  );
  return errors;
}

function pathErrors(path: JsonObject, at: string): FieldError[] {
  const type = textIn(path, "pathType");
  if (type === "") return [fieldError.required(`${at}.pathType`, "pathType must be specified")];
  if (!pathTypes.includes(type))
    return [fieldError.notSupported(`${at}.pathType`, type, pathTypes)];
  const text = textIn(path, "path");
  return type !== "ImplementationSpecific" && !text.startsWith("/")
    ? [fieldError.invalid(`${at}.path`, text, "must be an absolute path")]
    : [];
}

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
};

export const networkPolicies: NativeKind = {
  group,
  kind: "NetworkPolicy",
  resource: "networkpolicies",
  shortNames: ["netpol"],
  hasStatus: false,
  shape: networkPolicy,
  setDefaults(draft) {
    const spec = mutableMember(draft, "spec");
    spec["podSelector"] ??= {};
    if (listIn(spec["policyTypes"]).length === 0)
      spec["policyTypes"] = listIn(spec["egress"]).length > 0 ? ["Ingress", "Egress"] : ["Ingress"];
    for (const member of ["ingress", "egress"])
      for (const rule of mutableItems(spec, member))
        for (const port of mutableItems(rule, "ports")) setDefault(port, "protocol", "TCP");
  },
  validate: (object) =>
    labelSelectorErrors(objectIn(object, "spec")["podSelector"], "spec.podSelector"),
};

export const serviceCidrs: NativeKind = {
  group,
  kind: "ServiceCIDR",
  resource: "servicecidrs",
  isNamespaced: false,
  shape: serviceCIDR,
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
