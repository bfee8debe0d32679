export { jsonEqual } from "./equal.ts";
export { jsonDepthMax, parseJson } from "./parse.ts";
export type { ParsedJson } from "./parse-lossless.ts";
export { stringifyJson } from "./stringify.ts";
export { JsonSyntaxError } from "./syntax-error.ts";
export {
  cloneJson,
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonScalar,
  type JsonValue,
  member,
  setMember,
} from "./value.ts";
