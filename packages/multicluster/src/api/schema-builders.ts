/** Builders of schemas and table columns. */
import type { JsonObject } from "@kcp-ts/machinery/json";

export function objectType(
  properties: Readonly<Record<string, JsonObject>>,
  more: JsonObject = {},
): JsonObject {
  return { type: "object", properties, ...more };
}

export function arrayType(items: JsonObject, more: JsonObject = {}): JsonObject {
  return { type: "array", items, ...more };
}

export function stringType(description = "", more: JsonObject = {}): JsonObject {
  return { type: "string", ...(description === "" ? {} : { description }), ...more };
}

export function column(
  name: string,
  jsonPath: string,
  more: { type?: string; priority?: number; description?: string } = {},
): JsonObject {
  return { name, type: "string", jsonPath, ...more };
}

export const ageColumn: JsonObject = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
};

export function conditionColumn(type: string, name = type): JsonObject {
  return column(name, `.status.conditions[?(@.type=="${type}")].status`);
}

export const conditions: JsonObject = arrayType(
  objectType(
    {
      type: stringType("What the condition is about."),
      status: stringType("True, False or Unknown.", { enum: ["True", "False", "Unknown"] }),
      severity: stringType("How bad it is, when it is not True: Error, Warning or Info."),
      reason: stringType("One word for programs."),
      message: stringType("A sentence for people: what is wrong, and what to do next."),
      lastTransitionTime: stringType("", { format: "date-time" }),
    },
    { required: ["type", "status", "lastTransitionTime"] },
  ),
  {
    description: "The state of the object in several respects.",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
  },
);

/** The schema of a complete object without a status; apiVersion, kind and metadata are implied. */
export function specSchema(description: string, spec: JsonObject): JsonObject {
  return objectType(
    { apiVersion: stringType(), kind: stringType(), metadata: { type: "object" }, spec },
    { description, required: ["spec"] },
  );
}

/** The schema of a complete object; apiVersion, kind and metadata are implied. */
export function resourceSchema(
  description: string,
  spec: JsonObject,
  status: JsonObject,
  more: JsonObject = {},
): JsonObject {
  return objectType(
    { apiVersion: stringType(), kind: stringType(), metadata: { type: "object" }, spec, status },
    { description, ...more },
  );
}
