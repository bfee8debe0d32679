/**
 * What a tenant's schema and object may cost. Kubernetes has no such limits; one process that serves thousands of tenants needs them.
 *
 * Each is far above what real definitions use (the largest public CRDs have some 10,000 nodes, 30 levels and a few hundred patterns).
 */

/** Levels of sub-schemas, the root being the first. */
export const schemaDepthMax = 128;

/** Sub-schemas of one version's schema. */
export const schemaNodesMax = 40_000;

/** Values of one `enum`. */
export const enumValuesMax = 5_000;

/** UTF-16 units of one `pattern`. */
export const patternLengthMax = 2_048;

/**
 * Summed weight of the distinct patterns of one schema. The weight is the length, with Unicode classes (`\p…`) counted thirtyfold: they
 * are what makes a pattern slow to compile.
 */
export const patternWeightMax = 65_536;

/** (value, sub-schema) pairs that one validation may visit. */
export const validationStepsMax = 3_000_000;

/** Summed over one validation: characters matched × instructions of the pattern they are matched with, the worst case of RE2. */
export const patternWorkMax = 4_000_000;

/** Values that defaulting may add to one object. */
export const defaultedValuesMax = 200_000;

/** UTF-16 units of text that defaulting may add to one object. */
export const defaultedTextMax = 8_388_608;

/** Errors reported for one object. */
export const errorsMax = 500;

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
