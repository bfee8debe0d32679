/** The compiled test files, found by their sources: an old build has files whose source is gone. */
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";

/** All of them, or those whose path contains one of the patterns. */
export async function findTestFiles(patterns: readonly string[]): Promise<string[]> {
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
      const path = join(source, name);
      if (patterns.length > 0 && !patterns.some((pattern) => path.includes(pattern))) continue;
      found.push(resolve(built, name.replace(/\.ts$/, ".js")));
    }
  }
  return found.sort();
}
