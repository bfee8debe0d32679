/** Semantic versions, read as strictly as semver.org asks. */
import { chargeSteps } from "./step-counter.ts";

export interface SemanticVersion {
  readonly major: bigint;
  readonly minor: bigint;
  readonly patch: bigint;
  /** Numbers as bigints, which sort before words. */
  readonly preRelease: readonly (bigint | string)[];
}

const UINT64_MAX = 2n ** 64n - 1n;
/** The longest text that is read, in UTF-16 units. */
const TEXT_LENGTH_MAX = 1024;

/** The version, or what is wrong with it. */
export function parseSemver(text: string): SemanticVersion | string {
  if (text === "") return "Version string empty";
  if (text.length > TEXT_LENGTH_MAX) return "Version string too long";
  chargeSteps(text.length);
  const match = /^([^.]*)\.([^.]*)\.(.*)$/s.exec(text);
  if (match === null) return "No Major.Minor.Patch elements found";
  const [, majorText = "", minorText = "", rest = ""] = match;
  const plus = rest.indexOf("+");
  const build = plus === -1 ? undefined : rest.slice(plus + 1);
  const version = plus === -1 ? rest : rest.slice(0, plus);
  const dash = version.indexOf("-");
  const patchText = dash === -1 ? version : version.slice(0, dash);
  const numbers: bigint[] = [];
  for (const [name, part] of [
    ["major", majorText],
    ["minor", minorText],
    ["patch", patchText],
  ] as const) {
    const number = parseNumber(name, part);
    if (typeof number === "string") return number;
    numbers.push(number);
  }
  const preRelease = dash === -1 ? [] : parsePreRelease(version.slice(dash + 1));
  if (typeof preRelease === "string") return preRelease;
  for (const part of build === undefined ? [] : build.split(".")) {
    if (part === "") return "Build meta data is empty";
    if (!/^[0-9A-Za-z-]+$/.test(part))
      return `Invalid character(s) found in build meta data ${JSON.stringify(part)}`;
  }
  const [major = 0n, minor = 0n, patch = 0n] = numbers;
  return { major, minor, patch, preRelease };
}

function parseNumber(name: string, text: string): bigint | string {
  if (!/^\d*$/.test(text))
    return `Invalid character(s) found in ${name} number ${JSON.stringify(text)}`;
  if (text.length > 1 && text.startsWith("0")) {
    const title = name.charAt(0).toUpperCase() + name.slice(1);
    return `${title} number must not contain leading zeroes ${JSON.stringify(text)}`;
  }
  if (text === "") return `strconv.ParseUint: parsing "": invalid syntax`;
  const number = BigInt(text);
  return number > UINT64_MAX
    ? `strconv.ParseUint: parsing ${JSON.stringify(text)}: value out of range`
    : number;
}

function parsePreRelease(text: string): (bigint | string)[] | string {
  const parts: (bigint | string)[] = [];
  for (const part of text.split(".")) {
    if (part === "") return "Prerelease is empty";
    if (/^\d+$/.test(part)) {
      if (part.length > 1 && part.startsWith("0")) {
        return `Numeric PreRelease version must not contain leading zeroes ${JSON.stringify(part)}`;
      }
      parts.push(BigInt(part));
    } else if (/^[0-9A-Za-z-]+$/.test(part)) parts.push(part);
    else return `Invalid character(s) found in prerelease ${JSON.stringify(part)}`;
  }
  return parts;
}

/**
 * Drops a leading `v` and leading zeros, and adds missing minor and patch numbers, before reading.
 */
export function parseSemverTolerantly(text: string): SemanticVersion | string {
  const parts = splitAtMost(text.startsWith("v") ? text.slice(1) : text, 3).map((part) => {
    if (part.length <= 1) return part;
    const stripped = part.replace(/^0+/, "");
    return /^\d/.test(stripped) ? stripped : `0${stripped}`;
  });
  if (parts.length < 3 && /[+-]/.test(parts.at(-1) ?? "")) {
    return "short version cannot contain PreRelease/Build meta data";
  }
  while (parts.length < 3) parts.push("0");
  return parseSemver(parts.join("."));
}

function splitAtMost(text: string, count: number): string[] {
  const parts = text.split(".");
  return parts.length <= count
    ? parts
    : [...parts.slice(0, count - 1), parts.slice(count - 1).join(".")];
}

export function compareSemver(a: SemanticVersion, b: SemanticVersion): number {
  return (
    order(a.major, b.major) ||
    order(a.minor, b.minor) ||
    order(a.patch, b.patch) ||
    comparePreRelease(a.preRelease, b.preRelease)
  );
}

function order<T extends bigint | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A pre-release comes before its release; numbers before words; fewer parts before more. */
function comparePreRelease(
  a: readonly (bigint | string)[],
  b: readonly (bigint | string)[],
): number {
  chargeSteps(a.length);
  if (a.length === 0 || b.length === 0) return Math.sign(b.length - a.length);
  for (const [i, left] of a.entries()) {
    const right = b[i];
    if (right === undefined) return 1;
    const sameKind = typeof left === typeof right;
    const difference = sameKind ? order(left, right) : typeof left === "bigint" ? -1 : 1;
    if (difference !== 0) return difference;
  }
  return a.length < b.length ? -1 : 0;
}
