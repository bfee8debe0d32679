export { jsonEqual } from "./equal.ts";
export { jsonDepthMax, skipString } from "./json-scanner.ts";
export { type ParsedText, type ParseOptions, parseJson, parseResumable } from "./parse.ts";
export type { ParsedJson } from "./parse-lossless.ts";
export { stringifyResumable } from "./stringify-resumable.ts";
export { JsonSyntaxError, JsonTooManyValuesError } from "./syntax-error.ts";
export { listOf, objectOf, objectsOf, textOf, textsOf } from "./unvalidated.ts";
export {
  cloneJson,
  cloneResumable,
  countValues,
  exceededLimit,
  hasAtMost,
  isEmptyObject,
  isJsonObject,
  isSmall,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  member,
  setMember,
  shallowCopy,
  stringifyJson,
  withMember,
} from "./value.ts";
