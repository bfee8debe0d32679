/** Builders of structural schemas, for kinds that the server defines itself. */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";

export function object(
  properties: Readonly<Record<string, JsonObject>>,
  more: JsonObject = {},
): JsonObject {
  return { type: "object", properties, ...more };
}

export function list(items: JsonObject, more: JsonObject = {}): JsonObject {
  return { type: "array", items, ...more };
}

export function text(description = "", more: JsonObject = {}): JsonObject {
  return { type: "string", ...(description === "" ? {} : { description }), ...more };
}

export function flag(description: string, more: JsonObject = {}): JsonObject {
  return { type: "boolean", description, ...more };
}

export function textMap(description: string): JsonObject {
  return { type: "object", description, additionalProperties: { type: "string" } };
}

export function rules(...pairs: readonly (readonly [rule: string, message: string])[]): JsonObject {
  return {
    "x-kubernetes-validations": pairs.map(([rule, message]): JsonValue => ({ rule, message })),
  };
}

export function column(name: string, jsonPath: string, description: string): JsonObject {
  return { name, type: "string", jsonPath, description };
}

export const ageColumn: JsonObject = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
};

/** The schema of a kind; apiVersion, kind and metadata are implied. */
export function kindSchema(
  description: string,
  properties: Readonly<Record<string, JsonObject>>,
  more: JsonObject = {},
): JsonObject {
  return object(
    { apiVersion: text(), kind: text(), metadata: { type: "object" }, ...properties },
    { description, ...more },
  );
}

/** Conditions in the format of cluster-api: with a severity, and without an observed generation. */
export const conditions: JsonObject = list(
  object(
    {
      type: text("What the condition is about."),
      status: text("True, False or Unknown."),
      severity: text("How bad it is, when it is not True."),
      reason: text("One word for programs."),
      message: text("A sentence for people."),
      lastTransitionTime: text("", { format: "date-time" }),
    },
    { required: ["lastTransitionTime", "status", "type"] },
  ),
  { description: "The state of the object in several respects." },
);

/**
 * The identifier of an initializer or a terminator: a path with at least two segments, or an
 * identifier of the system.
 */
const lifecycleId =
  "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(:[a-z0-9]([-a-z0-9]*[a-z0-9])?)+)|(system:.+)$";

export function lifecycleIds(description: string): JsonObject {
  return list(text("", { pattern: lifecycleId }), { description });
}

/** A list that is applied as a unit. */
export const atomic: JsonObject = { "x-kubernetes-list-type": "atomic" };

export const labelSelector: JsonObject = object(
  {
    matchLabels: textMap("Labels that must all be there."),
    matchExpressions: list(
      object(
        { key: text(), operator: text(), values: list(text(), atomic) },
        { required: ["key", "operator"] },
      ),
      atomic,
    ),
  },
  { "x-kubernetes-map-type": "atomic" },
);

export const logicalClusterPhases = [
  "Scheduling",
  "Initializing",
  "Ready",
  "Unavailable",
  "Inactive",
  "Terminating",
  "Deleting",
] as const;

export const phase: JsonObject = text("How far the logical cluster has come.", {
  enum: [...logicalClusterPhases],
  default: "Scheduling",
});

/** RBAC policy rules. */
export const policyRules: JsonObject = list(
  object(
    {
      verbs: list(text(), atomic),
      apiGroups: list(text(), atomic),
      resources: list(text(), atomic),
      resourceNames: list(text(), atomic),
      nonResourceURLs: list(text(), atomic),
    },
    { required: ["verbs"] },
  ),
  { description: "What the controller of this type may do in the workspaces that wait for it." },
);

/** The builders of this file, for kinds of other folders. */
export const schemaBuilders = {
  ageColumn,
  atomic,
  column,
  conditions,
  flag,
  labelSelector,
  list,
  object,
  root: kindSchema,
  rules,
  text,
};
