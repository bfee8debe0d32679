/**
 * Runs the conformance suite of cel-spec. Every case that needs no protobuf messages passes, or
 * stands in differences.ts with the reason why Kubernetes differs.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Type as ProtoType } from "@bufbuild/cel-spec/cel/expr/checked_pb.js";
import { Type_PrimitiveType, Type_WellKnownType } from "@bufbuild/cel-spec/cel/expr/checked_pb.js";
import type { Value } from "@bufbuild/cel-spec/cel/expr/value_pb.js";
import { getConformanceSuite, type IncrementalTest } from "@bufbuild/cel-spec/testdata/tests.js";
import { createRegistry } from "@bufbuild/protobuf";
import { anyUnpack, DurationSchema, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { check } from "../check/checker.ts";
import type { Environment } from "../check/environment.ts";
import { compile } from "../compile.ts";
import { Program } from "../eval/program.ts";
import { kubernetesEnvironment } from "../library/kubernetes-environment.ts";
import { parse } from "../syntax/parser.ts";
import { printIssues } from "../syntax/source.ts";
import { show } from "../test-support/show.ts";
import { type DeclaredType, declaredDynamic, declaredValue } from "../types/declared-type.ts";
import * as t from "../types/type.ts";
import { ArrayList, elementsOf, ValueMap } from "../values/collections.ts";
import { CelDuration, CelTimestamp } from "../values/time.ts";
import {
  CelError,
  CelList,
  CelMap,
  type CelResult,
  CelTypeValue,
  CelUint,
  type CelValue,
} from "../values/value.ts";
import { conformanceEnvironment } from "./conformance-environment.ts";
import { beyondKubernetes, differences } from "./differences.ts";
import { withoutChecking } from "./without-checking.ts";

/** Thrown for cases that need protobuf messages, which Kubernetes does not have. */
class NeedsProtobuf extends Error {
  override readonly name = "NeedsProtobuf";
}

/** Undefined if the case passes, or what is wrong. */
function runCase({ original: test }: IncrementalTest, base: Environment): string | undefined {
  if (needsProtobuf(test.expr, test.container)) throw new NeedsProtobuf(test.name);
  const variables = new Map<string, DeclaredType>();
  const activation = new Map<string, unknown>();
  for (const { name, declKind } of test.typeEnv) {
    if (declKind.case !== "ident" || declKind.value.type === undefined)
      throw new NeedsProtobuf(name);
    variables.set(name, declaredValue(typeFrom(declKind.value.type)));
  }
  for (const [name, { kind }] of Object.entries(test.bindings)) {
    if (kind.case !== "value") throw new NeedsProtobuf(name);
    activation.set(name, valueFrom(kind.value));
    if (!variables.has(name)) variables.set(name, declaredDynamic);
  }
  const matcher = test.resultMatcher;
  const expected = expectedFrom(matcher);
  const environment = base.extend({ variables, container: test.container });
  const outcome = evaluate(test.expr, environment, activation, test);
  if (matcher.case === "evalError" || matcher.case === "anyEvalErrors") {
    return outcome.result instanceof CelError
      ? undefined
      : `expected an error, got ${show(outcome.result)}`;
  }
  if (outcome.result instanceof CelError) return outcome.result.message;
  if (expected?.type !== undefined && t.formatType(expected.type) !== outcome.type) {
    return `expected type ${t.formatType(expected.type)}, got ${outcome.type}`;
  }
  if (test.checkOnly || expected?.value === undefined) return undefined;
  if (identical(outcome.result, expected.value)) return undefined;
  return `expected ${show(expected.value)}, got ${show(outcome.result)}`;
}

interface Evaluated {
  readonly result: CelResult;
  readonly type: string;
}

function evaluate(
  text: string,
  environment: Environment,
  activation: ReadonlyMap<string, unknown>,
  options: { disableCheck: boolean; checkOnly: boolean; disableMacros: boolean },
): Evaluated {
  const macros = options.disableMacros ? new Map() : environment.macros;
  const parsed = parse(text, { macros, optionalSyntax: true });
  if (!parsed.ok) return { result: new CelError(printIssues(text, parsed.issues)), type: "" };
  const checkedResult = options.disableCheck ? undefined : check(parsed.expr, environment);
  if (checkedResult?.ok === false) {
    return { result: new CelError(printIssues(text, checkedResult.issues)), type: "" };
  }
  const checked = checkedResult?.checked ?? withoutChecking(parsed.expr, environment);
  const type = t.formatType(checked.type);
  if (options.checkOnly) return { result: null, type };
  return { result: new Program(checked, environment).evaluate(activation).result, type };
}

