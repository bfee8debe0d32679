/**
 * core/v1 Events: the storage version of Events. events.k8s.io/v1 is a view of them
 * (resources/events).
 */
import { event } from "@kcp-ts/machinery/shape";
import type { ResourceDefinition } from "../../resource-definition.ts";
import { eventErrors } from "../events/event-rules.ts";
import { coreEventFields } from "../events/event-selectors.ts";
import { eventCells, eventColumns } from "../events/event-table.ts";
import { baseStrategy, standardVerbs, unrestrictedNames } from "../standard.ts";

export const events: ResourceDefinition = {
  group: "",
  version: "v1",
  resource: "events",
  singular: "event",
  kind: "Event",
  listKind: "EventList",
  isNamespaced: true,
  shortNames: ["ev"],
  categories: [],
  verbs: standardVerbs,
  identity: "",
  itemsCarryKind: false,
  subresources: new Map(),
  strategy: {
    ...baseStrategy,
    ...unrestrictedNames,
    shape: event,
    allowsUnconditionalUpdate: true,
    allowsCreateOnUpdate: true,
    validate: (object) => eventErrors(object, "reportingComponent"),
    validateUpdate: (updated) => eventErrors(updated, "reportingComponent"),
    selectableFields: coreEventFields,
    columns: eventColumns,
    cells: eventCells,
  },
};
