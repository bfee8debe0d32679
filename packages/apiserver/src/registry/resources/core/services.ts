/** Services and Endpoints. */
import { isJsonObject, type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { labelErrors } from "@kcp-ts/machinery/meta";
import { dnsLabelErrors, dnsSubdomainErrors } from "@kcp-ts/machinery/names";
import { endpoints as endpointsShape, service } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { mutableItems, mutableMember, setDefault } from "../../mutable-members.ts";
import type { Draft } from "../../strategy.ts";
import { endpointAddressErrors, ipAddressErrors, withoutOldSpellings } from "../address-rules.ts";
import type { NativeKind } from "../native-kind.ts";
import {
  appProtocolErrors,
  nameErrorsAt,
  oneOf,
  portNumberErrors,
  portOrNameErrors,
} from "../rules.ts";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";
import { externalAddressErrors, trafficErrors } from "./service-traffic-rules.ts";
import { dropFieldsOfOldType } from "./service-type-change.ts";
import { endpointsWarnings, serviceWarnings } from "./service-warnings.ts";

const types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const affinitySecondsDefault = 10_800;

/**
 * A Service has the addresses that its clusters give to its copies, so none of its own; a cluster
 * that has addresses allocates them when the Service is new.
 */
export const services: NativeKind = {
  group: "",
  kind: "Service",
  resource: "services",
  shortNames: ["svc"],
  categories: ["all"],
  shape: service,
  hasGeneration: false,
  nameErrors: dnsLabelErrors,
  setDefaults: setServiceDefaults,
  prepareNew(draft) {
    draft["status"] = { loadBalancer: {} };
  },
  prepareUpdated: dropFieldsOfOldType,
  validate: (object, old) =>
    old === undefined
      ? serviceErrors(object)
      : withoutOldSpellings(serviceErrors(object), () => serviceErrors(old)),
  validateUpdate: addressErrors,
  objectWarnings: serviceWarnings,
  strategy: {
    allowsCreateOnUpdate: true,
    returnsDeletedObject: true,
    selectableFields: new Map([
      ["spec.clusterIP", (object: JsonObject) => textIn(objectIn(object, "spec"), "clusterIP")],
      ["spec.type", (object: JsonObject) => textIn(objectIn(object, "spec"), "type")],
    ]),
  },
};

function isExternal(type: string): boolean {
  return type === "NodePort" || type === "LoadBalancer";
}

export function setServiceDefaults(draft: Draft): void {
  const spec = mutableMember(draft, "spec");
  setDefault(spec, "sessionAffinity", "None");
  if (spec["sessionAffinity"] === "None") delete spec["sessionAffinityConfig"];
  if (spec["sessionAffinity"] === "ClientIP") {
    const given = objectIn(objectIn(spec, "sessionAffinityConfig"), "clientIP")["timeoutSeconds"];
    if (given === undefined)
      spec["sessionAffinityConfig"] = { clientIP: { timeoutSeconds: affinitySecondsDefault } };
  }
  setDefault(spec, "type", "ClusterIP");
  const type = textIn(spec, "type");
  for (const port of mutableItems(spec, "ports")) {
    setDefault(port, "protocol", "TCP");
    if (port["targetPort"] === undefined || port["targetPort"] === 0 || port["targetPort"] === "")
      port["targetPort"] = port["port"] ?? 0;
  }
  const isReachable =
    isExternal(type) || (type === "ClusterIP" && listIn(spec["externalIPs"]).length > 0);
  if (isReachable) setDefault(spec, "externalTrafficPolicy", "Cluster");
  if (isExternal(type) || type === "ClusterIP") spec["internalTrafficPolicy"] ??= "Cluster";
  if (type === "LoadBalancer") spec["allocateLoadBalancerNodePorts"] ??= true;
}

function addressErrors(updated: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [objectIn(updated, "spec"), objectIn(old, "spec")];
  if (textIn(now, "type") === "ExternalName" || textIn(before, "type") === "ExternalName")
    return [];
  const [address, kept] = [listIn(now["clusterIPs"]), listIn(before["clusterIPs"])];
  if (kept.length === 0 || jsonEqual(address[0] ?? null, kept[0] ?? null)) return [];
  const message =
    address.length === 0 ? "primary clusterIP can not be unset" : "may not change once set";
  return [fieldError.invalid("spec.clusterIPs[0]", (address[0] ?? "") as string, message)];
}

const affinitySecondsMax = 86_400;

function affinityErrors(spec: JsonObject): FieldError[] {
  const { timeoutSeconds } = objectIn(objectIn(spec, "sessionAffinityConfig"), "clientIP");
  if (spec["sessionAffinity"] !== "ClientIP" || timeoutSeconds === undefined) return [];
  const isGood = Number(timeoutSeconds) > 0 && Number(timeoutSeconds) <= affinitySecondsMax;
  const at = "spec.sessionAffinityConfig.clientIP.timeoutSeconds";
  const detail = `must be greater than 0 and less than ${affinitySecondsMax}`;
  return isGood ? [] : [fieldError.invalid(at, timeoutSeconds, detail)];
}

function serviceErrors(object: JsonObject): FieldError[] {
  const spec = objectIn(object, "spec");
  const type = textIn(spec, "type");
  const isHeadless = textIn(spec, "clusterIP") === "None";
  const ports = listIn(spec["ports"]);
  const errors: FieldError[] = [];
  if (ports.length === 0 && !isHeadless && type !== "ExternalName")
    errors.push(fieldError.required("spec.ports"));
  errors.push(...affinityErrors(spec));
  if (type === "LoadBalancer" && isHeadless)
    errors.push(
      fieldError.invalid(
        "spec.clusterIPs[0]",
        "None",
        "may not be set to 'None' for LoadBalancer services",
      ),
    );
  if (type === "NodePort" && isHeadless)
    errors.push(
      fieldError.invalid(
        "spec.clusterIPs[0]",
        "None",
        "may not be set to 'None' for NodePort services",
      ),
    );
  if (type === "ExternalName") errors.push(...externalNameErrors(textIn(spec, "externalName")));
  errors.push(...portsErrors(spec, ports.length > 1));
  if (isJsonObject(spec["selector"]))
    errors.push(
      ...labelErrors(objectIn(spec, "selector") as Record<string, string>, "spec.selector"),
    );
  return [
    ...errors,
    ...oneOf(spec, "sessionAffinity", ["ClientIP", "None"], "spec"),
    ...externalAddressErrors(spec),
    ...oneOf(spec, "type", types, "spec"),
    ...trafficErrors(spec),
  ];
}

function externalNameErrors(name: string): FieldError[] {
  if (name === "") return [fieldError.required("spec.externalName")];
  return nameErrorsAt(name.replace(/\.$/, ""), "spec.externalName", dnsSubdomainErrors);
}

function portsErrors(spec: JsonObject, needsNames: boolean): FieldError[] {
  const [names, numbers] = [new Set<string>(), new Set<string>()];
  return itemErrors<JsonObject>(spec["ports"], "spec.ports", (port, at) => {
    const errors: FieldError[] = [];
    const name = textIn(port, "name");
    if (needsNames && name === "") errors.push(fieldError.required(`${at}.name`));
    else if (name !== "") {
      errors.push(...nameErrorsAt(name, `${at}.name`, dnsLabelErrors));
      if (names.has(name)) errors.push(fieldError.duplicate(`${at}.name`, name));
      names.add(name);
    }
    errors.push(
      ...portNumberErrors(port["port"] ?? 0, `${at}.port`),
      ...oneOf(port, "protocol", ["SCTP", "TCP", "UDP"], at),
      ...portOrNameErrors(port["targetPort"], `${at}.targetPort`),
      ...appProtocolErrors(port, at),
    );
    const { protocol, port: number } = port as { protocol: string; port: number };
    const key = `${protocol}/${number}`;
    if (numbers.has(key)) errors.push(fieldError.duplicate(at, { protocol, port: number }));
    numbers.add(key);
    return errors;
  });
}

export const endpoints: NativeKind = {
  group: "",
  kind: "Endpoints",
  resource: "endpoints",
  shortNames: ["ep"],
  shape: endpointsShape,
  hasStatus: false,
  hasGeneration: false,
  setDefaults(draft) {
    for (const subset of mutableItems(draft, "subsets"))
      for (const port of mutableItems(subset, "ports")) setDefault(port, "protocol", "TCP");
  },
  warnings: ["v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"],
  objectWarnings: endpointsWarnings,
  validate: (object, old) =>
    old !== undefined && jsonEqual(object["subsets"] ?? null, old["subsets"] ?? null)
      ? []
      : itemErrors(object["subsets"], "subsets", subsetErrors),
  strategy: { allowsCreateOnUpdate: true },
};

function subsetErrors(subset: JsonObject, field: string): FieldError[] {
  const members = ["addresses", "notReadyAddresses"];
  const ports = listIn(subset["ports"]);
  return [
    ...(members.every((member) => listIn(subset[member]).length === 0)
      ? [fieldError.required(field, "must specify `addresses` or `notReadyAddresses`")]
      : []),
    ...members.flatMap((member) =>
      itemErrors(subset[member], `${field}.${member}`, endpointErrors),
    ),
    ...itemErrors<JsonObject>(subset["ports"], `${field}.ports`, (port, at) => [
      ...endpointPortNameErrors(textIn(port, "name"), ports.length > 1, `${at}.name`),
      ...portNumberErrors(port["port"] ?? 0, `${at}.port`),
      ...oneOf(port, "protocol", ["SCTP", "TCP", "UDP"], at),
      ...appProtocolErrors(port, at),
    ]),
  ];
}

function endpointPortNameErrors(name: string, isNeeded: boolean, field: string): FieldError[] {
  if (name === "") return isNeeded ? [fieldError.required(field)] : [];
  return nameErrorsAt(name, field, dnsLabelErrors);
}

function endpointErrors(address: JsonObject, field: string): FieldError[] {
  const [ip, hostname] = [textIn(address, "ip"), textIn(address, "hostname")];
  const node = textIn(address, "nodeName");
  return [
    ...ipAddressErrors(ip, `${field}.ip`),
    ...(hostname === "" ? [] : nameErrorsAt(hostname, `${field}.hostname`, dnsLabelErrors)),
    ...(address["nodeName"] === undefined
      ? []
      : nameErrorsAt(node, `${field}.nodeName`, dnsSubdomainErrors)),
    ...endpointAddressErrors(ip, `${field}.ip`),
  ];
}
