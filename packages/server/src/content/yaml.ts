/** YAML as Kubernetes reads it: by go-yaml's rules for scalars, with string keys, no aliases that multiply. */
import { isJsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { dump, load, loadAll, YAMLException } from "js-yaml";
import { duplicatesOf } from "./yaml-duplicates.ts";
import { yamlReadSchema, yamlWriteSchema } from "./yaml-scalars.ts";

/** Nodes that aliases may expand to: more is a bomb, not a manifest. */
const nodesMax = 200_000;
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
    return { value: loadBounded(text, {}), duplicates: [] };
  } catch (error) {
    // js-yaml says that any exception may come out of it, not only its own.
    const isDuplicate = error instanceof YAMLException && error.reason === "duplicated mapping key";
    return isDuplicate ? parseWithDuplicates(text) : { error: messageOf(error) };
  }
}

/** The last of several members with one name counts, as in JSON. */
function parseWithDuplicates(text: string): ParsedYaml {
  try {
    const value = loadBounded(text, { json: true });
    return { value, duplicates: duplicatesOf(text, depthMax) };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

function loadBounded(text: string, options: { readonly json?: boolean }): JsonValue {
  const limits = { schema: yamlReadSchema, maxDepth: depthMax, maxAliases: aliasesMax };
  const value = load(text, { ...limits, ...options }) as JsonValue;
  checkBounds(value);
  return value;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? (error.message.split("\n")[0] as string) : String(error);
}

/** Texts that a reader of YAML 1.1 would take for something else are quoted. Lines are as long as they come if nobody says how long they may be. */
export function toYaml(value: JsonValue, lineWidth = -1): string {
  return dump(value, { schema: yamlWriteSchema, lineWidth, noRefs: true });
}

/** The documents of a file of one's own: nothing is bounded, and what is wrong is thrown as the reader says it. */
export function parseYamlDocuments(text: string): unknown[] {
  return loadAll(text, { schema: yamlReadSchema });
}

/** Not too many nodes, and nothing that JSON cannot say. */
function checkBounds(root: JsonValue): void {
  const stack: JsonValue[] = [root];
  let nodes = 0;
  while (stack.length > 0) {
    const value = stack.pop() as JsonValue;
    nodes++;
    if (typeof value === "number" && !Number.isFinite(value))
      throw new Error(`json: unsupported value: ${goNumber(value)}`);
    if (Array.isArray(value)) for (const item of value) stack.push(item as JsonValue);
    else if (isJsonObject(value)) for (const item of Object.values(value)) stack.push(item);
    if (nodes + stack.length > nodesMax) throw new Error("the document expands to too many nodes");
  }
}

function goNumber(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "+Inf" : "-Inf";
}
