/** Kubernetes' `format` functions: `format.named('dns1123Label')`, `format.uuid()`, `validate`. */
import type { Library } from "../check/environment.ts";
import { fn, global, member } from "../check/function-declaration.ts";
import { type CallEstimator, fixedEstimate } from "../cost/call-estimate.ts";
import {
  multiplyByFactor,
  PATTERN_FACTOR,
  TRAVERSAL_FACTOR,
  UNKNOWN_SIZE,
} from "../cost/estimate.ts";
import { costSize } from "../cost/sizes.ts";
import { listOf, optionalOf, STRING, structType } from "../types/type.ts";
import { ArrayList } from "../values/collections.ts";
import { chargeSteps } from "../values/step-counter.ts";
import { CelObject, CelOptional, type CelResult, type CelValue } from "../values/value.ts";
import { type NamedFormat, namedFormats } from "./named-formats.ts";

export const FORMAT_TYPE = structType("kubernetes.NamedFormat");

export class CelFormat extends CelObject {
  readonly typeName = FORMAT_TYPE.name;
  readonly format: NamedFormat;

  constructor(format: NamedFormat) {
    super();
    this.format = format;
  }

  equals(other: CelObject): boolean {
    return other instanceof CelFormat && other.format.name === this.format.name;
  }
}

/** The pattern length that estimates assume of any format. */
const PATTERN_LENGTH_ASSUMED = 128;

const validateEstimate: CallEstimator = ({ args }) => {
  const reading = multiplyByFactor(args[0]?.size ?? UNKNOWN_SIZE, TRAVERSAL_FACTOR);
  return { cost: multiplyByFactor(reading, PATTERN_LENGTH_ASSUMED * PATTERN_FACTOR) };
};

export const formatsLibrary: Library = {
  types: [FORMAT_TYPE],
  functions: [
    fn(
      "format.named",
      global("format-named", [STRING], optionalOf(FORMAT_TYPE), named, {
        estimate: fixedEstimate(1),
      }),
    ),
    fn(
      "validate",
      member("format-validate", [FORMAT_TYPE, STRING], optionalOf(listOf(STRING)), validate, {
        cost: (_result: CelResult, { format }: CelFormat, text: CelValue) => {
          const textCost = Math.ceil((1 + costSize(text)) * TRAVERSAL_FACTOR);
          return textCost * Math.ceil(format.patternLength * PATTERN_FACTOR);
        },
        estimate: validateEstimate,
      }),
    ),
    ...Array.from(namedFormats, ([name, format]) => {
      const value = new CelFormat(format);
      return fn(
        `format.${name}`,
        global(`format.${name}`, [], FORMAT_TYPE, () => value),
      );
    }),
  ],
};

function named(name: string): CelResult {
  const format = namedFormats.get(name);
  return format === undefined ? CelOptional.none : CelOptional.of(new CelFormat(format));
}

function validate({ format }: CelFormat, text: string): CelResult {
  // Several patterns read it.
  chargeSteps(text.length >> 1);
  const problems = format.validate(text);
  return problems.length === 0 ? CelOptional.none : CelOptional.of(new ArrayList(problems));
}
