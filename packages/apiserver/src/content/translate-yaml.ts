/** From the text of YAML to JSON, as Kubernetes does before it looks at what it says: the same in the thread for long texts and, for short ones, on the spot. */
import { stringifyJson } from "@kcp-ts/machinery/json";
import { parseYaml } from "./yaml.ts";

export type TranslatedYaml =
  | {
      /** UTF-8, in a buffer of its own. */
      readonly json: Uint8Array;
      /** Names that stand twice, as go-yaml tells it. */
      readonly duplicates: readonly string[];
    }
  | { readonly error: string };

export function translateYaml(text: string): TranslatedYaml {
  const parsed = parseYaml(text);
  if ("error" in parsed) return parsed;
  const json = new TextEncoder().encode(stringifyJson(parsed.value));
  return { json, duplicates: parsed.duplicates };
}
