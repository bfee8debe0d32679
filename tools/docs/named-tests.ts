/**
 * Tests that a document names as the proof of what it says: a file in backticks, then words of a
 * title in quotes.
 */
import { existsSync, readFileSync } from "node:fs";

const root = new URL("../../../", import.meta.url);
/** Prose is wrapped, so that a line may end anywhere in it. */
const reference = /`((?:packages|tests)\/[^`]+\.test\.ts)`\s"([^"]*)"/g;

export function namedTests(document: string): number {
  return [...document.matchAll(reference)].length;
}

/** What the document names and the checkout does not have. */
export function missingTests(document: string): string[] {
  return [...document.matchAll(reference)].flatMap(([, path = "", wrapped = ""]) => {
    const title = wrapped.replace(/\s+/g, " ");
    const file = new URL(path, root);
    if (!existsSync(file)) return [`${path} does not exist`];
    const texts = textsOf(readFileSync(file, "utf8"));
    const isThere = title !== "" && texts.some((text) => text.includes(title));
    return isThere ? [] : [`${path} has no test "${title}"`];
  });
}

/** Rows of tables that name no test at their end; the head of a table says "shown by". */
export function bareRows(rows: string): string[] {
  return rows
    .split("\n")
    .filter((line) => line.startsWith("| ") && !/shown by \|$/.test(line))
    .filter((line) => !/`(?:packages|tests)\/[^`]+` "[^"]+" \|$/.test(line));
}

/** What stands between quotation marks: a title does, the name of a function does not. */
export function textsOf(source: string): string[] {
  return [...source.matchAll(/"((?:\\.|[^"\\\n])*)"|`((?:\\.|[^`\\])*)`/g)].map(
    ([, quoted, template]) => quoted ?? template ?? "",
  );
}
