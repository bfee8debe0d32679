/** YAML as Kubernetes reads it: YAML 1.1 words, no dates, string keys, no aliases that multiply. */
import { isJsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { boolYaml11Tag, CORE_SCHEMA, dump, load, mergeTag } from "js-yaml";

const schema = CORE_SCHEMA.withTags(boolYaml11Tag, mergeTag);

/** Nodes that aliases may expand to: more is a bomb, not a manifest. */
const nodesMax = 200_000;
const depthMax = 200;
const aliasesMax = 1000;

export type ParsedYaml =
  | { readonly value: JsonValue; readonly duplicates: readonly string[] }
  | { readonly error: string };

export function parseYaml(text: string): ParsedYaml {
  try {
    const value = load(text, { schema, maxDepth: depthMax, maxAliases: aliasesMax }) as JsonValue;
    if (!isBounded(value)) return { error: "the document expands to too many nodes" };
    return { value, duplicates: [] };
  } catch (error) {
    // js-yaml says that any exception may come out of it, not only its own.
    return {
      error: error instanceof Error ? (error.message.split("\n")[0] as string) : String(error),
    };
  }
}

export function toYaml(value: JsonValue): string {
  return dump(value, { lineWidth: -1, noRefs: true });
}

function isBounded(root: JsonValue): boolean {
  const stack: JsonValue[] = [root];
  let nodes = 0;
  while (stack.length > 0) {
    const value = stack.pop() as JsonValue;
    if (++nodes > nodesMax) return false;
    if (Array.isArray(value)) stack.push(...(value as JsonValue[]));
    else if (isJsonObject(value)) stack.push(...Object.values(value));
  }
  return true;
}
