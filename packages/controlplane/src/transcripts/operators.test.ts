/** Goal: docs/guides/operators.md tells the truth, in both modes and not in root: its blocks are typed into a terminal, with the kubectl of this machine. */
import { readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { DebuggingStage } from "./debugging-stage.ts";
import { readGuide } from "./guide.ts";

const root = new URL("../../../../", import.meta.url);
const scenarios = await readGuide(new URL("docs/guides/operators.md", root), "O");
const file = "queue-operator.yaml";
const manifests = await readFile(new URL(`examples/applications/${file}`, root), "utf8");

for (const mode of ["Push", "Pull"] as const) {
  describe(`operators in ${mode} mode`, { skip: kubectlMissing() ?? false }, () => {
    let stage: DebuggingStage;
    before(async () => {
      stage = await DebuggingStage.set(mode, "acme");
      await stage.terminal.write(file, manifests);
    });
    after(() => stage?.close());
    for (const scenario of scenarios) it(scenario.title, () => stage.terminal.play(scenario));
  });
}
