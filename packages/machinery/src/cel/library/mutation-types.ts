/**
 * The types that mutating policies construct: `Object{spec: Object.spec{…}}`, the configuration of
 * an apply, and `JSONPatch{…}`.
 *
 * Members of objects are dynamic: the merge checks whether they match the kind.
 */
import type { Environment } from "../check/environment.ts";
import { DYN, STRING, structType, type Type } from "../types/type.ts";
import { CelStruct } from "../values/value.ts";

export const OBJECT_TYPE: Type = structType("Object", () => DYN);

const patchFields: ReadonlyMap<string, Type> = new Map([
  ["op", STRING],
  ["path", STRING],
  ["from", STRING],
  ["value", DYN],
]);
export const JSON_PATCH_TYPE: Type = structType("JSONPatch", (field) => patchFields.get(field));

/** Types that one expression can name. */
const typesMax = 200;

/** The environment with the types that the text may name; the checker resolves them. */
export function withMutationTypes(environment: Environment, text: string): Environment {
  const types = new Map([
    ["Object", OBJECT_TYPE],
    ["JSONPatch", JSON_PATCH_TYPE],
  ]);
  for (const [, name] of text.matchAll(/\b(Object(?:\s*\.\s*\w+)+)\s*\{/g)) {
    const path = (name as string).replaceAll(/\s/g, "");
    if (types.size < typesMax && !types.has(path))
      types.set(
        path,
        structType(path, () => DYN),
      );
  }
  return environment.extend({
    structs: [...types].map(([name, type]) => ({
      type,
      construct: (fields) => new CelStruct(name, fields),
    })),
  });
}
