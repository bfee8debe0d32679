/**
 * events.k8s.io/v1 Events: a stricter view of the core group's Events, with other names for the
 * same fields.
 */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { dnsSubdomainErrors } from "@kcp-ts/machinery/names";
import { eventsV1Event } from "@kcp-ts/machinery/shape";
import { conversionCodec } from "../../conversion-codec.ts";
import type { ResourceDefinition } from "../../resource-definition.ts";
import { events } from "../core/events.ts";
import { eventErrors, strictEventErrors, strictEventUpdateErrors } from "./event-rules.ts";
import { eventsV1Fields } from "./event-selectors.ts";
import { eventCells } from "./event-table.ts";

/** The names of members in core/v1 and in events.k8s.io/v1. Other members have one name. */
const names: readonly (readonly [core: string, view: string])[] = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["reportingComponent", "reportingController"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
];
const toCore = new Map(names.map(([core, view]) => [view, core]));
const toView = new Map(names);

export const eventsV1: ResourceDefinition = {
  ...events,
  group: "events.k8s.io",
  storedAs: { group: "", resource: "events", identity: "" },
  codec: conversionCodec({
    name: "events.k8s.io/v1",
    toServed: (object) => renamed(object, toView, "events.k8s.io/v1"),
    toStored,
  }),
  strategy: {
    ...events.strategy,
    nameErrors: dnsSubdomainErrors,
    shape: eventsV1Event,
    validate(object) {
      const stored = toStored(object);
      return [...eventErrors(stored, "reportingController"), ...strictEventErrors(stored)];
    },
    validateUpdate(updated, old) {
      const [after, before] = [toStored(updated), toStored(old)];
      return [
        ...eventErrors(after, "reportingController"),
        ...strictEventUpdateErrors(after, before),
      ];
    },
    selectableFields: eventsV1Fields,
    cells: (object, nowMs) => eventCells(toStored(object), nowMs),
  },
};

function toStored(object: JsonObject): JsonObject {
  return renamed(object, toCore, "v1");
}

function renamed(
  object: JsonObject,
  newNames: ReadonlyMap<string, string>,
  apiVersion: string,
): JsonObject {
  const result: { [member: string]: JsonValue } = {};
  // Both objects are shaped already, so that no member has a dangerous name.
  for (const key of Object.keys(object))
    result[newNames.get(key) ?? key] = object[key] as JsonValue;
  result["apiVersion"] = apiVersion;
  return result;
}
