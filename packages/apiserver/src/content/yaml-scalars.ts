/**
 * The values of plain scalars of YAML, as Kubernetes parses them: sigs.k8s.io/yaml by go-yaml v2,
 * which is YAML 1.1 as far as go-yaml implements it.
 *
 * `0644`, `0o644`, `0x1a4` and `0b1` are integers, `_` may occur anywhere in a number, `yes` and
 * `n` are booleans, `1:30` and dates are strings.
 */
import {
  CORE_SCHEMA,
  defineScalarTag,
  mergeTag,
  NOT_RESOLVED,
  type ScalarTagDefinition,
  type Schema,
  timestampTag,
} from "js-yaml";

type Unresolved = typeof NOT_RESOLVED;

const int64Min = -(2n ** 63n);
const int64Max = 2n ** 63n - 1n;
const uint64Max = 2n ** 64n - 1n;

/** Go's integers: 64 bits, signed or not, with its prefixes; a leading zero alone means octal. */
function resolveInteger(source: string): number | bigint | Unresolved {
  const digits = source.replaceAll("_", "");
  const match = /^([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|([1-9][0-9]*|0))$/.exec(
    digits,
  );
  if (match === null) return NOT_RESOLVED;
  const [, sign, hex, binary, octal, decimal] = match;
  const text =
    hex !== undefined
      ? `0x${hex}`
      : binary !== undefined
        ? `0b${binary}`
        : octal !== undefined
          ? `0o${octal}`
          : (decimal as string);
  if (text.length > longestInteger) return NOT_RESOLVED;
  const value = BigInt(text) * (sign === "-" ? -1n : 1n);
  // A number with a sign is signed.
  if (value < int64Min || value > (sign === "" ? uint64Max : int64Max)) return NOT_RESOLVED;
  // As from JSON: a number that exceeds int64 is a float.
  return Number.isSafeInteger(Number(value)) || value > int64Max ? Number(value) : value;
}

/** 64 binary digits, and as many leading zeros. */
const longestInteger = 128;

const words = new Map([
  [".nan", Number.NaN],
  [".inf", Number.POSITIVE_INFINITY],
  ["+.inf", Number.POSITIVE_INFINITY],
  ["-.inf", Number.NEGATIVE_INFINITY],
]);

function resolveFloat(source: string): number | Unresolved {
  const isWord = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/.test(source);
  if (isWord) return words.get(source.toLowerCase()) as number;
  const plain = source.replaceAll("_", "");
  if (!/^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/.test(plain))
    return NOT_RESOLVED;
  const value = Number(plain);
  // Go reports it as out of range, and it stays a string.
  return Number.isFinite(value) ? value : NOT_RESOLVED;
}

const truths = new Set(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"]);
const lies = new Set(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"]);

const boolTag = defineScalarTag<boolean>("tag:yaml.org,2002:bool", {
  implicit: true,
  implicitFirstChars: [..."yYnNtTfFoO"],
  resolve: (source) => (truths.has(source) ? true : lies.has(source) ? false : NOT_RESOLVED),
  identify: (value) => typeof value === "boolean",
  represent: String,
});

const isInteger = (value: unknown) =>
  typeof value === "bigint" ||
  (Number.isInteger(value) && !Object.is(value, -0) && !String(value).includes("e"));

const intTag = defineScalarTag<number | bigint>("tag:yaml.org,2002:int", {
  implicit: true,
  implicitFirstChars: [..."-+0123456789"],
  resolve: resolveInteger,
  identify: isInteger,
  represent: String,
});

const floatTag = defineScalarTag<number>("tag:yaml.org,2002:float", {
  implicit: true,
  implicitFirstChars: [..."-+.0123456789"],
  resolve: resolveFloat,
  identify: (value) => typeof value === "number" && !isInteger(value),
  represent: (value) => (Object.is(value, -0) ? "-0.0" : String(value)),
});

/** The schema for parsing YAML. Dates are strings: no tag of this schema matches them. */
export const yamlReadSchema: Schema = CORE_SCHEMA.withTags(boolTag, intTag, floatTag, mergeTag);

/**
 * Times and numbers in base 60, which other parsers of YAML 1.1 support: quoted in output, as by
 * go-yaml, and never parsed.
 */
const sexagesimal = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;
const date = /^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?$/;

const quoted: ScalarTagDefinition = {
  ...timestampTag,
  implicitFirstChars: [..."-+0123456789"],
  resolve: (source) => (sexagesimal.test(source) || date.test(source) ? source : NOT_RESOLVED),
  identify: () => false,
};

/** The schema for writing YAML: a string that one of its tags would match is quoted. */
export const yamlWriteSchema: Schema = yamlReadSchema.withTags(quoted);
