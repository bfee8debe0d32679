/** One TypeScript file as the rules see it. */
import { type ScannedSource, scanSource } from "./scan-source.ts";

export interface SourceFile extends ScannedSource {
  /** From the root of the checkout, with slashes. */
  readonly path: string;
  readonly text: string;
  readonly lines: readonly string[];
  readonly codeLines: readonly string[];
  readonly imports: readonly Import[];
  /**
   * Starts programs of its own folder by a name that is put together: `new URL(`./${name}.js`,
   * import.meta.url)`.
   */
  readonly startsByName: boolean;
  /** Words in quotes, which may be such names. */
  readonly words: readonly string[];
}

export interface Import {
  readonly specifier: string;
  readonly line: number;
  /**
   * `lazy` is `import()` and a program started by its file name: needed, but not while modules
   * load.
   */
  readonly kind: "value" | "type" | "lazy";
}

export function sourceFile(path: string, text: string): SourceFile {
  const { code, uncommented } = scanSource(text);
  return {
    path,
    text,
    code,
    uncommented,
    lines: text.split("\n"),
    codeLines: code.split("\n"),
    imports: importsOf(code, uncommented),
    startsByName: /\bnew URL\(\s*`\.\/\$\{\w+\}\.js`,\s*import\.meta\.url/.test(uncommented),
    words: [...uncommented.matchAll(/"([a-z][a-z-]*)"/g)].map(([, word]) => word as string),
  };
}

export function isTest(path: string): boolean {
  return /\.(test|bench)\.ts$/.test(path);
}

export function lineOf(text: string, index: number): number {
  return text.slice(0, index).split("\n").length;
}

const statement =
  /^[ \t]*(import|export)\b([^;"']*?)\bfrom\s*"|^[ \t]*(import)\s*"|\b(import)\(\s*"/gm;
const moduleUrl = /\bnew URL\(\s*"([^"]+)",\s*import\.meta\.url/g;

function importsOf(code: string, uncommented: string): Import[] {
  const found: Import[] = [];
  for (const match of code.matchAll(statement)) {
    const start = match.index + match[0].length;
    const specifier = uncommented.slice(start, uncommented.indexOf('"', start));
    const isType = /^\s*type\b(?!\s*,|\s+from)/.test(match[2] ?? "");
    const kind = match[4] !== undefined ? "lazy" : isType ? "type" : "value";
    found.push({ specifier, line: lineOf(code, match.index), kind });
  }
  for (const match of uncommented.matchAll(moduleUrl)) {
    const specifier = (match[1] as string).replace(/\.js$/, ".ts");
    found.push({ specifier, line: lineOf(code, match.index), kind: "lazy" });
  }
  return found;
}
