/** Reads this checkout for the rules. */
import { readdir, readFile } from "node:fs/promises";
import { type PackageManifest, SourceTree } from "./source-tree.ts";

export async function readTree(): Promise<SourceTree> {
  const packages = await Promise.all((await readdir("packages")).map(readManifest));
  const folders = [...packages.map(({ folder }) => `packages/${folder}/src`), "tests", "tools"];
  const sources: Record<string, string> = {};
  for (const folder of folders) {
    for (const path of [...(await filesIn(folder, ".ts")), ...(await filesIn(folder, ".tsx"))]) {
      if (!isBuilt(path)) sources[path] = await readFile(path, "utf8");
    }
  }
  const root = JSON.parse(await readFile("package.json", "utf8")) as { scripts: Scripts };
  const documents: Record<string, string> = {};
  for (const path of [...(await filesIn("docs", ".md")), "ARCHITECTURE.md"]) {
    const text = await readIfPresent(path);
    if (text !== undefined) documents[path] = text;
  }
  return new SourceTree({ sources, packages, documents, entryPoints: scriptsOf(root.scripts) });
}

type Scripts = Readonly<Record<string, string>>;

/** `node tools/dist/x.js` in a script is tools/x.ts. */
function scriptsOf(scripts: Scripts): string[] {
  const commands = Object.values(scripts).join(" ");
  return [...commands.matchAll(/\btools\/dist\/(\S+)\.js\b/g)].map(
    ([, name]) => `tools/${name}.ts`,
  );
}

async function readManifest(folder: string): Promise<PackageManifest> {
  const text = await readFile(`packages/${folder}/package.json`, "utf8");
  const { exports, dependencies, optionalDependencies } = JSON.parse(text) as {
    exports?: Record<string, string>;
    dependencies?: Record<string, string>;
    optionalDependencies?: Record<string, string>;
  };
  const declared = { ...dependencies, ...optionalDependencies };
  return { folder, exports: exports ?? {}, dependencies: Object.keys(declared) };
}

function isBuilt(path: string): boolean {
  return /^(?:tests|tools)\/dist\//.test(path);
}

async function filesIn(folder: string, ending: string): Promise<string[]> {
  try {
    const names = await readdir(folder, { recursive: true });
    return names.filter((name) => name.endsWith(ending)).map((name) => `${folder}/${name}`);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
