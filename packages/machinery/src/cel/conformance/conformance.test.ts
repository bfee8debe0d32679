import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { getConformanceSuite, type IncrementalTest } from "@bufbuild/cel-spec/testdata/tests.js";
import { compile } from "../compile.ts";
import { kubernetesEnvironment } from "../library/kubernetes-environment.ts";
import { conformanceEnvironment } from "./conformance-environment.ts";
import { beyondKubernetes, differences } from "./differences.ts";
import { NeedsProtobuf, runCase } from "./simple-test.ts";

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
