/**
 * Places in compiled files, as stack traces name them, become places in their sources.
 *
 * Node can do it itself (`--enable-source-maps`), but then every process of a test run reads the
 * maps of all it loads, which is a sixth of what loading takes; here only those of a failure are
 * read.
 */
import { readFileSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The same text; places whose file has no map stay as they are. */
export function inSources(text: string): string {
  return text.replaceAll(compiledPlace, (whole, file: string, line: string, column: string) => {
    const place = sourceLocation({ file, line: Number(line), column: Number(column) });
    return place === undefined ? whole : `${place.file}:${place.line}:${place.column}`;
  });
}

export interface SourceLocation {
  readonly file: string;
  /** From one on, both. */
  readonly line: number;
  readonly column: number;
}

export function sourceLocation({ file, line, column }: SourceLocation): SourceLocation | undefined {
  const entry = mapOf(file)?.findEntry(line - 1, column - 1);
  if (entry === undefined || !("originalSource" in entry)) return undefined;
  return {
    file: fileURLToPath(new URL(entry.originalSource, pathToFileURL(file))),
    line: entry.originalLine + 1,
    column: entry.originalColumn + 1,
  };
}

const compiledPlace = /(?:file:\/\/)?(\/[^\s():]+\.m?js):(\d+):(\d+)/g;

function mapOf(file: string): SourceMap | undefined {
  let text: string;
  try {
    text = readFileSync(`${file}.map`, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  return new SourceMap(JSON.parse(text) as SourceMapPayload);
}