function needsProtobuf(expr: string, container: string): boolean {
  if (/TestAllTypes|NestedTestAllTypes|proto\.|GlobalEnum|TestRequired/.test(expr)) return true;
  if (
    /conformance\.proto|^google\.protobuf/.test(container) &&
    /[A-Z]\w*\s*\{|[A-Z]\w+\./.test(expr)
  )
    return true;
  return /google\.protobuf\.(?!Timestamp\b(?!\s*\{)|Duration\b(?!\s*\{))/.test(expr);
}

function expectedFrom(matcher: IncrementalTest["original"]["resultMatcher"]) {
  switch (matcher.case) {
    case "value":
      return { value: valueFrom(matcher.value), type: undefined };
    case "typedResult": {
      const { result, deducedType } = matcher.value;
      return { value: result && valueFrom(result), type: deducedType && typeFrom(deducedType) };
    }
    case undefined:
      // The default matcher of the suite is the value true.
      return { value: true, type: undefined };
    default:
      return undefined;
  }
}

const WELL_KNOWN = createRegistry(TimestampSchema, DurationSchema);

function valueFrom({ kind }: Value): CelValue {
  switch (kind.case) {
    case "nullValue":
      return null;
    case "boolValue":
    case "stringValue":
    case "doubleValue":
    case "int64Value":
    case "bytesValue":
      return kind.value;
    case "uint64Value":
      return new CelUint(kind.value);
    case "typeValue":
      return new CelTypeValue(kind.value);
    case "listValue":
      return new ArrayList(kind.value.values.map(valueFrom));
    case "mapValue": {
      const map = new ValueMap();
      for (const { key, value } of kind.value.entries) {
        if (key !== undefined && value !== undefined) map.insert(valueFrom(key), valueFrom(value));
      }
      return map;
    }
    case "objectValue": {
      const message = anyUnpack(kind.value, WELL_KNOWN);
      if (
        message?.$typeName === "google.protobuf.Timestamp" &&
        "seconds" in message &&
        "nanos" in message
      ) {
        return new CelTimestamp(nanosOf(message));
      }
      if (
        message?.$typeName === "google.protobuf.Duration" &&
        "seconds" in message &&
        "nanos" in message
      ) {
        return new CelDuration(nanosOf(message));
      }
      throw new NeedsProtobuf(kind.value.typeUrl);
    }
    default:
      throw new NeedsProtobuf(String(kind.case));
  }
}

function nanosOf(message: { seconds?: unknown; nanos?: unknown }): bigint {
  return BigInt(String(message.seconds)) * 1_000_000_000n + BigInt(String(message.nanos));
}

const PRIMITIVES: Partial<Record<Type_PrimitiveType, t.Type>> = {
  [Type_PrimitiveType.BOOL]: t.BOOL,
  [Type_PrimitiveType.INT64]: t.INT,
  [Type_PrimitiveType.UINT64]: t.UINT,
  [Type_PrimitiveType.DOUBLE]: t.DOUBLE,
  [Type_PrimitiveType.STRING]: t.STRING,
  [Type_PrimitiveType.BYTES]: t.BYTES,
};

function typeFrom({ typeKind: kind }: ProtoType): t.Type {
  const inner = (type: ProtoType | undefined) => (type === undefined ? t.DYN : typeFrom(type));
  switch (kind.case) {
    case "dyn":
      return t.DYN;
    case "null":
      return t.NULL;
    case "primitive":
      return PRIMITIVES[kind.value] ?? t.ERROR;
    case "wrapper":
      return t.wrapperOf(PRIMITIVES[kind.value] ?? t.ERROR);
    case "wellKnown":
      if (kind.value === Type_WellKnownType.TIMESTAMP) return t.TIMESTAMP;
      if (kind.value === Type_WellKnownType.DURATION) return t.DURATION;
      return t.ANY;
    case "listType":
      return t.listOf(inner(kind.value.elemType));
    case "mapType":
      return t.mapOf(inner(kind.value.keyType), inner(kind.value.valueType));
    case "typeParam":
      return t.typeParam(kind.value);
    case "type":
      return kind.value.typeKind.case === undefined ? t.TYPE : t.typeOf(typeFrom(kind.value));
    case "abstractType":
      return t.opaqueType(kind.value.name, ...kind.value.parameterTypes.map(typeFrom));
    default:
      throw new NeedsProtobuf(String(kind.case));
  }
}

/** The same value of the same type; stricter than CEL's own equality. */
function identical(a: CelValue, b: CelValue): boolean {
  if (typeof a === "number" && typeof b === "number") return Object.is(a, b) || a === b;
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return a === b;
  if (a instanceof CelUint && b instanceof CelUint) return a.value === b.value;
  if (a instanceof CelTypeValue && b instanceof CelTypeValue) return a.name === b.name;
  if (a instanceof CelTimestamp && b instanceof CelTimestamp) return a.nanos === b.nanos;
  if (a instanceof CelDuration && b instanceof CelDuration) return a.nanos === b.nanos;
  if (a instanceof Uint8Array && b instanceof Uint8Array) return show(a) === show(b);
  if (a instanceof CelList && b instanceof CelList) {
    const left = elementsOf(a);
    const right = elementsOf(b);
    if (left instanceof CelError || right instanceof CelError || left.length !== right.length)
      return false;
    return left.every((value, i) => identical(value, right[i] ?? null));
  }
  if (a instanceof CelMap && b instanceof CelMap) {
    return a.size === b.size && a.keys().every((key) => identicalResults(a.find(key), b.find(key)));
  }
  return false;
}

function identicalResults(a: CelResult | undefined, b: CelResult | undefined): boolean {
  if (a === undefined || b === undefined || a instanceof CelError || b instanceof CelError)
    return false;
  return identical(a, b);
}

interface NamedCase {
  readonly path: string;
  readonly test: IncrementalTest;
}

const cases: readonly NamedCase[] = getConformanceSuite().suites.flatMap((file) =>
  file.suites.flatMap((section) =>
    section.tests.map((test) => ({ path: `${file.name}/${section.name}/${test.name}`, test })),
  ),
);

type Outcome = "protobuf" | "pass" | { readonly problem: string };

function outcomeOf({ test }: NamedCase): Outcome {
  try {
    const problem = runCase(test, conformanceEnvironment);
    return problem === undefined ? "pass" : { problem };
  } catch (error) {
    if (error instanceof NeedsProtobuf) return "protobuf";
    throw error;
  }
}

function covers(entry: string, path: string): boolean {
  return path === entry || path.startsWith(`${entry}/`);
}

describe("cel-spec conformance", () => {
  const outcomes = cases.map((named) => ({ ...named, outcome: outcomeOf(named) }));
  const listed = (path: string) => differences.some(({ test }) => covers(test, path));

  it("every case without protobuf messages passes, but for the listed differences", () => {
    const wrong = outcomes
      .filter(({ path, outcome }) => typeof outcome === "object" && !listed(path))
      .map(({ path, outcome }) => `${path}: ${JSON.stringify(outcome)}`);
    const count = (kind: string) => outcomes.filter(({ outcome }) => outcome === kind).length;
    const different = outcomes.filter(({ outcome }) => typeof outcome === "object").length;
    console.log(
      `cel-spec: ${cases.length} cases, ${count("pass")} pass, ${different} differ as listed, ${count("protobuf")} need protobuf messages`,
    );
    assert.deepEqual(wrong, []);
  });

  it("finds the number of cases that this suite is known to have", () => {
    const runnable = outcomes.filter(({ outcome }) => outcome !== "protobuf").length;
    assert.equal(runnable, 1645);
  });

  for (const { test, reason } of differences) {
    it(`differs from ${test}, since ${reason}`, () => {
      const covered = outcomes.filter(
        ({ path, outcome }) => covers(test, path) && outcome !== "protobuf",
      );
      assert.ok(covered.length > 0);
      assert.deepEqual(
        covered.filter(({ outcome }) => outcome === "pass").map(({ path }) => path),
        [],
      );
    });
  }

  for (const { expr, reason } of beyondKubernetes) {
    it(`accepts ${expr} only outside Kubernetes, since ${reason}`, () => {
      const outside = compile(expr, conformanceEnvironment);
      assert.ok(outside.ok);
      assert.equal(outside.program.evaluate({}).result, true);
      const inside = compile(expr, kubernetesEnvironment);
      assert.notEqual(inside.ok && inside.program.evaluate({}).result, true);
    });
  }
});
