/**
 * For tests that play guides: a section is a scenario, and what is typed in it stands in its
 * blocks.
 */
import { readFile } from "node:fs/promises";
import { parseScenarios, type Scenario } from "./scenario.ts";

/** `letter` begins the names of the scenarios. */
export async function readGuide(guide: URL, letter: string): Promise<readonly Scenario[]> {
  const sections = (await readFile(guide, "utf8")).split(/^## /m).slice(1);
  const lines = sections.flatMap((section, index) => {
    const [title = ""] = section.split("\n", 1);
    const blocks = [...section.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map(
      ([, block]) => block,
    );
    return blocks.length === 0 ? [] : [`${letter}${index + 1}  ${title}`, ...blocks];
  });
  return parseScenarios(lines.join("\n"));
}
