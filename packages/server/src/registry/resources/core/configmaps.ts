import { atOnce, type Pieces } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { errorsPerFieldMax } from "@kcp-ts/machinery/meta";
import { configMap } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import type { ResourceDefinition } from "../../definition.ts";
import {
  ageCell,
  ageColumn,
  nameCell,
  nameColumn,
  namespacedNames,
  noOwnRules,
  standardVerbs,
} from "../standard.ts";
import { immutabilityErrors, keyErrors, sizeOf } from "./keyed-data.ts";

/** All values together, as in Kubernetes. */
export const configMapBytesMax = 1 << 20;

export const configMaps: ResourceDefinition = {
  group: "",
  version: "v1",
  resource: "configmaps",
  singular: "configmap",
  kind: "ConfigMap",
  listKind: "ConfigMapList",
  isNamespaced: true,
  shortNames: ["cm"],
  categories: [],
  verbs: standardVerbs,
  identity: "",
  itemsCarryKind: false,
  subresources: new Map(),
  strategy: {
    ...noOwnRules,
    ...namespacedNames,
    shape: configMap,
    allowsUnconditionalUpdate: true,
    validate: (object) => (isLong(object) ? verdict(object) : atOnce(verdict(object))),
    validateUpdate: (updated, old) => [
      ...immutabilityErrors(updated, old, ["data", "binaryData"]),
      ...atOnce(verdict(updated)),
    ],
    columns: [
      nameColumn,
      {
        name: "Data",
        type: "string",
        format: "",
        description: "How many keys there are.",
        priority: 0,
      },
      ageColumn,
    ],
    cells: (object, nowMs) => [nameCell(object), dataCount(object), ageCell(object, nowMs)],
  },
};

/** Keys from which on judging them takes a millisecond or more. */
const longKeys = 1000;

function isLong({ data }: JsonObject): boolean {
  let left = longKeys;
  for (const _ in data as JsonObject | undefined) if (--left < 0) return true;
  return false;
}

/** Rests between judging keys and counting bytes. */
function* verdict(object: JsonObject): Pieces<FieldError[]> {
  const data = (object["data"] ?? {}) as JsonObject;
  const binaryData = (object["binaryData"] ?? {}) as JsonObject;
  const errors = keyErrors("data", data);
  yield;
  errors.push(...keyErrors("binaryData", binaryData));
  for (const key of Object.keys(binaryData)) {
    if (errors.length >= errorsPerFieldMax) break;
    if (Object.hasOwn(data, key)) {
      errors.push(
        fieldError.invalid(`data[${key}]`, key, `duplicate of key present in binaryData`),
      );
    }
  }
  yield;
  if (sizeOf(data, "text") + sizeOf(binaryData, "base64") > configMapBytesMax) {
    errors.push(fieldError.tooLong("", configMapBytesMax));
  }
  return errors;
}

function dataCount(object: JsonObject): number {
  return (
    Object.keys((object["data"] ?? {}) as JsonObject).length +
    Object.keys((object["binaryData"] ?? {}) as JsonObject).length
  );
}
