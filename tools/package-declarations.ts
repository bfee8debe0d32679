/**
 * Declarations of the published package: those that its doors lead to, with names of workspaces
 * turned into paths.
 *
 * Of an index file those names are kept that somebody imports through it: a third of all files are
 * there for no other reason. Comments are there for what a user can import. Most declarations are
 * only needed to check types: a third of their bytes would be comments that no editor shows.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, posix, relative } from "node:path";

export async function copyDeclarations(folder: string, doors: readonly string[]): Promise<void> {
  const entries = doors.map((door) => `types/kcp-ts/${door}.d.ts`);
  const texts = await readDeclarations(entries);
  const shown = filesOfExports(texts, entries);
  for (const [path, text] of neededDeclarations(texts, entries)) {
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
const reExport = /^export (?:type )?(?:\*|\{([^}]*)\}) from "(\.[^"]+)";?\n/gm;
const imported =
  /^import (?:type )?(?:\{([^}]*)\}|\* as \w+) from "(\.[^"]+)"|import\("(\.[^"]+)"\)\.(\w+)/gm;
const declaration =
  /^export (?:declare )?(?:abstract )?(?:const|let|function|class|interface|type|enum) (\w+)/gm;

/** The files that declare a name which one of the entries exports. */
export function filesOfExports(
  texts: ReadonlyMap<string, string>,
  entries: readonly string[],
): ReadonlySet<string> {
  const wanted = followNames(texts, entries, () => []);
  return new Set(
    [...wanted].flatMap(([path, names]) => {
      const declared = [...(texts.get(path) ?? "").matchAll(declaration)];
      return declared.some(([, name = ""]) => names.has(all) || names.has(name)) ? [path] : [];
    }),
  );
}

/** The files that give the names of the entries their types, without re-exports of other names. */
export function neededDeclarations(
  texts: ReadonlyMap<string, string>,
  entries: readonly string[],
): ReadonlyMap<string, string> {
  const wanted = followNames(texts, entries, importsOf);
  const needed = new Map<string, string>();
  for (const [path, names] of wanted) {
    const text = (texts.get(path) ?? "").replaceAll(reExport, (line, list, from) => {
      if (list === undefined) return wanted.has(fileOf(path, from)) ? line : "";
      const kept = entriesOf(list).filter(({ as }) => names.has(all) || names.has(as));
      if (kept.length === 0) return "";
      return line.replace(/\{[^}]*\}/, `{ ${kept.map(({ text }) => text).join(", ")} }`);
    });
    needed.set(path, text);
  }
  return needed;
}

interface NameIn {
  readonly path: string;
  readonly name: string;
}

/** By file the names that are used of it. A file that only might have a name has no entry. */
function followNames(
  texts: ReadonlyMap<string, string>,
  entries: readonly string[],
  usedBy: (path: string, declarations: string) => readonly NameIn[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const used = new Map<string, Set<string>>();
  const pending: NameIn[] = entries.map((path) => ({ path, name: all }));
  for (const { path, name } of pending) {
    if (used.get(path)?.has(name)) continue;
    const text = texts.get(path) ?? "";
    const declarations = text.replaceAll(reExport, "");
    const passedOn = [...text.matchAll(reExport)].flatMap(([, list, from = ""]) =>
      list === undefined
        ? [{ path: fileOf(path, from), name }]
        : entriesOf(list)
            .filter(({ as }) => name === all || name === as)
            .map(({ original }) => ({ path: fileOf(path, from), name: original })),
    );
    const isDeclared = name === all || new RegExp(`\\b${name}\\b`).test(declarations);
    if (passedOn.length === 0 && !isDeclared) continue;
    used.set(path, (used.get(path) ?? new Set()).add(name));
    pending.push(...passedOn, ...(isDeclared ? usedBy(path, declarations) : []));
  }
  return used;
}

function importsOf(path: string, declarations: string): readonly NameIn[] {
  return [...declarations.matchAll(imported)].flatMap(([, list, from, inline, name = all]) => {
    const file = fileOf(path, from ?? inline ?? "");
    if (list === undefined) return [{ path: file, name: from === undefined ? name : all }];
    return entriesOf(list).map(({ original }) => ({ path: file, name: original }));
  });
}

/** Of `A, type B as C`. */
function entriesOf(list: string): { text: string; original: string; as: string }[] {
  return [...list.matchAll(/(?:type )?(\w+)(?: as (\w+))?/g)].map(
    ([text, original = "", as = original]) => ({ text, original, as }),
  );
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
