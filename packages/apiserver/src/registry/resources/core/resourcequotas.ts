/** ResourceQuotas: limits of a namespace; a controller counts, admission rejects. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { resourceQuota } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import type { SubresourceStrategy } from "../../strategy.ts";
import {
  ageCell,
  ageColumn,
  baseStrategy,
  builtIn,
  column,
  listIn,
  nameCell,
  nameColumn,
  namespacedNames,
  objectIn,
  restoreMembers,
} from "../standard.ts";
import { limitErrors, scopeErrors } from "./quota-rules.ts";

const statusEndpoint: SubresourceStrategy = {
  verbs: ["get", "patch", "update"],
  prepareForUpdate: (draft, old) => restoreMembers(draft, old, "spec"),
  validateUpdate: (updated) => statusErrors(updated),
};

export const resourceQuotas = builtIn({
  group: "",
  resource: "resourcequotas",
  singular: "resourcequota",
  kind: "ResourceQuota",
  isNamespaced: true,
  shortNames: ["quota"],
  subresources: new Map([["status", statusEndpoint]]),
  strategy: {
    ...baseStrategy,
    ...namespacedNames,
    shape: resourceQuota,
    allowsUnconditionalUpdate: true,
    returnsDeletedObject: true,
    prepareForCreate: (draft) => {
      draft["status"] = {};
    },
    prepareForUpdate: (draft, old) => restoreMembers(draft, old, "status"),
    validate: specErrors,
    validateUpdate: (updated, old) => [...specErrors(updated), ...scopeChanges(updated, old)],
    columns: [
      nameColumn,
      column("Request", "string", "What is used of what may be requested."),
      column("Limit", "string", "What is used of the limits of containers."),
      ageColumn,
    ],
    cells: (object, nowMs) => [nameCell(object), ...usageCells(object), ageCell(object, nowMs)],
  },
});

function specErrors(object: JsonObject): FieldError[] {
  const spec = objectIn(object, "spec");
  return [...limitErrors(spec["hard"], "spec.hard"), ...scopeErrors(spec, "spec")];
}

function statusErrors(object: JsonObject): FieldError[] {
  const status = objectIn(object, "status");
  return [
    ...limitErrors(status["hard"], "status.hard"),
    ...limitErrors(status["used"], "status.used"),
  ];
}

function scopeChanges(updated: JsonObject, old: JsonObject): FieldError[] {
  const scopesOf = (object: JsonObject) => new Set(listIn(objectIn(object, "spec")["scopes"]));
  const [before, after] = [scopesOf(old), scopesOf(updated)];
  if (before.size === after.size && [...before].every((scope) => after.has(scope))) return [];
  return [fieldError.invalid("spec.scopes", [...after], "field is immutable")];
}

/** Upstream's format: `configmaps: 1/10, secrets: 0/5`. */
function usageCells(object: JsonObject): [requests: JsonValue, limits: JsonValue] {
  const { hard, used } = objectIn(object, "status");
  const usedOf = isJsonObject(used) ? used : {};
  const parts = Object.entries(isJsonObject(hard) ? hard : {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, limit]) => ({ name, text: `${name}: ${usedOf[name] ?? "0"}/${limit}` }));
  const join = (isLimit: boolean) =>
    parts
      .filter(({ name }) => name.startsWith("limits.") === isLimit)
      .map(({ text }) => text)
      .join(", ");
  return [join(false), join(true)];
}
