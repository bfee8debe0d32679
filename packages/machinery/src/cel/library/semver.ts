/** Kubernetes' functions for semantic versions. */
import type { Library } from "../check/environment.ts";
import { fn, global, member } from "../check/function-declaration.ts";
import { fixedEstimate, traversalEstimate } from "../cost/call-estimate.ts";
import { firstArgumentCost } from "../cost/sizes.ts";
import { BOOL, INT, STRING, structType } from "../types/type.ts";
import {
  compareSemver,
  parseSemver,
  parseSemverTolerantly,
  type SemanticVersion,
} from "../values/semver.ts";
import { CelError, CelObject, type CelResult } from "../values/value.ts";

export const SEMVER_TYPE = structType("kubernetes.Semver");

export class CelSemver extends CelObject {
  readonly typeName = SEMVER_TYPE.name;
  readonly version: SemanticVersion;

  constructor(version: SemanticVersion) {
    super();
    this.version = version;
  }

  equals(other: CelObject): boolean {
    return other instanceof CelSemver && compareSemver(this.version, other.version) === 0;
  }
}

const S = SEMVER_TYPE;
const parsing = { cost: firstArgumentCost, estimate: traversalEstimate() };
const flat = { cost: 1, estimate: fixedEstimate(1) };

export const semverLibrary: Library = {
  types: [S],
  functions: [
    fn(
      "semver",
      global("string_to_semver", [STRING], S, (text: string) => toSemver(text, false), parsing),
      global("string_bool_to_semver", [STRING, BOOL], S, toSemver, parsing),
    ),
    fn(
      "isSemver",
      global(
        "is_semver_string",
        [STRING],
        BOOL,
        (text: string) => toSemver(text, false) instanceof CelSemver,
        parsing,
      ),
      global(
        "is_semver_string_bool",
        [STRING, BOOL],
        BOOL,
        (text: string, normalize: boolean) => toSemver(text, normalize) instanceof CelSemver,
        parsing,
      ),
    ),
    fn(
      "isGreaterThan",
      member(
        "semver_is_greater_than",
        [S, S],
        BOOL,
        (a: CelSemver, b: CelSemver) => compareSemver(a.version, b.version) > 0,
        flat,
      ),
    ),
    fn(
      "isLessThan",
      member(
        "semver_is_less_than",
        [S, S],
        BOOL,
        (a: CelSemver, b: CelSemver) => compareSemver(a.version, b.version) < 0,
        flat,
      ),
    ),
    fn(
      "compareTo",
      member(
        "semver_compare_to",
        [S, S],
        INT,
        (a: CelSemver, b: CelSemver) => BigInt(compareSemver(a.version, b.version)),
        flat,
      ),
    ),
    fn(
      "major",
      member(
        "semver_major",
        [S],
        INT,
        ({ version }: CelSemver) => BigInt.asIntN(64, version.major),
        flat,
      ),
    ),
    fn(
      "minor",
      member(
        "semver_minor",
        [S],
        INT,
        ({ version }: CelSemver) => BigInt.asIntN(64, version.minor),
        flat,
      ),
    ),
    fn(
      "patch",
      member(
        "semver_patch",
        [S],
        INT,
        ({ version }: CelSemver) => BigInt.asIntN(64, version.patch),
        flat,
      ),
    ),
  ],
};

function toSemver(text: string, normalize: boolean): CelResult {
  const version = normalize ? parseSemverTolerantly(text) : parseSemver(text);
  return typeof version === "string" ? new CelError(version) : new CelSemver(version);
}
