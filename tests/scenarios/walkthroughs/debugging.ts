/** The page on debugging as a transcript, played in both modes on the clusters of a ground. */
import { after, before, describe, it } from "node:test";
import type { TestEnvironment } from "../test-environments/index.ts";
import { DebuggingEnvironment } from "./debugging-environment.ts";
import { readGuide } from "./guide.ts";

const guide = new URL("../../../../docs/guides/debugging.md", import.meta.url);
const scenarios = await readGuide(guide, "D");

export function testDebuggingGuide(environment: TestEnvironment): void {
  for (const mode of ["Push", "Pull"] as const) {
    describe(`in ${mode} mode`, () => {
      let stage: DebuggingEnvironment;
      before(async () => {
        stage = await DebuggingEnvironment.start(environment, mode);
      });
      after(() => stage?.close());
      for (const scenario of scenarios) it(scenario.title, () => stage.terminal.run(scenario));
    });
  }
}
