/** EndpointSlices. */
import { type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { dnsLabelErrors, dnsSubdomainErrors, labelValueErrors } from "@kcp-ts/machinery/names";
import { endpointSlice } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { mutableItems, mutableMember } from "../../mutable-members.ts";
import {
  canonicalAddressErrors,
  endpointAddressErrors,
  ipAddressErrors,
  ipVersionOf,
} from "../address-rules.ts";
import { endpointSliceWarnings } from "../core/service-warnings.ts";
import type { NativeKind } from "../native-kind.ts";
import { appProtocolErrors, fixedMemberErrors, nameErrorsAt, oneOf } from "../rules.ts";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";

const endpointsMax = 1000;
const addressesMax = 100;
const portsMax = 20_000;

export const endpointSlices: NativeKind = {
  group: "discovery.k8s.io",
  kind: "EndpointSlice",
  resource: "endpointslices",
  shape: endpointSlice,
  hasStatus: false,
  setDefaults(draft) {
    for (const port of mutableItems(draft, "ports")) {
      port["name"] ??= "";
      port["protocol"] ??= "TCP";
    }
    for (const endpoint of mutableItems(draft, "endpoints")) {
      endpoint["conditions"] ??= {};
      delete endpoint["deprecatedTopology"];
    }
    for (const member of ["endpoints", "ports"])
      if (listIn(draft[member]).length === 0) draft[member] = null;
  },
  prepareUpdated(draft, old) {
    // Watchers of slices read their labels, too: a change of them alone counts as well.
    const [now, before] = [contentOf(draft), contentOf(old)];
    if (!jsonEqual(now.content, before.content) || jsonEqual(now.labels, before.labels)) return;
    const metadata = mutableMember(draft, "metadata");
    metadata["generation"] = Number(metadata["generation"] ?? 0) + 1;
  },
  validate: (object, old) => [
    ...oneOf(object, "addressType", ["FQDN", "IPv4", "IPv6"], ""),
    ...portErrors(object),
    ...(old !== undefined && jsonEqual(object["endpoints"] ?? null, old["endpoints"] ?? null)
      ? []
      : endpointErrors(object)),
  ],
  validateUpdate: (updated, old) => fixedMemberErrors(updated, old, "addressType"),
  objectWarnings: endpointSliceWarnings,
};

function contentOf({ metadata, ...content }: JsonObject) {
  return { content, labels: objectIn(metadata as JsonObject, "labels") };
}

function portErrors(slice: JsonObject): FieldError[] {
  const count = listIn(slice["ports"]).length;
  if (count > portsMax) return [fieldError.tooMany("ports", count, portsMax)];
  const names = new Set<string>();
  return itemErrors<JsonObject>(slice["ports"], "ports", (port, at) => {
    const name = textIn(port, "name");
    const errors = name === "" ? [] : nameErrorsAt(name, `${at}.name`, dnsLabelErrors);
    if (names.has(name)) errors.push(fieldError.duplicate(`${at}.name`, name));
    names.add(name);
    return [
      ...errors,
      ...oneOf(port, "protocol", ["SCTP", "TCP", "UDP"], at),
      ...appProtocolErrors(port, at),
    ];
  });
}

function endpointErrors(slice: JsonObject): FieldError[] {
  const type = textIn(slice, "addressType");
  const total = listIn(slice["endpoints"]).length;
  if (total > endpointsMax) return [fieldError.tooMany("endpoints", total, endpointsMax)];
  return itemErrors<JsonObject>(slice["endpoints"], "endpoints", (endpoint, at) => {
    const count = listIn(endpoint["addresses"]).length;
    const { nodeName, hostname } = endpoint;
    return [
      ...(count === 0
        ? [fieldError.required(`${at}.addresses`, "must contain at least 1 address")]
        : []),
      ...(count > addressesMax ? [fieldError.tooMany(`${at}.addresses`, count, addressesMax)] : []),
      ...itemErrors<string>(endpoint["addresses"], `${at}.addresses`, (address, field) =>
        addressErrors(address, type, field),
      ),
      ...(nodeName === undefined
        ? []
        : nameErrorsAt(String(nodeName), `${at}.nodeName`, dnsSubdomainErrors)),
      ...(hostname === undefined
        ? []
        : nameErrorsAt(String(hostname), `${at}.hostname`, dnsLabelErrors)),
      ...hintErrors(objectIn(endpoint, "hints"), `${at}.hints`),
    ];
  });
}

const hintsMax = 8;
const hintNameErrors = { forZones: labelValueErrors, forNodes: dnsSubdomainErrors };

/** The zones and nodes whose traffic an endpoint gets. */
function hintErrors(hints: JsonObject, at: string): FieldError[] {
  return Object.entries(hintNameErrors).flatMap(([member, check]) => {
    const field = `${at}.${member}`;
    const count = listIn(hints[member]).length;
    if (count > hintsMax) return [fieldError.tooMany(field, count, hintsMax)];
    const names = new Set<string>();
    return itemErrors<JsonObject>(hints[member], field, (hint, place) => {
      const name = textIn(hint, "name");
      const errors = names.has(name) ? [fieldError.duplicate(`${place}.name`, name)] : [];
      names.add(name);
      return [...errors, ...nameErrorsAt(name, `${place}.name`, check)];
    });
  });
}

function addressErrors(address: string, type: string, field: string): FieldError[] {
  if (type === "FQDN") return nameErrorsAt(address, field, dnsSubdomainErrors);
  if (type !== "IPv4" && type !== "IPv6") return [];
  const malformed =
    type === "IPv6" ? canonicalAddressErrors(address, field) : ipAddressErrors(address, field);
  if (malformed.length > 0) return malformed;
  const isOfFamily = ipVersionOf(address) === (type === "IPv4" ? 4 : 6);
  const list = field.replace(/\[\d+\]$/, "");
  return [
    ...(isOfFamily ? [] : [fieldError.invalid(list, address, `must be an ${type} address`)]),
    ...endpointAddressErrors(address, field),
  ];
}
