/** YAML as Kubernetes reads it: by go-yaml's rules for scalars, with string keys, no aliases that multiply. */
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

/** Nodes that aliases may expand to: more is a bomb, not a manifest. */
const nodesMax = 200_000;
/** Characters that they may expand to: as many as a body may have bytes, so that one without aliases always has fewer. */
const charsMax = 3 << 20;
const depthMax = 200;
const aliasesMax = 1000;

export type ParsedYaml =
  | {
      readonly value: JsonValue;
      /** Names that stand twice, as go-yaml tells it: `line 3: key "a" already set in map`. */
      readonly duplicates: readonly string[];
    }
  | { readonly error: string };

export function parseYaml(text: string): ParsedYaml {
  try {
    const events = parseEvents(text, { maxDepth: depthMax });
    refuseTooMany(events);
    return readPlain(text, events) ?? readWithDuplicates(text, events);
  } catch (error) {
    // js-yaml says that any exception may come out of it, not only its own.
    return { error: messageOf(error) };
  }
}

/** Undefined when a name stands twice. */
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

/** It may name what was sent, which may be long. */
function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return (message.split("\n")[0] as string).slice(0, messageCharsMax);
}

const messageCharsMax = 1000;

/** Texts that a reader of YAML 1.1 would take for something else are quoted. Lines are as long as they come if nobody says how long they may be. */
export function toYaml(value: JsonValue, lineWidth = -1): string {
  return dump(value, { schema: yamlWriteSchema, lineWidth, noRefs: true });
}

/** The documents of a file of one's own: nothing is bounded, and what is wrong is thrown as the reader says it. */
export function parseYamlDocuments(text: string): unknown[] {
  return loadAll(text, { schema: yamlReadSchema });
}

/** Before anything is made of them: of what is in a mapping, every second one is a name and no node. */
function refuseTooMany(events: readonly Event[]): void {
  let nodes = 0;
  for (const { type } of events) if (type !== EVENT_ID.POP) nodes++;
  if (nodes > 2 * nodesMax) throw tooManyNodes();
}

/** Not too many nodes, not too long as a text, and nothing that JSON cannot say. */
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
