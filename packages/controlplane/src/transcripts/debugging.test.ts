/** Goal: docs/guides/debugging.md tells the truth, in both modes: its blocks are typed into a terminal, with the kubectl of this machine. */
import { after, before, describe, it } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { DebuggingStage } from "./debugging-stage.ts";
import { readGuide } from "./guide.ts";

const guide = new URL("../../../../docs/guides/debugging.md", import.meta.url);
const scenarios = await readGuide(guide, "D");

for (const mode of ["Push", "Pull"] as const) {
  describe(`debugging in ${mode} mode`, { skip: kubectlMissing() ?? false }, () => {
    let stage: DebuggingStage;
    before(async () => {
      stage = await DebuggingStage.set(mode);
    });
    after(() => stage?.close());
    for (const scenario of scenarios) it(scenario.title, () => stage.terminal.play(scenario));
  });
}
