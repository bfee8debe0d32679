/**
 * Limits of tenants' schemas and objects. Kubernetes has no such limits; one process that serves
 * thousands of tenants needs them.
 *
 * Each limit is above the use of real CRDs (the largest public CRDs have some 8,000 nodes, 30
 * levels and a few hundred patterns).
 */

export { errorsMax, errorsTextMax, shownTextMax } from "../status/index.ts";

/** Levels of sub-schemas, the root being the first. */
export const schemaDepthMax = 128;

/**
 * Sub-schemas of one version's schema: each of parsing, validating and compiling takes a few tens
 * of milliseconds for them.
 */
export const schemaNodesMax = 12_000;

/**
 * Sub-schemas of all versions of one CRD together: accepting them stays below the memory limit of
 * one request. The largest public definition has some 10,000.
 */
export const definitionNodesMax = 16_000;

/** Sub-schemas that one step of resumable work processes before it yields. */
export const schemaNodesPerStep = 512;

/** Values of one `enum`. */
export const enumValuesMax = 5_000;

/** UTF-16 units of one `pattern`. */
export const patternLengthMax = 2_048;

/**
 * Summed weight of the distinct patterns of one schema. The weight is the length, and more for
 * constructs that are slow to compile: Unicode classes (`\p…`) and counted repetition.
 */
export const patternWeightMax = 32_768;

/** (value, sub-schema) pairs that one validation may visit. */
export const validationStepsMax = 2_000_000;

/**
 * The same for the alternatives (oneOf, anyOf, allOf, not) of one value, which are tried without
 * yielding; the work of patterns is included.
 */
export const alternativeStepsMax = 50_000;

/**
 * Summed over one validation: characters matched × instructions of the pattern they are matched
 * with, the worst case of RE2.
 */
export const patternWorkMax = 2_000_000;

/** Values that defaulting may add to one object. */
export const defaultedValuesMax = 100_000;

/** UTF-16 units of text that defaulting may add to one object. */
export const defaultedTextMax = 8_388_608;

/**
 * Items of lists of type set and map in one object, which all have to be compared, and are owned
 * individually. In Kubernetes the owners of more items would not fit into etcd.
 */
export const comparedItemsMax = 6_000;

/**
 * Errors held while alternatives (oneOf, anyOf) are tried and unchanged values are ratcheted; more
 * end the validation.
 */
export const errorsHeldMax = 5_000;

/** Unknown fields reported for one object. */
export const unknownFieldsMax = 500;

/** UTF-16 units of a JSONPath. */
export const jsonPathLengthMax = 1_024;

/** Thrown when an object exceeds these limits; the caller responds with 413 or 422. */
export class SchemaLimitError extends Error {
  override readonly name = "SchemaLimitError";
}
