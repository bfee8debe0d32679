/**
 * A value as YAML, some lines at a time: the same text as `toYaml` gives, which takes half a second for a megabyte and does not rest.
 *
 * Containers are walked here, and so are texts that nothing could take for something else; all others are asked of the library, one by one, because it
 * knows what has to be quoted.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { toYaml } from "./yaml.ts";

export type YamlTexts = Generator<string, void, void>;

/** Where a value stands: behind a name or a dash, or alone. */
interface Place {
  /** What stands before every line of it but the first. */
  readonly indent: string;
  /** What stands before its first line. */
  readonly lead: string;
}

export function* yamlTexts(value: JsonValue): YamlTexts {
  if (!isContainer(value)) {
    yield toYaml(value);
    return;
  }
  let last = "";
  for (const text of write(value, { indent: "", lead: "" })) {
    yield text;
    last = text;
  }
  const end = yamlEnd(last);
  if (end !== "") yield end;
}

/** As an item of the list whose name stands at the beginning of a line. */
export function yamlItemTexts(value: JsonValue): YamlTexts {
  return write(value, { indent: "    ", lead: "  - " });
}

/** What ends a document whose last text this is: where a text keeps the empty lines at its end, the end is said. */
export function yamlEnd(lastText: string): string {
  return keepsEnd.test(lastText) ? "...\n" : "";
}

const keepsEnd = /^[^\n]*\|\d?\+\n./s;

function* write(value: JsonValue, place: Place): YamlTexts {
  if (Array.isArray(value) && value.length > 0) yield* writeItems(value, place);
  else if (isJsonObject(value) && !isEmpty(value)) yield* writeMembers(value, place);
  else yield `${place.lead}${scalarText(value, place.indent.slice(2))}\n`;
}

function* writeItems(items: readonly JsonValue[], { indent, lead }: Place): YamlTexts {
  let first: string | undefined = lead;
  for (const item of items) {
    const before: string = first ?? indent;
    first = undefined;
    if (isContainer(item)) yield* write(item, { indent: `${indent}  `, lead: `${before}- ` });
    else yield `${before}- ${scalarText(item, indent)}\n`;
  }
}

function* writeMembers(object: JsonObject, { indent, lead }: Place): YamlTexts {
  let first: string | undefined = lead;
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (value === undefined) continue;
    const before: string = first ?? indent;
    first = undefined;
    const key = keyText(name);
    if (key === undefined) yield* writeLongNamed(name, value, { indent, lead: before });
    else if (isContainer(value)) {
      yield `${before}${key}:\n`;
      yield* write(value, { indent: `${indent}  `, lead: `${indent}  ` });
    } else yield `${before}${key}: ${scalarText(value, indent)}\n`;
  }
}

/** A name that is long, or has several lines, stands alone. */
function* writeLongNamed(name: string, value: JsonValue, { indent, lead }: Place): YamlTexts {
  const text = toYaml({ [name]: 0 });
  yield `${lead}${text.slice(0, text.lastIndexOf("\n: 0\n"))}\n`;
  if (isContainer(value)) yield* write(value, { indent: `${indent}  `, lead: `${indent}: ` });
  else yield `${indent}: ${scalarText(value, indent)}\n`;
}

/** Undefined when it does not stand on the line of its value. */
function keyText(name: string): string | undefined {
  if (isPlain(name)) return name;
  const text = toYaml({ [name]: 0 });
  return text.startsWith("? ") && text.endsWith("\n: 0\n") ? undefined : text.slice(0, -4);
}

/** `indent` is that of the container: the lines of a long text stand two further in. */
function scalarText(value: JsonValue, indent: string): string {
  if (typeof value === "string" && isPlain(value)) return value;
  if (typeof value === "boolean" || value === null) return String(value);
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) return String(value);
  // Something comes behind it, so that its end is not the document's.
  const text = toYaml({ k: value, z: 0 }).slice("k: ".length, -"\nz: 0\n".length);
  return indent === "" ? text : text.replaceAll(/\n(?=[^\n])/g, `\n${indent}`);
}

/** Begins with a letter and has nothing but what no rule of YAML is about: whatever else is asked of the library. */
function isPlain(text: string): boolean {
  return text.length > wordLengthMax
    ? text.length < plainLengthMax && plain.test(text)
    : plain.test(text) && !words.has(text.toLowerCase());
}

const plain = /^[A-Za-z][A-Za-z0-9_./-]*$/;
/** Texts that readers of YAML 1.1 take for true, false or nothing; merge keys and numbers do not begin with a letter. */
const words: ReadonlySet<string> = new Set([
  "y",
  "n",
  "yes",
  "no",
  "on",
  "off",
  "true",
  "false",
  "null",
]);
const wordLengthMax = 5;
/** A longer one may be a name that stands alone. */
const plainLengthMax = 1000;

function isContainer(value: JsonValue): boolean {
  return Array.isArray(value) ? value.length > 0 : isJsonObject(value) && !isEmpty(value);
}

function isEmpty(object: JsonObject): boolean {
  for (const name in object) if (object[name] !== undefined) return false;
  return true;
}
