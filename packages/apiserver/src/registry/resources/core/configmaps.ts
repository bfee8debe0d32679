import type { Resumable } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { errorsPerFieldMax } from "@kcp-ts/machinery/meta";
import { configMap } from "@kcp-ts/machinery/shape";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import type { ResourceDefinition } from "../../resource-definition.ts";
import {
  ageCell,
  ageColumn,
  baseStrategy,
  nameCell,
  nameColumn,
  namespacedNames,
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
    ...baseStrategy,
    ...namespacedNames,
    shape: configMap,
    allowsUnconditionalUpdate: true,
    validate: (object) => dataErrors(object),
    validateUpdate: (updated, old) =>
      dataErrors(updated, immutabilityErrors(updated, old, ["data", "binaryData"])),
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

/** With more keys, listing the keys alone takes a while. */
const restedAfter = 1000;

/** Yields to the event loop where there are many keys. */
function* dataErrors(
  object: JsonObject,
  errors: readonly FieldError[] = [],
): Resumable<FieldError[]> {
  const data = (object["data"] ?? {}) as JsonObject;
  const binaryData = (object["binaryData"] ?? {}) as JsonObject;
  const keys = Object.keys(data);
  if (keys.length > restedAfter) yield;
  const binaryKeys = Object.keys(binaryData);
  const found = yield* keyErrors("data", keys);
  found.push(...(yield* keyErrors("binaryData", binaryKeys)));
  for (const key of binaryKeys) {
    if (found.length >= errorsPerFieldMax) break;
    if (Object.hasOwn(data, key)) {
      found.push(fieldError.invalid(`data[${key}]`, key, `duplicate of key present in binaryData`));
    }
  }
  const text = { data, keys, encoding: "text" } as const;
  const binary = { data: binaryData, keys: binaryKeys, encoding: "base64" } as const;
  const bytes =
    (yield* sizeOf(text, configMapBytesMax)) + (yield* sizeOf(binary, configMapBytesMax));
  if (bytes > configMapBytesMax) found.push(fieldError.tooLong("", configMapBytesMax));
  return [...errors, ...found];
}

function dataCount(object: JsonObject): number {
  return (
    Object.keys((object["data"] ?? {}) as JsonObject).length +
    Object.keys((object["binaryData"] ?? {}) as JsonObject).length
  );
}
