/**
 * Writes a value as YAML, some lines at a time: the same text as `toYaml` returns, which takes half
 * a second for a megabyte and does not yield. Only strings of several kilobytes differ: they are in
 * double quotes, and written in parts.
 *
 * This file walks containers, and writes strings that are safe without quotes; the library writes
 * all other scalars, one by one, because it knows when to quote.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { toYaml } from "./yaml.ts";
import { isLongText, longTextParts } from "./yaml-long-text.ts";

export type YamlChunks = Generator<string, void, void>;

/** The position of a value: after a key or a dash, or at the root. */
interface Place {
  /** The indentation of every line but the first. */
  readonly indent: string;
  /** The text before its first line. */
  readonly lead: string;
  readonly scalars: YamlScalars;
}

export function* encodeYaml(value: JsonValue, scalars = new YamlScalars()): YamlChunks {
  if (isLongText(value)) yield* writeScalar("", value, "", scalars);
  else if (!isContainer(value)) yield toYaml(value);
  if (!isContainer(value)) return;
  let last = "";
  for (const text of write(value, { indent: "", lead: "", scalars })) {
    yield text;
    last = text;
  }
  const end = yamlEnd(last);
  if (end !== "") yield end;
}

/** Writes an item of a list whose key is at the beginning of a line. */
export function encodeYamlItem(value: JsonValue, scalars = new YamlScalars()): YamlChunks {
  return write(value, { indent: "    ", lead: "  - ", scalars });
}

/**
 * The end of a document whose last text this is: if the text keeps trailing empty lines, an end
 * marker is needed.
 */
export function yamlEnd(lastText: string): string {
  return keepsEnd.test(lastText) ? "...\n" : "";
}

const keepsEnd = /^[^\n]*\|\d?\+\n./s;

function* write(value: JsonValue, place: Place): YamlChunks {
  if (Array.isArray(value) && value.length > 0) yield* writeItems(value, place);
  else if (isJsonObject(value) && !isEmpty(value)) yield* writeMembers(value, place);
  else yield* writeScalar(place.lead, value, place.indent.slice(2), place.scalars);
}

/** `indent` is that of the container. */
function* writeScalar(
  before: string,
  value: JsonValue,
  indent: string,
  scalars: YamlScalars,
): YamlChunks {
  if (!isLongText(value)) {
    yield `${before}${scalars.text(value, indent)}\n`;
    return;
  }
  yield before;
  yield* longTextParts(value);
  yield "\n";
}

function* writeItems(items: readonly JsonValue[], place: Place): YamlChunks {
  const { indent, lead, scalars } = place;
  let first: string | undefined = lead;
  for (const item of items) {
    const before: string = first ?? indent;
    first = undefined;
    if (isContainer(item))
      yield* write(item, { indent: `${indent}  `, lead: `${before}- `, scalars });
    else yield* writeScalar(`${before}- `, item, indent, scalars);
  }
}

function* writeMembers(object: JsonObject, place: Place): YamlChunks {
  const { indent, lead, scalars } = place;
  let first: string | undefined = lead;
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (value === undefined) continue;
    const before: string = first ?? indent;
    first = undefined;
    const key = scalars.key(name);
    if (key === undefined) yield* writeLongNamed(name, value, { indent, lead: before, scalars });
    else if (isContainer(value)) {
      yield `${before}${key}:\n`;
      yield* write(value, { indent: `${indent}  `, lead: `${indent}  `, scalars });
    } else yield* writeScalar(`${before}${key}: `, value, indent, scalars);
  }
}

/** A key that is long, or has several lines, needs a line of its own. */
function* writeLongNamed(name: string, value: JsonValue, place: Place): YamlChunks {
  const { indent, lead, scalars } = place;
  if (isLongText(name)) yield* writeScalar(`${lead}? `, name, indent, scalars);
  else {
    const text = toYaml({ [name]: 0 });
    yield `${lead}${text.slice(0, text.lastIndexOf("\n: 0\n"))}\n`;
  }
  if (isContainer(value))
    yield* write(value, { indent: `${indent}  `, lead: `${indent}: `, scalars });
  else yield* writeScalar(`${indent}: `, value, indent, scalars);
}

