/**
 * What a tenant's schema and object may cost. Kubernetes has no such limits; one process that serves thousands of tenants needs them.
 *
 * Each is above what real definitions use (the largest public CRDs have some 8,000 nodes, 30 levels and a few hundred patterns).
 */

/** Levels of sub-schemas, the root being the first. */
export const schemaDepthMax = 128;

/** Sub-schemas of one version's schema: what can be read, judged or compiled in a few tens of milliseconds each. */
export const schemaNodesMax = 12_000;

/** Sub-schemas of all versions of one definition together. */
export const definitionNodesMax = 24_000;

/** Sub-schemas that one piece of work on a schema looks at, before others have their turn. */
export const schemaNodesPerStep = 512;

/** Values of one `enum`. */
export const enumValuesMax = 5_000;

/** UTF-16 units of one `pattern`. */
export const patternLengthMax = 2_048;

/**
 * Summed weight of the distinct patterns of one schema. The weight is the length, and more for what makes a pattern slow to compile:
 * Unicode classes (`\p…`) and counted repetition.
 */
export const patternWeightMax = 32_768;

/** (value, sub-schema) pairs that one validation may visit. */
export const validationStepsMax = 2_000_000;

/** The same for the alternatives (oneOf, anyOf, allOf, not) of one value, which are tried without a rest; the work of patterns counts along. */
export const alternativeStepsMax = 50_000;

/** Summed over one validation: characters matched × instructions of the pattern they are matched with, the worst case of RE2. */
export const patternWorkMax = 2_000_000;

/** Values that defaulting may add to one object. */
export const defaultedValuesMax = 100_000;

/** UTF-16 units of text that defaulting may add to one object. */
export const defaultedTextMax = 8_388_608;

/** Errors reported for one object. */
export const errorsMax = 500;

/** UTF-16 units of a text value that an error shows; the rest is cut off. Kubernetes shows all of it. */
export const shownTextMax = 4_096;

/** UTF-16 units of the reported errors together; the first error is reported whatever its size. */
export const errorsTextMax = 262_144;

/**
 * Items of lists of type set and map in one object, which all have to be compared, and are owned one by one. In Kubernetes the owners of more would not fit
 * into etcd.
 */
export const comparedItemsMax = 6_000;

/** Errors held while alternatives (oneOf, anyOf) are tried and unchanged values are forgiven; more ends the validation. */
export const errorsHeldMax = 5_000;

/** Unknown fields reported for one object. */
export const unknownFieldsMax = 500;

/** UTF-16 units of a JSONPath. */
export const jsonPathLengthMax = 1_024;

/** Thrown when an object costs more than these limits allow; the caller answers 413 or 422. */
export class SchemaLimitError extends Error {
  override readonly name = "SchemaLimitError";
}
