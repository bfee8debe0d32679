/** Rules about words: what other people read is written in the words of the field, see words.ts. */
import { lineOf, type SourceFile } from "./source-file.ts";
import type { SourceTree } from "./source-tree.ts";
import { forbiddenFields, forbiddenInNames, forbiddenReasons, forbiddenWords } from "./words.ts";

interface Finding {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

/** Something that is read: where it begins, and what it says. */
interface Passage {
  readonly index: number;
  readonly text: string;
}

const nameWords = { ...forbiddenWords, ...forbiddenInNames };
const exportedDeclaration =
  /^export (?:declare |abstract |async )*(?:function\*?|class|interface|type|const|let|enum) (\w+)/gm;
const exportList = /^export (?:type )?\{[^}]*\}/gm;
const title = /\b(?:it|test|describe|describeRule)(?:\.\w+)?\(\s*(["`])/g;
/** Schemas are declared by the builders of machinery/schema. */
const schemaBuilders =
  /^import \{[^}]*\b(?:object|kindSchema)\b[^}]*\} from "(?:@kcp-ts\/machinery\/schema|[^"]*\/schema-builders\.ts)"/m;
const field = /(?<![\w.?])(\w+): /g;

export function wordsInExportedNames(tree: SourceTree): string[] {
  return described(
    findings(tree, (file) =>
      exportedNames(file).flatMap(({ index, text: name }) =>
        forbiddenIn(name, nameWords).map((text) => ({ index, text })),
      ),
    ),
  );
}

/**
 * Fields where a schema is declared; reasons, types of conditions and states wherever users run the
 * code.
 */
export function wordsInSchemas(tree: SourceTree): string[] {
  const found = findings(tree, (file) => {
    if (!tree.production().has(file.path)) return [];
    const fields = schemaBuilders.test(file.uncommented) ? [...file.code.matchAll(field)] : [];
    return [
      ...fields.flatMap(({ 1: name = "", index }) => [
        ...exactly(name, forbiddenFields, index),
        ...forbiddenIn(name, forbiddenWords).map((text) => ({ index, text })),
      ]),
      ...literals(file).flatMap(({ index, text }) => exactly(text, forbiddenReasons, index)),
    ];
  });
  return described(found);
}

/** Sentences that users may see: help, conditions, Events, errors, descriptions, logs. */
export function wordsInTexts(tree: SourceTree): string[] {
  const found = findings(tree, (file) => {
    const isShipped = file.path.startsWith("packages/") && tree.production().has(file.path);
    const texts = isShipped ? [...literals(file), ...templates(file)] : [];
    return texts
      .filter(({ text }) => text.includes(" "))
      .flatMap(({ index, text }) =>
        forbiddenAmong(plainWordsOf(text), text, forbiddenWords).map((it) => ({ index, text: it })),
      );
  });
  return described(found);
}

export function wordsInTitles(tree: SourceTree): string[] {
  const found = findings(tree, (file) =>
    inProse([...file.code.matchAll(title)].map((match) => titleAt(file, match))),
  );
  return described(found);
}

/** The words of a name or a sentence, in lower case: `PodDoor` has two, and so has "a door". */
export function wordsOf(text: string): string[] {
  return [...text.matchAll(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g)].map(([word]) => word.toLowerCase());
}

/** The words of a sentence; a name in it is one word. */
function plainWordsOf(text: string): string[] {
  const fixed = text.replace(/\$\{[^}]*\}/g, "0");
  return (fixed.match(/[A-Za-z0-9]+/g) ?? []).map((word) => word.toLowerCase());
}

function forbiddenIn(text: string, words: Readonly<Record<string, string>>): string[] {
  return forbiddenAmong(wordsOf(text), text, words);
}

function forbiddenAmong(
  present: readonly string[],
  text: string,
  words: Readonly<Record<string, string>>,
): string[] {
  const said = ` ${present.join(" ")} `;
  return Object.entries(words)
    .filter(([word]) => said.includes(` ${word} `))
    .map(([word, instead]) => `${JSON.stringify(text)} says "${word}", write ${instead}`);
}

function inProse(passages: readonly Passage[]): Passage[] {
  return passages.flatMap(({ index, text }) =>
    forbiddenIn(text, forbiddenWords).map((finding) => ({ index, text: finding })),
  );
}

function exactly(text: string, words: Readonly<Record<string, string>>, index: number): Passage[] {
  const instead = Object.hasOwn(words, text) ? words[text] : undefined;
  return instead === undefined ? [] : [{ index, text: `"${text}", write ${instead}` }];
}

/** Names that are declared here, or get another name on their way out. */
function exportedNames({ code }: SourceFile): Passage[] {
  const declared = [...code.matchAll(exportedDeclaration)];
  const renamed = [...code.matchAll(exportList)].flatMap(({ 0: list, index }) =>
    [...list.matchAll(/\bas (\w+)/g)].map(({ 1: text = "", index: at }) => ({
      index: index + at,
      text,
    })),
  );
  return [...declared.map(({ 1: text = "", index }) => ({ index, text })), ...renamed];
}

/** Strings in double quotes, which is how the formatter writes them. */
function literals({ code, uncommented }: SourceFile): Passage[] {
  return [...code.matchAll(/"[^"\n]*"/g)].map(({ 0: quoted, index }) => ({
    index,
    text: uncommented.slice(index + 1, index + quoted.length - 1),
  }));
}

function templates({ code, uncommented }: SourceFile): Passage[] {
  return [...code.matchAll(/`[^`]*`/g)].map(({ 0: quoted, index }) => ({
    index,
    text: uncommented.slice(index + 1, index + quoted.length - 1),
  }));
}

function titleAt({ code, uncommented }: SourceFile, match: RegExpExecArray): Passage {
  const start = match.index + match[0].length;
  const end = code.indexOf(match[1] as string, start);
  return { index: match.index, text: uncommented.slice(start, end) };
}

function findings(tree: SourceTree, find: (file: SourceFile) => Passage[]): Finding[] {
  return [...tree.files.values()].flatMap((file) =>
    find(file).map(({ index, text }) => ({
      path: file.path,
      line: lineOf(file.code, index),
      text,
    })),
  );
}

function described(found: readonly Finding[]): string[] {
  return found.map(({ path, line, text }) => `${path}:${line}: ${text}`);
}
