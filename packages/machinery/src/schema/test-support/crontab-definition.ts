/** A small CRD to vary. */
import { assert } from "../../base/index.ts";
import type { JsonObject } from "../../json/index.ts";
import {
  type CustomResourceDefinition,
  defaultCustomResourceDefinition,
  readCustomResourceDefinition,
} from "../index.ts";

const openSchema = {
  openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
};
export const version = (name: string, more: JsonObject = {}): JsonObject => ({
  name,
  served: true,
  storage: true,
  schema: openSchema,
  ...more,
});
export const names = { plural: "crontabs", kind: "CronTab" };

export function crd(spec: JsonObject, more: JsonObject = {}): JsonObject {
  return {
    metadata: { name: "crontabs.stable.example.com" },
    spec: {
      group: "stable.example.com",
      scope: "Namespaced",
      names,
      versions: [version("v1")],
      ...spec,
    },
    ...more,
  };
}

export function read(json: JsonObject): CustomResourceDefinition {
  const { definition, problems } = readCustomResourceDefinition(
    defaultCustomResourceDefinition(json),
  );
  assert(problems.length === 0, problems.join());
  return definition;
}
