/** The compiled test files, found by their sources: what was deleted or renamed does not run from an old build. */
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";

export async function findTestFiles(pattern: string | undefined): Promise<string[]> {
  const packages = await readdir("packages");
  const trees = [
    ...packages.map((name) => ({
      source: join("packages", name, "src"),
      built: join("packages", name, "dist"),
    })),
    { source: "tests", built: "tests/dist" },
    { source: "tools", built: "tools/dist" },
  ];
  const found: string[] = [];
  for (const { source, built } of trees) {
    for (const name of await readdir(source, { recursive: true })) {
      if (!name.endsWith(".test.ts") || name.startsWith("dist/")) continue;
      if (pattern !== undefined && !join(source, name).includes(pattern)) continue;
      found.push(resolve(built, name.replace(/\.ts$/, ".js")));
    }
  }
  return found.sort();
}