/**
 * The keys and strings of one response, of which many occur in every object: caches the library's
 * output for short ones.
 */
export class YamlScalars {
  readonly #keys = new Map<string, string>();
  readonly #texts = new Map<string, string>();

  /** Undefined when the key cannot be on the line of its value. */
  key(name: string): string | undefined {
    if (isPlain(name)) return name;
    if (isLongText(name)) return undefined;
    const known = this.#keys.get(name);
    if (known !== undefined) return known;
    const text = toYaml({ [name]: 0 });
    if (text.startsWith("? ") && text.endsWith("\n: 0\n")) return undefined;
    return keep(this.#keys, name, text.slice(0, -4));
  }

  /** `indent` is that of the container: the lines of a long text are indented by two more. */
  text(value: JsonValue, indent: string): string {
    if (typeof value === "string" && isPlain(value)) return value;
    if (typeof value === "string" && isQuoted(value)) return `'${value}'`;
    if (typeof value === "boolean" || value === null) return String(value);
    // The leaves of managed fields: containers with members do not come here.
    if (typeof value === "object") return Array.isArray(value) ? "[]" : "{}";
    if (Number.isSafeInteger(value) && !Object.is(value, -0)) return String(value);
    const text = this.#written(value);
    return indent === "" ? text : text.replaceAll(/\n(?=[^\n])/g, `\n${indent}`);
  }

  #written(value: JsonValue): string {
    const known = typeof value === "string" ? this.#texts.get(value) : undefined;
    if (known !== undefined) return known;
    // A second key follows, so that the text is not at the end of the document.
    const text = toYaml({ k: value, z: 0 }).slice("k: ".length, -"\nz: 0\n".length);
    return typeof value === "string" ? keep(this.#texts, value, text) : text;
  }
}

const keptMax = 2000;
const keptLengthMax = 200;

function keep(kept: Map<string, string>, name: string, text: string): string {
  if (name.length > keptLengthMax) return text;
  if (kept.size >= keptMax) kept.clear();
  kept.set(name, text);
  return text;
}

/** Resource versions and times, which every object has and YAML must quote. */
function isQuoted(text: string): boolean {
  return text.length <= 20 && quoted.test(text);
}

const quoted = /^(?:[1-9]\d{0,14}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)$/;

/**
 * Whether the text needs no quotes for sure: the library, which allocates kilobytes for each text,
 * writes all others. Keys of managed fields and values of variables are among these.
 */
function isPlain(text: string): boolean {
  return text.length > wordLengthMax
    ? text.length < plainLengthMax && (plain.test(text) || plainNumbers.test(text))
    : (plain.test(text) && !words.has(text.toLowerCase())) || plainNumbers.test(text);
}

const plain = /^[A-Za-z$](?:[!-"$-9;-~]|:(?=[!-"$-9;-~])|[ ](?=[A-Za-z0-9_./]))*$/;
/** Quantities and addresses, which begin with a digit and are no numbers. */
const plainNumbers = /^\d{1,15}(?:m|Ki|Mi|Gi|Ti)$|^\d{1,3}(?:\.\d{1,3}){3}(?:\/\d{1,2})?$/;
/**
 * Strings that parsers of YAML 1.1 interpret as true, false or null; merge keys and numbers do not
 * begin with a letter.
 */
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
/** A longer text may be a key on a line of its own. */
const plainLengthMax = 1000;

function isContainer(value: JsonValue): boolean {
  return Array.isArray(value) ? value.length > 0 : isJsonObject(value) && !isEmpty(value);
}

function isEmpty(object: JsonObject): boolean {
  for (const name in object) if (object[name] !== undefined) return false;
  return true;
}
