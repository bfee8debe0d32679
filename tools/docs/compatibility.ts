/** What docs/compatibility.md counts, taken from the tests and their tables. */
import { namedTests } from "./named-tests.ts";

type Read = (path: string) => string;

export function compatibilityCounts(read: Read): readonly (readonly [string, number])[] {
  return [
    ["Kubernetes conformance tests without nodes", rows(read("docs/internals/conformance.md"))],
    ["kcp scenarios", namedTests(read("docs/internals/parity.md"))],
  ];
}

/** Rows of the tables of a document, heads left out. */
function rows(document: string): number {
  return document.split("\n").filter((line) => /^\| .*`packages\//.test(line)).length;
}
