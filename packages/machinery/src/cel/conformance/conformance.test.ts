import { describe, it } from "node:test";
import { getConformanceSuite } from "@bufbuild/cel-spec/testdata/tests.js";
import { conformanceEnvironment as environment } from "./conformance-environment.ts";
import { NeedsProtobuf, runCase } from "./simple-test.ts";

describe("conformance", () => {
  it("runs", () => {
    let all = 0,
      bad = 0;
    for (const file of getConformanceSuite().suites) {
      let pass = 0;
      let skip = 0;
      const wrong: string[] = [];
      for (const section of file.suites) {
        for (const test of section.tests) {
          try {
            const problem = runCase(test, environment);
            if (problem === undefined) pass++;
            else
              wrong.push(
                `${section.name}/${test.name}: ${test.original.expr} => ${problem.split("\n")[0]}`,
              );
          } catch (error) {
            if (error instanceof NeedsProtobuf) skip++;
            else
              wrong.push(
                `${section.name}/${test.name}: ${test.original.expr} THROWS ${(error as Error).stack}`,
              );
          }
        }
      }
      all += pass;
      bad += wrong.length;
      console.log(`${file.name}: ${pass} pass, ${wrong.length} fail, ${skip} protobuf`);
      for (const w of wrong.slice(0, Number(process.env["SHOW"] ?? 5)))
        console.log(`    ${w.slice(0, 300)}`);
    }
    console.log(all, bad);
  });
});
