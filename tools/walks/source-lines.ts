/** Lines of the tree by package: product and test support apart from tests and generated files. */
import { readdirSync, readFileSync } from "node:fs";

export interface SourceLines {
  readonly source: number;
  readonly tests: number;
  readonly generated: number;
}

/** Folder to its lines, in the order of their names. */
export function sourceLines(): ReadonlyMap<string, SourceLines> {
  const folders = [...foldersIn("packages"), ...foldersIn("tests"), "tools"].sort();
  return new Map(folders.map((folder) => [folder, linesIn(folder)]));
}

function foldersIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== "dist")
    .map(({ name }) => `${folder}/${name}`);
}

function linesIn(folder: string): SourceLines {
  const lines = { source: 0, tests: 0, generated: 0 };
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".ts") || /(^|\/)(dist|node_modules)\//.test(name)) continue;
    lines[kindOf(name)] += readFileSync(`${folder}/${name}`, "utf8").split("\n").length - 1;
  }
  return lines;
}

function kindOf(name: string): keyof SourceLines {
  if (/(^|\/)generated\//.test(name)) return "generated";
  return name.endsWith(".test.ts") ? "tests" : "source";
}
