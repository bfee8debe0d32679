/**
 * Declarations of the published package: those that its doors lead to, with names of workspaces
 * turned into paths.
 *
 * Comments are there for what a user can import. Most declarations are only needed to check types:
 * a third of their bytes would be comments that no editor shows.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, posix, relative } from "node:path";

export async function copyDeclarations(folder: string, doors: readonly string[]): Promise<void> {
  const entries = doors.map((door) => `types/kcp-ts/${door}.d.ts`);
  const texts = await readDeclarations(entries);
  const shown = filesOfExports(texts, entries);
  for (const [path, text] of texts) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    const left = shown.has(path) ? withoutHeader(text) : withoutComments(text);
    await writeFile(join(folder, path), withNarrowIndent(left));
  }
}

/** By their path in the package. */
async function readDeclarations(entries: readonly string[]): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  const found = new Set(entries);
  for (const target of found) {
    const from = target.replace(/^types\/([^/]+)\//, "packages/$1/dist/");
    const text = withPaths(await readFile(from, "utf8"), target);
    texts.set(target, text);
    for (const [, , name = ""] of text.matchAll(specifier))
      if (name.startsWith(".")) found.add(fileOf(target, name));
  }
  return texts;
}

function fileOf(importer: string, name: string): string {
  return posix.join(posix.dirname(importer), name.replace(/\.js$/, ".d.ts"));
}

const all = "*";
const reExport = /^export (?:type )?(?:\*|\{([^}]*)\}) from "(\.[^"]+)"/gm;
const declaration =
  /^export (?:declare )?(?:abstract )?(?:const|let|function|class|interface|type|enum) (\w+)/gm;

/** The files that declare a name which one of the entries exports. */
export function filesOfExports(
  texts: ReadonlyMap<string, string>,
  entries: readonly string[],
): ReadonlySet<string> {
  const files = new Set<string>();
  const wanted = new Set(entries.map((path) => `${path} ${all}`));
  for (const one of wanted) {
    const [path = "", name = ""] = one.split(" ");
    const text = texts.get(path) ?? "";
    for (const [, list, from = ""] of text.matchAll(reExport)) {
      const file = fileOf(path, from);
      if (list === undefined) wanted.add(`${file} ${name}`);
      else
        for (const [, given, as = given] of list.matchAll(/(?:type )?(\w+)(?: as (\w+))?/g))
          if (name === all || name === as) wanted.add(`${file} ${given}`);
    }
    for (const [, declared] of text.matchAll(declaration))
      if (name === all || name === declared) files.add(path);
  }
  return files;
}

/** A module's first comment is about its code: editors do not show it. */
function withoutHeader(text: string): string {
  return text.replace(/^\/\*\*(?:(?!\*\/).)*\*\/\n(?=import |\/\*\*|export (?:\*|\{))/s, "");
}

export function withoutComments(text: string): string {
  return text.replace(/^ *\/\*\*(?:(?!\*\/).)*\*\/\n/gms, "");
}

function withNarrowIndent(text: string): string {
  return text.replace(/^(?: {4})+/gm, (indent) => " ".repeat(indent.length / 4));
}

/** Doors that are files and not folders. */
function isFile(workspace: string, door: string): boolean {
  const isKinds = workspace === "apiserver" && door === "kinds";
  return door === "internal" || isKinds || door.startsWith("request/");
}

const specifier = /(from |import\()"([^"]+)"/g;

/** Each specifier as seen from `path`, which is below the folder of the package. */
export function withPaths(text: string, path: string): string {
  return text
    .replaceAll(/^\/\/# sourceMappingURL=.*$/gm, "")
    .replaceAll(specifier, (whole, lead: string, name: string) => {
      if (name.startsWith(".")) return `${lead}"${name.replace(/\.ts$/, ".js")}"`;
      const [, workspace, door = ""] = /^@kcp-ts\/([\w-]+)\/?(.*)$/.exec(name) ?? [];
      if (workspace === undefined) return whole;
      const file = door === "" ? "index" : isFile(workspace, door) ? door : `${door}/index`;
      const to = relative(posix.dirname(path), `types/${workspace}/${file}.js`);
      return `${lead}"${to.startsWith(".") ? to : `./${to}`}"`;
    });
}
