/** How `format` prints values: as Kubernetes does, and as the specification says. */
import { elementsOf } from "../values/collections.ts";
import { compareStrings } from "../values/compare.ts";
import { fixedText, scientificText } from "../values/fixed-text.ts";
import { formatDouble } from "../values/format-double.ts";
import { chargeSteps, chargeText, type StepCounter } from "../values/step-counter.ts";
import { CelDuration, CelTimestamp, formatDuration, formatTimestamp } from "../values/time.ts";
import { CelError, CelList, CelMap, CelTypeValue, type CelValue } from "../values/value.ts";
import { type FormatDialect, integerText, unprintableError } from "./format-string.ts";
import { quote } from "./quote.ts";

/** cel-go's string extension below version 4, with the locale en-US. */
export const kubernetesFormat: FormatDialect = {
  text: (value, steps) =>
    print(value, steps, { top: plainScalar, nested: literalScalar, colon: ":" }),
  decimal: () => undefined,
  fixed: (value, precision) => {
    const number = numberOrWord(value);
    return number === undefined ? undefined : grouped(fixedText(number, precision));
  },
  scientific: (value, precision) => {
    const number = numberOrWord(value);
    if (number === undefined) return undefined;
    if (!Number.isFinite(number)) return fixedText(number, 0);
    const [mantissa, exponent = ""] = scientificText(number, precision).split("e");
    return `${mantissa}×10${superscript(exponent.replace("+", ""))}`;
  },
};

/** cel-spec's string extension. */
export const standardFormat: FormatDialect = {
  text: (value, steps) =>
    print(value, steps, { top: standardScalar, nested: standardScalar, colon: ": " }),
  decimal: (value) => (typeof value === "number" ? standardScalar(value) : undefined),
  fixed: (value, precision) => {
    const number = anyNumber(value);
    return number === undefined ? undefined : (notFinite(number) ?? fixedText(number, precision));
  },
  scientific: (value, precision) => {
    const number = anyNumber(value);
    return number === undefined
      ? undefined
      : (notFinite(number) ?? scientificText(number, precision));
  },
};

interface Style {
  readonly top: (value: CelValue) => string | undefined;
  readonly nested: (value: CelValue) => string | undefined;
  readonly colon: string;
}

function print(value: CelValue, steps: StepCounter, style: Style): string | CelError {
  if (value instanceof CelList) return printList(value, steps, style);
  if (value instanceof CelMap) return printMap(value, steps, style);
  return style.top(value) ?? unprintableError(value);
}

function printNested(value: CelValue, steps: StepCounter, style: Style): string | CelError {
  return print(value, steps, { ...style, top: style.nested });
}

function printList(list: CelList, steps: StepCounter, style: Style): string | CelError {
  steps.step(list.size * 4 + 1);
  const elements = elementsOf(list);
  if (elements instanceof CelError) return elements;
  const parts: string[] = [];
  for (const element of elements) {
    const text = printNested(element, steps, style);
    if (text instanceof CelError) return text;
    parts.push(text);
  }
  return `[${parts.join(", ")}]`;
}

function printMap(map: CelMap, steps: StepCounter, style: Style): string | CelError {
  steps.step(map.size * 8 + 1);
  const entries: [string, string][] = [];
  for (const key of map.keys()) {
    const keyText = printNested(key, steps, style);
    if (keyText instanceof CelError) return keyText;
    const value = map.find(key) ?? null;
    const valueText = value instanceof CelError ? value : printNested(value, steps, style);
    if (valueText instanceof CelError) return valueText;
    entries.push([keyText, valueText]);
  }
  // compareStrings counts what it reads; the rest of sorting is a few comparisons for each entry.
  steps.step(entries.length * (32 - Math.clz32(entries.length)) * 2);
  entries.sort(([a], [b]) => compareStrings(a, b));
  return `{${entries.map(([key, value]) => `${key}${style.colon}${value}`).join(", ")}}`;
}

function plainScalar(value: CelValue): string | undefined {
  if (typeof value === "string") return value;
  chargeSteps(16);
  if (value instanceof Uint8Array) chargeText(value.length, 2);
  if (typeof value === "number") return formatDouble(value);
  if (typeof value === "boolean" || value === null) return String(value);
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (value instanceof CelTimestamp) return formatTimestamp(value);
  if (value instanceof CelDuration) return formatDuration(value);
  return value instanceof CelTypeValue ? value.name : integerText(value, 10);
}

/** As it would be written in an expression. */
function literalScalar(value: CelValue): string | undefined {
  if (typeof value === "string") return quote(value);
  chargeSteps(typeof value === "number" ? 48 : 16);
  if (typeof value === "number") {
    const text = fixedText(value, 6);
    return Number.isFinite(value) ? text : quote(text);
  }
  const plain = plainScalar(value);
  if (plain === undefined) return undefined;
  if (value instanceof Uint8Array) return `b${quote(plain)}`;
  if (value instanceof CelTimestamp) return `timestamp(${quote(plain)})`;
  return value instanceof CelDuration ? `duration(${quote(plain)})` : plain;
}

function standardScalar(value: CelValue): string | undefined {
  if (typeof value !== "number") return plainScalar(value);
  return notFinite(value) ?? plainNumber(value);
}

/** Without an exponent, however long it gets. */
function plainNumber(value: number): string {
  const text = String(value);
  if (!text.includes("e")) return text;
  return Math.abs(value) >= 1 ? BigInt(value).toString() : value.toFixed(100).replace(/0+$/, "");
}

function notFinite(value: number): string | undefined {
  if (Number.isNaN(value)) return "NaN";
  if (Number.isFinite(value)) return undefined;
  return value > 0 ? "Infinity" : "-Infinity";
}

function anyNumber(value: CelValue): number | undefined {
  if (typeof value === "number") return value;
  const integer = integerText(value, 10);
  return integer === undefined ? undefined : Number(integer);
}

function numberOrWord(value: CelValue): number | undefined {
  if (typeof value === "number") return value;
  return value === "NaN" || value === "Infinity" || value === "-Infinity"
    ? Number(value)
    : undefined;
}

/** en-US: a comma between thousands. */
function grouped(text: string): string {
  const [whole = "", ...fraction] = text.split(".");
  return [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...fraction].join(".");
}

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

function superscript(exponent: string): string {
  return exponent.replaceAll(/[\d-]/g, (c) => (c === "-" ? "⁻" : SUPERSCRIPTS.charAt(Number(c))));
}
