/**
 * What docs/guides/operators.md says, typed into a terminal with the kubectl of this machine: in
 * both modes, and not in root.
 */
import { readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import type { TestEnvironment } from "../test-environments/index.ts";
import { DebuggingEnvironment } from "./debugging-environment.ts";
import { readGuide } from "./guide.ts";

const guide = new URL("../../../../docs/guides/operators.md", import.meta.url);
const scenarios = await readGuide(guide, "O");
const file = "queue-operator.yaml";
const example = new URL(`../../../../examples/applications/${file}`, import.meta.url);
const manifests = await readFile(example, "utf8");

export function testOperatorsGuide(environment: TestEnvironment): void {
  for (const mode of ["Push", "Pull"] as const) {
    describe(`in ${mode} mode`, () => {
      let stage: DebuggingEnvironment;
      before(async () => {
        stage = await DebuggingEnvironment.start(environment, mode, "acme");
        await stage.terminal.write(file, manifests);
      });
      after(() => stage?.close());
      for (const scenario of scenarios) it(scenario.title, () => stage.terminal.run(scenario));
    });
  }
}
