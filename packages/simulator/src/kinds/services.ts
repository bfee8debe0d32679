/** Services, Endpoints and EndpointSlices. */
import {
  ageCell,
  ageColumn,
  column,
  type Draft,
  itemErrors,
  listIn,
  mutableItems,
  mutableMember,
  nameCell,
  nameColumn,
  objectIn,
  type ResourceDefinition,
  setDefault,
  textIn,
  wideColumn,
} from "@kcp-ts/apiserver/kinds";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { dns1035LabelErrors } from "@kcp-ts/machinery/names";
import { endpointSlice, endpoints, service } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { type Generation, inGeneration } from "../shapes/index.ts";
import { defineKind } from "./kind.ts";
import { oneOf } from "./pod-errors.ts";
import { selectorText } from "./selectors.ts";

const types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const nodePortMin = 30000;
const nodePortCount = 2768;

export function servicesKind(generation: Generation): ResourceDefinition {
  return defineKind({
    group: "",
    kind: "Service",
    resource: "services",
    shortNames: ["svc"],
    categories: ["all"],
    shape: inGeneration(service, generation),
    hasGeneration: false,
    nameErrors: dns1035LabelErrors,
    setDefaults: setServiceDefaults,
    prepareNew(draft) {
      draft["status"] = { loadBalancer: {} };
    },
    validate: serviceErrors,
    validateUpdate: (updated, old) => {
      const [now, before] = [objectIn(updated, "spec"), objectIn(old, "spec")];
      const address = textIn(before, "clusterIP");
      const isKept = address === "" || textIn(now, "clusterIP") === address;
      return isKept || textIn(now, "type") === "ExternalName"
        ? []
        : [
            fieldError.invalid(
              "spec.clusterIPs[0]",
              now["clusterIP"] ?? "",
              "may not change once set",
            ),
          ];
    },
    columns: [
      nameColumn,
      column("Type", "string", "How it is reached."),
      column("Cluster-IP", "string", "Its address within the cluster."),
      column("External-IP", "string", "Its address from outside."),
      column("Port(s)", "string", "Its ports."),
      ageColumn,
      wideColumn("Selector", "string", "Which Pods are behind it."),
    ],
    cells(object, nowMs) {
      const spec = objectIn(object, "spec");
      return [
        nameCell(object),
        textIn(spec, "type"),
        textIn(spec, "clusterIP") || "<none>",
        externalText(object),
        portsText(spec),
        ageCell(object, nowMs),
        selectorText({ matchLabels: spec["selector"] ?? {} }) || "<none>",
      ];
    },
    strategy: {
      selectableFields: new Map([
        ["spec.clusterIP", (object: JsonObject) => textIn(objectIn(object, "spec"), "clusterIP")],
        ["spec.type", (object: JsonObject) => textIn(objectIn(object, "spec"), "type")],
      ]),
    },
  });
}

function setServiceDefaults(draft: Draft): void {
  const spec = mutableMember(draft, "spec");
  setDefault(spec, "type", "ClusterIP");
  setDefault(spec, "sessionAffinity", "None");
  if (spec["sessionAffinity"] === "ClientIP")
    setDefault(spec, "sessionAffinityConfig", { clientIP: { timeoutSeconds: 10800 } });
  const { type } = spec;
  for (const port of mutableItems(spec, "ports")) {
    setDefault(port, "protocol", "TCP");
    if (port["targetPort"] === undefined || port["targetPort"] === 0 || port["targetPort"] === "")
      port["targetPort"] = port["port"] ?? 0;
    if ((type === "NodePort" || type === "LoadBalancer") && !port["nodePort"])
      port["nodePort"] = nodePortMin + (hash(draft, String(port["port"])) % nodePortCount);
  }
  if (type === "ExternalName") return;
  setDefault(spec, "internalTrafficPolicy", "Cluster");
  if (type !== "ClusterIP") setDefault(spec, "externalTrafficPolicy", "Cluster");
  if (type === "LoadBalancer") setDefault(spec, "allocateLoadBalancerNodePorts", true);
  setDefault(spec, "ipFamilyPolicy", "SingleStack");
  setDefault(spec, "ipFamilies", ["IPv4"]);
  const number = hash(draft, "address") % 65000;
  setDefault(spec, "clusterIP", `10.96.${number >> 8}.${number & 255 || 1}`);
  if (spec["clusterIPs"] === undefined) spec["clusterIPs"] = [spec["clusterIP"] as string];
}

/** Addresses and ports are derived from the uid: no allocation table is needed. */
function hash(draft: Draft, salt: string): number {
  const text = `${String((draft["metadata"] as JsonObject)["uid"])}${salt}`;
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++)
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return value;
}

