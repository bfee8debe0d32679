/**
 * FlowSchemas and PriorityLevelConfigurations. Those in the logical cluster root configure API
 * Priority and Fairness; others are only stored.
 */
import { resetFieldsOf } from "@kcp-ts/machinery/apply";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { flowSchema, priorityLevelConfiguration } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import type { Draft, SubresourceStrategy } from "../../strategy.ts";
import {
  ageCell,
  ageColumn,
  baseStrategy,
  builtIn,
  column,
  itemErrors,
  listIn,
  nameCell,
  nameColumn,
  namespacedNames,
  objectIn,
  restoreMembers,
  startGeneration,
  textIn,
} from "../standard.ts";
import { flowSchemaErrors } from "./flow-rules.ts";
import { levelErrors } from "./level-rules.ts";

const group = "flowcontrol.apiserver.k8s.io";

const statusEndpoint: SubresourceStrategy = {
  verbs: ["get", "patch", "update"],
  resetFields: resetFieldsOf(["spec"], ["metadata"]),
  prepareForUpdate: (draft, old) => restoreMembers(draft, old, "spec"),
  validateUpdate: statusErrors,
};

export const flowSchemas = builtIn({
  group,
  resource: "flowschemas",
  singular: "flowschema",
  kind: "FlowSchema",
  isNamespaced: false,
  subresources: new Map([["status", statusEndpoint]]),
  strategy: {
    ...baseStrategy,
    ...namespacedNames,
    shape: flowSchema,
    allowsUnconditionalUpdate: true,
    prepareForCreate(draft) {
      fillSchema(draft);
      draft["status"] = {};
      startGeneration(draft);
    },
    prepareForUpdate(draft, old) {
      fillSchema(draft);
      restoreMembers(draft, old, "status");
    },
    validate: flowSchemaErrors,
    validateUpdate: flowSchemaErrors,
    columns: [
      nameColumn,
      column("PriorityLevel", "string", "The priority level of its requests."),
      column(
        "MatchingPrecedence",
        "integer",
        "The FlowSchema with the lowest value that matches a request applies.",
      ),
      column("DistinguisherMethod", "string", "How requests are assigned to flows."),
      ageColumn,
      column("MissingPL", "string", "Whether the priority level is missing."),
    ],
    cells: schemaCells,
  },
});

export const priorityLevelConfigurations = builtIn({
  group,
  resource: "prioritylevelconfigurations",
  singular: "prioritylevelconfiguration",
  kind: "PriorityLevelConfiguration",
  isNamespaced: false,
  subresources: new Map([["status", statusEndpoint]]),
  strategy: {
    ...baseStrategy,
    ...namespacedNames,
    shape: priorityLevelConfiguration,
    allowsUnconditionalUpdate: true,
    prepareForCreate(draft) {
      fillLevel(draft);
      draft["status"] = {};
      startGeneration(draft);
    },
    prepareForUpdate(draft, old) {
      fillLevel(draft);
      restoreMembers(draft, old, "status");
    },
    validate: levelErrors,
    validateUpdate: levelErrors,
    columns: [
      nameColumn,
      column("Type", "string", "Exempt or Limited."),
      column("NominalConcurrencyShares", "string", "Its share of the concurrency limit."),
      column("Queues", "string", "The number of queues."),
      column("HandSize", "string", "The number of queues that one flow may use."),
      column("QueueLengthLimit", "string", "The maximum number of requests in one queue."),
      ageColumn,
    ],
    cells: levelCells,
  },
});

const precedenceDefault = 1000;

function fillSchema(draft: Draft): void {
  draft["spec"] = withDefaults({ matchingPrecedence: precedenceDefault }, objectIn(draft, "spec"));
}

/** Zero counts as unset, where zero is invalid. */
function withDefaults(defaults: JsonObject, given: JsonObject): JsonObject {
  const meant = Object.entries(given).filter(
    ([member, value]) => value !== 0 || !Object.hasOwn(defaults, member),
  );
  return { ...defaults, ...Object.fromEntries(meant) };
}

const queuingDefaults: JsonObject = { queues: 64, handSize: 8, queueLengthLimit: 50 };

function fillLevel(draft: Draft): void {
  const spec = objectIn(draft, "spec");
  const { exempt, limited } = spec;
  if (spec["type"] === "Exempt")
    draft["spec"] = {
      ...spec,
      exempt: {
        nominalConcurrencyShares: 0,
        lendablePercent: 0,
        ...(isJsonObject(exempt) ? exempt : {}),
      },
    };
  else if (isJsonObject(limited)) {
    const response = objectIn(limited, "limitResponse");
    const queuing = response["queuing"];
    const filled = isJsonObject(queuing)
      ? { ...response, queuing: withDefaults(queuingDefaults, queuing) }
      : response;
    const shares = { nominalConcurrencyShares: 30, lendablePercent: 0 };
    draft["spec"] = { ...spec, limited: { ...shares, ...limited, limitResponse: filled } };
  }
}

function statusErrors(updated: JsonObject): FieldError[] {
  const seen = new Set<string>();
  const { conditions } = objectIn(updated, "status");
  return itemErrors<JsonObject>(conditions, "status.conditions", (condition, at) => {
    const type = textIn(condition, "type");
    const errors = seen.has(type) ? [fieldError.duplicate(`${at}.type`, type)] : [];
    seen.add(type);
    return type === "" ? [...errors, fieldError.required(`${at}.type`)] : errors;
  });
}

function schemaCells(object: JsonObject, nowMs: number): JsonValue[] {
  const spec = objectIn(object, "spec");
  const { conditions } = objectIn(object, "status");
  const dangling = listIn(conditions)
    .filter(isJsonObject)
    .find(({ type }) => type === "Dangling");
  const method = textIn(objectIn(spec, "distinguisherMethod"), "type");
  return [
    nameCell(object),
    textIn(objectIn(spec, "priorityLevelConfiguration"), "name"),
    Number(spec["matchingPrecedence"] ?? 0),
    method === "" ? "<none>" : method,
    ageCell(object, nowMs),
    dangling === undefined ? "?" : textIn(dangling, "status"),
  ];
}

function levelCells(object: JsonObject, nowMs: number): JsonValue[] {
  const spec = objectIn(object, "spec");
  const limited = objectIn(spec, "limited");
  const share = spec["type"] === "Exempt" ? objectIn(spec, "exempt") : limited;
  const queuing = objectIn(objectIn(limited, "limitResponse"), "queuing");
  const shown = (value: JsonValue | undefined) => (value === undefined ? "<none>" : String(value));
  return [
    nameCell(object),
    textIn(spec, "type"),
    shown(share["nominalConcurrencyShares"]),
    ...["queues", "handSize", "queueLengthLimit"].map((member) => shown(queuing[member])),
    ageCell(object, nowMs),
  ];
}
