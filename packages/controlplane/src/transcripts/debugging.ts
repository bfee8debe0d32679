/** The page on debugging as a transcript, played in both modes on the clusters of a ground. */
import { readFile } from "node:fs/promises";
import { after, before, describe, it } from "node:test";
import type { Ground } from "../grounds/ground.ts";
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

export function playsDebugging(ground: Ground): void {
  for (const mode of ["Push", "Pull"] as const) {
    describe(`in ${mode} mode`, () => {
      let stage: DebuggingStage;
      before(async () => {
        stage = await DebuggingStage.set(ground, mode);
      });
      after(() => stage?.close());
      for (const scenario of readTranscript(transcriptOf(text)))
        it(scenario.title, () => stage.terminal.play(scenario));
    });
  }
}