function serviceErrors(object: JsonObject): FieldError[] {
  const spec = objectIn(object, "spec");
  const isHeadless = textIn(spec, "clusterIP") === "None";
  const errors = oneOf(spec, "type", types, "spec");
  if (textIn(spec, "type") === "ExternalName") {
    if (textIn(spec, "externalName") === "") errors.push(fieldError.required("spec.externalName"));
    return errors;
  }
  const ports = listIn(spec["ports"]);
  if (ports.length === 0 && !isHeadless) errors.push(fieldError.required("spec.ports"));
  const names = new Set<string>();
  errors.push(
    ...itemErrors<JsonObject>(spec["ports"], "spec.ports", (port, at) => {
      const found: FieldError[] = [];
      const name = textIn(port, "name");
      if (name === "" && ports.length > 1) found.push(fieldError.required(`${at}.name`));
      else if (name !== "" && names.has(name)) found.push(fieldError.duplicate(`${at}.name`, name));
      names.add(name);
      const number = Number(port["port"] ?? 0);
      if (number < 1 || number > 65535)
        found.push(
          fieldError.invalid(`${at}.port`, number, "must be between 1 and 65535, inclusive"),
        );
      return found;
    }),
  );
  return errors;
}

function externalText(object: JsonObject): string {
  const spec = objectIn(object, "spec");
  if (textIn(spec, "type") === "ExternalName") return textIn(spec, "externalName");
  const own = listIn(spec["externalIPs"]).map(String);
  const given = listIn(objectIn(objectIn(object, "status"), "loadBalancer")["ingress"]).map(
    (one) => textIn(one as JsonObject, "ip") || textIn(one as JsonObject, "hostname"),
  );
  const all = [...given, ...own];
  if (all.length > 0) return all.join(",");
  return textIn(spec, "type") === "LoadBalancer" ? "<pending>" : "<none>";
}

function portsText(spec: JsonObject): string {
  const ports = listIn(spec["ports"]) as readonly JsonObject[];
  if (ports.length === 0) return "<none>";
  return ports
    .map((one) => {
      const node = one["nodePort"] === undefined ? "" : `:${String(one["nodePort"])}`;
      return `${String(one["port"])}${node}/${textIn(one, "protocol")}`;
    })
    .join(",");
}

export const endpointsKind: ResourceDefinition = defineKind({
  group: "",
  kind: "Endpoints",
  resource: "endpoints",
  shortNames: ["ep"],
  shape: endpoints,
  hasStatus: false,
  hasGeneration: false,
  columns: [nameColumn, column("Endpoints", "string", "Addresses and ports."), ageColumn],
  cells: (object, nowMs) => [nameCell(object), endpointsText(object), ageCell(object, nowMs)],
});

const shownMax = 3;

function endpointsText(object: JsonObject): string {
  const texts = (listIn(object["subsets"]) as readonly JsonObject[]).flatMap((subset) =>
    (listIn(subset["addresses"]) as readonly JsonObject[]).flatMap((address) => {
      const ports = listIn(subset["ports"]) as readonly JsonObject[];
      const ip = textIn(address, "ip");
      return ports.length === 0 ? [ip] : ports.map((port) => `${ip}:${String(port["port"])}`);
    }),
  );
  if (texts.length === 0) return "<none>";
  const more = texts.length > shownMax ? ` + ${texts.length - shownMax} more...` : "";
  return `${texts.slice(0, shownMax).join(",")}${more}`;
}

export function endpointSlicesKind(generation: Generation): ResourceDefinition {
  return defineKind({
    group: "discovery.k8s.io",
    kind: "EndpointSlice",
    resource: "endpointslices",
    shape: inGeneration(endpointSlice, generation),
    hasStatus: false,
    validate: (object) => oneOf(object, "addressType", ["FQDN", "IPv4", "IPv6"], ""),
    columns: [
      nameColumn,
      column("AddressType", "string", "Of its endpoints."),
      column("Ports", "string", "Of its endpoints."),
      column("Endpoints", "string", "Addresses."),
      ageColumn,
    ],
    cells(object, nowMs) {
      const ports = listIn(object["ports"]) as readonly JsonObject[];
      const addresses = (listIn(object["endpoints"]) as readonly JsonObject[]).flatMap((one) =>
        listIn(one["addresses"]).map(String),
      );
      return [
        nameCell(object),
        textIn(object, "addressType"),
        shown(
          ports.map((port) => String(port["port"] ?? "*")),
          "<unset>",
        ),
        shown(addresses, "<unset>"),
        ageCell(object, nowMs),
      ];
    },
  });
}

function shown(texts: readonly string[], otherwise: string): JsonValue {
  if (texts.length === 0) return otherwise;
  const more = texts.length > shownMax ? ` + ${texts.length - shownMax} more...` : "";
  return `${texts.slice(0, shownMax).join(",")}${more}`;
}
