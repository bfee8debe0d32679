/** The page on debugging as a transcript, played in both modes on the clusters of a ground. */
import { after, before, describe, it } from "node:test";
import type { Ground } from "../grounds/index.ts";
import { DebuggingStage } from "./debugging-stage.ts";
import { readGuide } from "./guide.ts";

const guide = new URL("../../../../docs/guides/debugging.md", import.meta.url);
const scenarios = await readGuide(guide, "D");

export function playsDebugging(ground: Ground): void {
  for (const mode of ["Push", "Pull"] as const) {
    describe(`in ${mode} mode`, () => {
      let stage: DebuggingStage;
      before(async () => {
        stage = await DebuggingStage.set(ground, mode);
      });
      after(() => stage?.close());
      for (const scenario of scenarios) it(scenario.title, () => stage.terminal.play(scenario));
    });
  }
}
