/**
 * Translates YAML to JSON, as Kubernetes does before it decodes the object: the same code runs in
 * the worker thread for long texts and synchronously for short ones.
 */
import { stringifyJson } from "@kcp-ts/machinery/json";
import { parseYaml } from "./yaml.ts";

export type TranslatedYaml =
  | {
      /** UTF-8, in a buffer of its own. */
      readonly json: Uint8Array;
      /** Duplicate keys, with go-yaml's messages. */
      readonly duplicates: readonly string[];
    }
  | { readonly error: string };

export function translateYaml(text: string): TranslatedYaml {
  const parsed = parseYaml(text);
  if ("error" in parsed) return parsed;
  const json = new TextEncoder().encode(stringifyJson(parsed.value));
  return { json, duplicates: parsed.duplicates };
}
