/** What docs/compatibility.md counts, taken from the tests and their tables. */
import { namedTests } from "./named-tests.ts";

type Read = (path: string) => string;

export function compatibilityCounts(read: Read): readonly (readonly [string, number])[] {
  return [
    ["Kubernetes conformance tests without nodes", rows(read("docs/internals/conformance.md"))],
    ["kcp scenarios", namedTests(read("docs/internals/parity.md"))],
    ["rules of HTTP/2 and its header compression", http2Cases(read)],
  ];
}

/** Each case of a table names the section of the RFC that it is about. */
function http2Cases(read: Read): number {
  const files = ["frames", "messages", "streams"].map((subject) =>
    read(`packages/apiserver/src/http2/conformance-${subject}.test.ts`),
  );
  return files.join("\n").match(/\bsection: "/g)?.length ?? 0;
}

/** Rows of the tables of a document, heads left out. */
function rows(document: string): number {
  return document.split("\n").filter((line) => /^\| .*`(?:packages|tests)\//.test(line)).length;
}
