/**
 * Parses YAML as Kubernetes does: by go-yaml's rules for scalars, with string keys, and without
 * aliases that multiply.
 */
import { isJsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import {
  constructFromEvents,
  dump,
  EVENT_ID,
  type Event,
  loadAll,
  parseEvents,
  YAMLException,
} from "js-yaml";
import { duplicatesOf } from "./yaml-duplicates.ts";
import { yamlReadSchema, yamlWriteSchema } from "./yaml-scalars.ts";

/** The nodes that aliases may expand to: more is an attack, not a manifest. */
const nodesMax = 200_000;
/**
 * The characters that aliases may expand to: the maximum bytes of a body, so that a body without
 * aliases always has fewer.
 */
const charsMax = 3 << 20;
const depthMax = 200;
const aliasesMax = 1000;

export type ParsedYaml =
  | {
      readonly value: JsonValue;
      /** Duplicate keys, with go-yaml's messages: `line 3: key "a" already set in map`. */
      readonly duplicates: readonly string[];
    }
  | { readonly error: string };

export function parseYaml(text: string): ParsedYaml {
  try {
    const events = parseEvents(text, { maxDepth: depthMax });
    refuseTooMany(events);
    return readPlain(text, events) ?? readWithDuplicates(text, events);
  } catch (error) {
    // js-yaml documents that it may throw any exception, not only its own.
    return { error: messageOf(error) };
  }
}

/** Undefined when there is a duplicate key. */
function readPlain(text: string, events: Event[]): ParsedYaml | undefined {
  try {
    return { value: construct(text, events, {}), duplicates: [] };
  } catch (error) {
    if (error instanceof YAMLException && error.reason === "duplicated mapping key")
      return undefined;
    throw error;
  }
}

/** The last of several members with one name counts, as in JSON. */
function readWithDuplicates(text: string, events: Event[]): ParsedYaml {
  const value = construct(text, events, { json: true });
  return { value, duplicates: duplicatesOf(text, events) };
}

function construct(
  source: string,
  events: Event[],
  options: { readonly json?: boolean },
): JsonValue {
  const limits = { schema: yamlReadSchema, maxAliases: aliasesMax };
  const documents = constructFromEvents(events, { source, ...limits, ...options });
  if (documents.length === 0) throw new Error("expected a document, but the input is empty");
  if (documents.length > 1)
    throw new Error("expected a single document in the stream, but found more");
  const [value] = documents as [JsonValue];
  checkBounds(value);
  return value;
}

/** The message may contain the input, which may be long. */
function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return (message.split("\n")[0] as string).slice(0, messageCharsMax);
}

const messageCharsMax = 1000;

/**
 * Quotes strings that a parser of YAML 1.1 would interpret as other values. Lines are not folded by
 * default.
 */
export function toYaml(value: JsonValue, lineWidth = -1): string {
  return dump(value, { schema: yamlWriteSchema, lineWidth, noRefs: true });
}

/** The documents of a trusted file: without limits, and with the parser's own errors. */
export function parseYamlDocuments(text: string): unknown[] {
  return loadAll(text, { schema: yamlReadSchema });
}

/** Before values are created: every second event in a mapping is a key and no node. */
function refuseTooMany(events: readonly Event[]): void {
  let nodes = 0;
  for (const { type } of events) if (type !== EVENT_ID.POP) nodes++;
  if (nodes > 2 * nodesMax) throw tooManyNodes();
}

/**
 * Throws when the value has too many nodes, is too long as text, or cannot be expressed in JSON.
 */
function checkBounds(root: JsonValue): void {
  const stack: JsonValue[] = [root];
  let nodes = 0;
  let chars = 0;
  while (stack.length > 0) {
    const value = stack.pop() as JsonValue;
    nodes++;
    if (typeof value === "string") chars += value.length;
    else if (typeof value === "number" && !Number.isFinite(value))
      throw new Error(`json: unsupported value: ${goNumber(value)}`);
    else if (Array.isArray(value)) for (const item of value) stack.push(item as JsonValue);
    else if (isJsonObject(value))
      for (const [name, item] of Object.entries(value)) {
        chars += name.length;
        stack.push(item);
      }
    if (nodes + stack.length > nodesMax) throw tooManyNodes();
    if (chars > charsMax) throw new Error("the document expands to too many characters");
  }
}

function tooManyNodes(): Error {
  return new Error("the document expands to too many nodes");
}

function goNumber(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "+Inf" : "-Inf";
}
