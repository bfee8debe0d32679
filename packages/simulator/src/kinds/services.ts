/** Services, Endpoints and EndpointSlices. */
import {
  type Draft,
  itemErrors,
  listIn,
  mutableItems,
  mutableMember,
  objectIn,
  type ResourceDefinition,
  setDefault,
  textIn,
} from "@kcp-ts/apiserver/kinds";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { dns1035LabelErrors } from "@kcp-ts/machinery/names";
import { endpointSlice, endpoints, service } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { type Generation, inGeneration } from "../shapes/index.ts";
import { defineKind } from "./kind.ts";
import { oneOf } from "./pod-errors.ts";

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

export const endpointsKind: ResourceDefinition = defineKind({
  group: "",
  kind: "Endpoints",
  resource: "endpoints",
  shortNames: ["ep"],
  shape: endpoints,
  hasStatus: false,
  hasGeneration: false,
});

export function endpointSlicesKind(generation: Generation): ResourceDefinition {
  return defineKind({
    group: "discovery.k8s.io",
    kind: "EndpointSlice",
    resource: "endpointslices",
    shape: inGeneration(endpointSlice, generation),
    hasStatus: false,
    validate: (object) => oneOf(object, "addressType", ["FQDN", "IPv4", "IPv6"], ""),
  });
}
