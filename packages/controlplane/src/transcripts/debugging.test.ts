/** Goal: docs/guides/debugging.md tells the truth, in both modes: its blocks are typed into a terminal, with the kubectl of this machine. */
import { readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import { kubectlMissing } from "@kcp-ts/testkit";
import { DebuggingStage } from "./debugging-stage.ts";
import { readTranscript } from "./transcript.ts";

const guide = new URL("../../../../docs/guides/debugging.md", import.meta.url);
const text = await readFile(guide, "utf8");

/** A section is a scenario; what is typed in it stands in its blocks. */
function transcriptOf(page: string): string {
  const sections = page.split(/^## /m).slice(1);
  return sections
    .flatMap((section, index) => {
      const [title = ""] = section.split("\n", 1);
      const blocks = [...section.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map(
        ([, block]) => block,
      );
      return blocks.length === 0 ? [] : [`D${index + 1}  ${title}`, ...blocks];
    })
    .join("\n");
}

for (const mode of ["Push", "Pull"] as const) {
  describe(`debugging in ${mode} mode`, { skip: kubectlMissing() ?? false }, () => {
    let stage: DebuggingStage;
    before(async () => {
      stage = await DebuggingStage.set(mode);
    });
    after(() => stage?.close());
    for (const scenario of readTranscript(transcriptOf(text)))
      it(scenario.title, () => stage.terminal.play(scenario));
  });
}
