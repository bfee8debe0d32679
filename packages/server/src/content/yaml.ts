/** YAML as Kubernetes reads it: YAML 1.1 words, no dates, string keys, no aliases that multiply. */
import { isJsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { boolYaml11Tag, CORE_SCHEMA, dump, load, mergeTag, YAMLException } from "js-yaml";

const schema = CORE_SCHEMA.withTags(boolYaml11Tag, mergeTag);

/** Nodes that aliases may expand to: more is a bomb, not a manifest. */
const nodesMax = 200_000;
const depthMax = 200;
const aliasesMax = 1000;

export type ParsedYaml =
  | {
      readonly value: JsonValue;
      readonly duplicates: readonly string[];
      /** Where the first of them is, counted from 1. */
      readonly duplicateLine?: number;
    }
  | { readonly error: string };

export function parseYaml(text: string): ParsedYaml {
  try {
    return { value: loadBounded(text, {}), duplicates: [] };
  } catch (error) {
    // js-yaml says that any exception may come out of it, not only its own.
    const found = duplicateKeyOf(error, text);
    if (found === undefined) return { error: messageOf(error) };
    return parseWithDuplicates(text, found);
  }
}

/** The last of several members with one name counts, as in JSON. Only the first such name is told. */
function parseWithDuplicates(text: string, { key, line }: DuplicateKey): ParsedYaml {
  try {
    const value = loadBounded(text, { json: true });
    return { value, duplicates: [key], duplicateLine: line };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

function loadBounded(text: string, options: { readonly json?: boolean }): JsonValue {
  const limits = { schema, maxDepth: depthMax, maxAliases: aliasesMax };
  const value = load(text, { ...limits, ...options }) as JsonValue;
  if (!isBounded(value)) throw new Error("the document expands to too many nodes");
  return value;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? (error.message.split("\n")[0] as string) : String(error);
}

interface DuplicateKey {
  readonly key: string;
  readonly line: number;
}

/** The name that stands twice, if that is what is wrong. */
function duplicateKeyOf(error: unknown, text: string): DuplicateKey | undefined {
  if (!(error instanceof YAMLException) || error.reason !== "duplicated mapping key")
    return undefined;
  const { line = 0, column = 0 } = error.mark ?? {};
  const [key = ""] = (text.split("\n")[line] ?? "").slice(column).split(":");
  return { key: key.trim(), line: line + 1 };
}

/** Texts that a reader of YAML 1.1 would take for something else are quoted. */
export function toYaml(value: JsonValue): string {
  return dump(value, { schema, lineWidth: -1, noRefs: true });
}

function isBounded(root: JsonValue): boolean {
  const stack: JsonValue[] = [root];
  let nodes = 0;
  while (stack.length > 0) {
    const value = stack.pop() as JsonValue;
    if (++nodes > nodesMax) return false;
    if (Array.isArray(value)) for (const item of value) stack.push(item as JsonValue);
    else if (isJsonObject(value)) for (const item of Object.values(value)) stack.push(item);
    if (nodes + stack.length > nodesMax) return false;
  }
  return true;
}
