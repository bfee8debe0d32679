/**
 * What a door of a package offers: names, doc comments and declarations, read from the compiler's
 * own .d.ts files. No parser: declarations there are regular enough to be told from their text.
 */
import { readFile } from "node:fs/promises";
import { posix } from "node:path";

export interface Declaration {
  readonly name: string;
  readonly kind: "class" | "constant" | "function" | "interface" | "type";
  /** Without its stars; empty when there is none. */
  readonly comment: string;
  /** As TypeScript, comments of members included. */
  readonly text: string;
}

export interface DeclarationSource {
  read(path: string): Promise<string>;
  /** The .d.ts file that a specifier means. */
  resolve(from: string, specifier: string): string;
}

const exportList = /export (?:type )?\{([^}]*)\} from "([^"]+)";/g;
const exportStar = /export \* from "([^"]+)";/g;

/** In alphabetical order. */
export async function declarationsOf(
  path: string,
  source: DeclarationSource,
): Promise<readonly Declaration[]> {
  const text = await source.read(path);
  const found: Declaration[] = [];
  for (const { inner, outer, specifier } of namedExports(text)) {
    const target = source.resolve(path, specifier);
    const declared = await find(inner, outer, target, source);
    if (declared.length === 0) throw new Error(`${target} does not export ${inner}`);
    found.push(...declared);
  }
  for (const [, specifier = ""] of text.matchAll(exportStar)) {
    found.push(...(await declarationsOf(source.resolve(path, specifier), source)));
  }
  return found.sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
}

function namedExports(text: string) {
  return [...text.matchAll(exportList)].flatMap(([, names = "", specifier = ""]) =>
    names
      .split(",")
      .map((item) => item.trim().replace(/^type /, ""))
      .filter((item) => item !== "")
      .map((item) => {
        const [inner = item, outer = inner] = item.split(" as ");
        return { inner, outer, specifier };
      }),
  );
}

/** Follows re-exports to where the name is declared; overloads are several declarations. */
async function find(
  name: string,
  shownAs: string,
  path: string,
  source: DeclarationSource,
): Promise<readonly Declaration[]> {
  const text = await source.read(path);
  const own = declaredIn(text, name);
  if (own.length > 0) return own.map((one) => ({ ...one, name: shownAs }));
  const named = namedExports(text).find(({ outer }) => outer === name);
  if (named !== undefined) {
    return find(named.inner, shownAs, source.resolve(path, named.specifier), source);
  }
  for (const [, specifier = ""] of text.matchAll(exportStar)) {
    const found = await find(name, shownAs, source.resolve(path, specifier), source);
    if (found.length > 0) return found;
  }
  return [];
}

const kinds = {
  class: "class",
  const: "constant",
  function: "function",
  interface: "interface",
  type: "type",
} as const;

export function declaredIn(text: string, name: string): readonly Declaration[] {
  const head = new RegExp(
    `^export (?:declare )?(?:abstract )?(class|const|function|interface|type) ${name.replaceAll("$", "\\$")}(?![\\w$])`,
    "gm",
  );
  return [...text.matchAll(head)].map((match) => ({
    name,
    kind: kinds[match[1] as keyof typeof kinds],
    comment: commentBefore(text, match.index),
    text: expanded(declarationAt(text, match.index), text),
  }));
}

/** A type that is inferred from a schema is shown as the type of the schema's values. */
function expanded(declaration: string, text: string): string {
  return declaration.replace(/\bTypeOf<typeof (\w+)>/, (inferred, schema) => {
    const at = text.search(new RegExp(`^(?:export )?declare const ${schema}: \\S*Schema<`, "m"));
    if (at < 0) return inferred;
    const declared = declarationAt(text, at);
    return declared.slice(
      declared.indexOf("Schema<") + "Schema<".length,
      declared.lastIndexOf(">"),
    );
  });
}

function commentBefore(text: string, at: number): string {
  const before = text.slice(0, at).trimEnd();
  if (!before.endsWith("*/")) return "";
  const comment = before.slice(before.lastIndexOf("/**") + 3, -2);
  return comment
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trimEnd())
    .join("\n")
    .trim();
}

/** To the semicolon or brace that ends it. Private members say nothing to readers. */
function declarationAt(text: string, at: number): string {
  let depth = 0;
  for (let end = at; end < text.length; end++) {
    const skipped = skipLiteral(text, end);
    if (skipped > end) {
      end = skipped - 1;
      continue;
    }
    const char = text[end] as string;
    if ("{([".includes(char)) depth++;
    else if ("})]".includes(char)) depth--;
    const isBlock = /^export (?:declare )?(?:abstract )?(?:class|interface) /.test(text.slice(at));
    if (depth === 0 && (char === ";" || (isBlock && char === "}"))) {
      return withoutPrivates(text.slice(at, end + 1)).replace(/^export (?:declare )?/, "");
    }
  }
  throw new Error(`a declaration has no end: ${text.slice(at, at + 80)}`);
}

/** The index behind a comment or a string that begins here; the same index when none does. */
function skipLiteral(text: string, at: number): number {
  if (text.startsWith("/*", at)) return text.indexOf("*/", at) + 2;
  if (text.startsWith("//", at)) return text.indexOf("\n", at);
  const quote = text[at] as string;
  if (quote !== '"' && quote !== "'" && quote !== "`") return at;
  let end = at + 1;
  while (text[end] !== quote) end += text[end] === "\\" ? 2 : 1;
  return end + 1;
}

function withoutPrivates(text: string): string {
  return text.replaceAll(
    /^\s*(?:#private;|private constructor\(.*\);|readonly __object\?.*;)\n/gm,
    "",
  );
}

/** The declarations of this checkout's packages, by the doors in their manifests. */
export function checkoutDeclarations(): DeclarationSource {
  const texts = new Map<string, Promise<string>>();
  return {
    read(path) {
      let text = texts.get(path);
      if (text === undefined) {
        text = readFile(path, "utf8");
        texts.set(path, text);
      }
      return text;
    },
    resolve(from, specifier) {
      if (specifier.startsWith(".")) {
        const file = specifier.replace(/\.[jt]s$/, ".d.ts");
        return posix.join(posix.dirname(from), file);
      }
      const [, folder = "", door = ""] = /^@kcp-ts\/([\w-]+)\/?(.*)$/.exec(specifier) ?? [];
      if (door === "") return `packages/${folder}/dist/index.d.ts`;
      if (door === "internal") return `packages/${folder}/dist/internal.d.ts`;
      return `packages/${folder}/dist/${door}/index.d.ts`;
    },
  };
}
