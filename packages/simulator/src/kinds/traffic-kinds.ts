/** Ingresses, NetworkPolicies and, in newer clusters, ServiceCIDRs and IPAddresses. */
import {
  itemErrors,
  listIn,
  mutableMember,
  objectIn,
  type ResourceDefinition,
  textIn,
} from "@kcp-ts/apiserver/kinds";
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  ingress,
  ingressClass,
  ipAddress,
  networkPolicy,
  serviceCIDR,
} from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { type Generation, inGeneration } from "../shapes/index.ts";
import { defineKind } from "./kind.ts";

const group = "networking.k8s.io";

export function trafficKinds(generation: Generation): readonly ResourceDefinition[] {
  const common = [
    ingressesKind(generation),
    ingressClassesKind(generation),
    networkPoliciesKind(generation),
  ];
  // Served since 1.33.
  return generation === "1.28" ? common : [...common, serviceRangesKind, addressesKind];
}

function ingressesKind(generation: Generation): ResourceDefinition {
  return defineKind({
    group,
    kind: "Ingress",
    resource: "ingresses",
    shortNames: ["ing"],
    shape: inGeneration(ingress, generation),
    prepareNew(draft) {
      draft["status"] = { loadBalancer: {} };
    },
    validate: ingressErrors,
  });
}

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

function ingressClassesKind(generation: Generation): ResourceDefinition {
  return defineKind({
    group,
    kind: "IngressClass",
    resource: "ingressclasses",
    isNamespaced: false,
    hasStatus: false,
    shape: inGeneration(ingressClass, generation),
  });
}

function networkPoliciesKind(generation: Generation): ResourceDefinition {
  return defineKind({
    group,
    kind: "NetworkPolicy",
    resource: "networkpolicies",
    shortNames: ["netpol"],
    hasStatus: false,
    shape: inGeneration(networkPolicy, generation),
    setDefaults(draft) {
      const spec = mutableMember(draft, "spec");
      if (listIn(spec["policyTypes"]).length === 0)
        spec["policyTypes"] =
          listIn(spec["egress"]).length > 0 ? ["Ingress", "Egress"] : ["Ingress"];
    },
  });
}

const serviceRangesKind: ResourceDefinition = defineKind({
  group,
  kind: "ServiceCIDR",
  resource: "servicecidrs",
  isNamespaced: false,
  shape: serviceCIDR,
});

const addressesKind: ResourceDefinition = defineKind({
  group,
  kind: "IPAddress",
  resource: "ipaddresses",
  shortNames: ["ip"],
  isNamespaced: false,
  hasStatus: false,
  shape: ipAddress,
});
