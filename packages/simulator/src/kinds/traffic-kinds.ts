/** Ingresses, NetworkPolicies and, in newer clusters, ServiceCIDRs and IPAddresses. */
import {
  ageCell,
  ageColumn,
  column,
  itemErrors,
  listIn,
  mutableMember,
  nameCell,
  nameColumn,
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
import { selectorText } from "./selectors.ts";

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
    columns: [
      nameColumn,
      column("Class", "string", "Who serves it."),
      column("Hosts", "string", "Names it answers to."),
      column("Address", "string", "Where it is reached."),
      column("Ports", "string", "Ports it is reached at."),
      ageColumn,
    ],
    cells(object, nowMs) {
      const spec = objectIn(object, "spec");
      const hosts = (listIn(spec["rules"]) as readonly JsonObject[])
        .map((rule) => textIn(rule, "host"))
        .filter((host) => host !== "");
      const addresses = (
        listIn(
          objectIn(objectIn(object, "status"), "loadBalancer")["ingress"],
        ) as readonly JsonObject[]
      ).map((one) => textIn(one, "ip") || textIn(one, "hostname"));
      return [
        nameCell(object),
        textIn(spec, "ingressClassName") || "<none>",
        hosts.length === 0 ? "*" : hosts.join(","),
        addresses.join(","),
        listIn(spec["tls"]).length > 0 ? "80, 443" : "80",
        ageCell(object, nowMs),
      ];
    },
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
    columns: [
      nameColumn,
      column("Controller", "string", "Who serves the Ingresses of this class."),
      column("Parameters", "string", "Its settings."),
      ageColumn,
    ],
    cells(object, nowMs) {
      const spec = objectIn(object, "spec");
      const parameters = objectIn(spec, "parameters");
      const kind = textIn(parameters, "kind");
      const suffix = textIn(parameters, "apiGroup");
      const shown = suffix === "" ? kind : `${kind}.${suffix}`;
      return [
        nameCell(object),
        textIn(spec, "controller"),
        kind === "" ? "<none>" : `${shown}/${textIn(parameters, "name")}`,
        ageCell(object, nowMs),
      ];
    },
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
    columns: [nameColumn, column("Pod-Selector", "string", "Whom it is about."), ageColumn],
    cells: (object, nowMs) => [
      nameCell(object),
      selectorText(objectIn(object, "spec")["podSelector"]) || "<none>",
      ageCell(object, nowMs),
    ],
  });
}

const serviceRangesKind: ResourceDefinition = defineKind({
  group,
  kind: "ServiceCIDR",
  resource: "servicecidrs",
  isNamespaced: false,
  shape: serviceCIDR,
  columns: [nameColumn, column("CIDRs", "string", "Ranges of addresses."), ageColumn],
  cells: (object, nowMs) => [
    nameCell(object),
    listIn(objectIn(object, "spec")["cidrs"]).map(String).join(","),
    ageCell(object, nowMs),
  ],
});

const addressesKind: ResourceDefinition = defineKind({
  group,
  kind: "IPAddress",
  resource: "ipaddresses",
  shortNames: ["ip"],
  isNamespaced: false,
  hasStatus: false,
  shape: ipAddress,
  columns: [nameColumn, column("ParentRef", "string", "Who has it."), ageColumn],
  cells(object, nowMs) {
    const parent = objectIn(objectIn(object, "spec"), "parentRef");
    const parts = ["resource", "namespace", "name"].map((member) => textIn(parent, member));
    return [
      nameCell(object),
      parts.filter((part) => part !== "").join("/"),
      ageCell(object, nowMs),
    ];
  },
});
