/** Validates the resources and scopes of a quota. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { errorsPerFieldMax } from "@kcp-ts/machinery/meta";
import { qualifiedNameErrors } from "@kcp-ts/machinery/names";
import { isIntegerQuantity, isNegativeQuantity } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { itemErrors, listIn, objectIn, textIn } from "../standard.ts";

/** Counted in whole numbers. */
const objectCounts: ReadonlySet<string> = new Set([
  "pods",
  "resourcequotas",
  "services",
  "replicationcontrollers",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "services.nodeports",
  "services.loadbalancers",
]);

const podResources: ReadonlySet<string> = new Set([
  "pods",
  "cpu",
  "memory",
  "limits.cpu",
  "limits.memory",
  "requests.cpu",
  "requests.memory",
]);

const quotaResources: ReadonlySet<string> = new Set([
  ...objectCounts,
  ...podResources,
  "ephemeral-storage",
  "requests.storage",
  "requests.ephemeral-storage",
  "limits.ephemeral-storage",
]);

/** The standard resources that a scope supports. */
const scopeCounts: ReadonlyMap<string, (resource: string) => boolean> = new Map([
  ["Terminating", (resource) => podResources.has(resource)],
  ["NotTerminating", (resource) => podResources.has(resource)],
  ["BestEffort", (resource) => resource === "pods"],
  ["NotBestEffort", (resource) => podResources.has(resource)],
  ["PriorityClass", (resource) => podResources.has(resource)],
  ["CrossNamespacePodAffinity", (resource) => podResources.has(resource)],
  [
    "VolumeAttributesClass",
    (resource) => resource === "persistentvolumeclaims" || resource === "requests.storage",
  ],
]);

const conflictingScopes = [
  ["BestEffort", "NotBestEffort"],
  ["Terminating", "NotTerminating"],
] as const;

/** Each limit is validated, and counted by the quota controller. */
export const quotaLimitsMax = 1000;

export function limitErrors(limits: JsonValue | undefined, field: string): FieldError[] {
  const errors: FieldError[] = [];
  const entries = Object.entries(isJsonObject(limits) ? limits : {});
  if (entries.length > quotaLimitsMax)
    return [fieldError.tooMany(field, entries.length, quotaLimitsMax)];
  for (const [name, quantity] of entries) {
    if (errors.length >= errorsPerFieldMax) break;
    const path = `${field}[${name}]`;
    errors.push(...nameErrors(name, path), ...quantityErrors(name, String(quantity), path));
  }
  return errors;
}

function nameErrors(name: string, field: string): FieldError[] {
  const errors = qualifiedNameErrors(name).map((message) =>
    fieldError.invalid(field, name, message),
  );
  if (name.includes("/")) return errors;
  if (errors.length === 0 && !isStandard(name) && name !== "storage") {
    errors.push(
      fieldError.invalid(field, name, "must be a standard resource type or fully qualified"),
    );
  }
  if (!isStandard(name))
    errors.push(fieldError.invalid(field, name, "must be a standard resource for quota"));
  return errors;
}

function isStandard(name: string): boolean {
  return (
    quotaResources.has(name) ||
    name.startsWith("hugepages-") ||
    name.startsWith("requests.hugepages-")
  );
}

function quantityErrors(name: string, quantity: string, field: string): FieldError[] {
  const errors: FieldError[] = [];
  if (isNegativeQuantity(quantity)) {
    errors.push(fieldError.invalid(field, quantity, "must be greater than or equal to 0"));
  }
  const isExtended =
    name.includes("/") && !name.includes("kubernetes.io/") && !name.startsWith("requests.");
  if ((objectCounts.has(name) || isExtended) && !isIntegerQuantity(quantity))
    errors.push(fieldError.invalid(field, quantity, "must be an integer"));
  return errors;
}

export function scopeErrors(spec: JsonObject, field: string): FieldError[] {
  const counted = Object.keys(objectIn(spec, "hard")).filter(isStandard);
  const scopes = listIn(spec["scopes"]);
  const path = `${field}.scopes`;
  const errors: FieldError[] = [];
  for (const scope of scopes.slice(0, errorsPerFieldMax)) {
    const counts = scopeCounts.get(String(scope));
    if (counts === undefined) errors.push(fieldError.invalid(path, scopes, "unsupported scope"));
    else if (!counted.every(counts))
      errors.push(fieldError.invalid(path, scopes, "unsupported scope applied to resource"));
  }
  for (const pair of conflictingScopes) {
    if (pair.every((scope) => scopes.includes(scope)))
      errors.push(fieldError.invalid(path, scopes, "conflicting scopes"));
  }
  return [...errors, ...selectorErrors(spec, counted, `${field}.scopeSelector.matchExpressions`)];
}

function selectorErrors(spec: JsonObject, counted: readonly string[], field: string): FieldError[] {
  const selector = objectIn(spec, "scopeSelector");
  const requirements = selector["matchExpressions"];
  const errors = itemErrors<JsonObject>(requirements, field, (requirement) => {
    const scope = textIn(requirement, "scopeName");
    const counts = scopeCounts.get(scope);
    if (counts === undefined)
      return [
        fieldError.invalid(`${field}.scopeName`, scope, "unsupported scope"),
        ...operatorErrors(requirement, field),
      ];
    return [
      ...(counted.every(counts)
        ? []
        : [fieldError.invalid(field, selector, "unsupported scope applied to resource")]),
      ...operatorErrors(requirement, field),
    ];
  });
  const names = listIn(requirements).map((each) => textIn(each as JsonObject, "scopeName"));
  for (const pair of conflictingScopes) {
    if (pair.every((scope) => names.includes(scope)))
      errors.push(fieldError.invalid(field, selector, "conflicting scopes"));
  }
  return errors;
}

const existOnly =
  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";

function operatorErrors(requirement: JsonObject, field: string): FieldError[] {
  const errors: FieldError[] = [];
  const [scope, operator] = [textIn(requirement, "scopeName"), textIn(requirement, "operator")];
  const hasValues = listIn(requirement["values"]).length > 0;
  const takesValues = scope === "PriorityClass" || scope === "VolumeAttributesClass";
  if (scopeCounts.has(scope) && !takesValues && operator !== "Exists")
    errors.push(fieldError.invalid(`${field}.operator`, operator, existOnly));
  switch (operator) {
    case "In":
    case "NotIn":
      if (!hasValues)
        errors.push(
          fieldError.required(
            `${field}.values`,
            "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
          ),
        );
      break;
    case "Exists":
    case "DoesNotExist":
      if (hasValues)
        errors.push(
          fieldError.invalid(
            `${field}.values`,
            listIn(requirement["values"]),
            "must be no value when `operator` is 'Exists' or 'DoesNotExist' for scope selector",
          ),
        );
      break;
    default:
      errors.push(
        fieldError.invalid(`${field}.operator`, operator, "not a valid selector operator"),
      );
  }
  return errors;
}
