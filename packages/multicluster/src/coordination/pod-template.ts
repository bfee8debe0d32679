/** The Pod template of a workload. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { podTemplatePath } from "../api/index.ts";
import type { Workload } from "./workload.ts";

/** The Pod template, with metadata and spec of Pods; undefined for a kind that creates no Pods. */
export function podTemplateOf(
  { kind }: { readonly kind: string },
  object: Workload,
): JsonObject | undefined {
  return templateAt(object, podTemplatePath(kind));
}

export function templateAt(object: Workload, path: readonly string[]): JsonObject | undefined {
  let found: JsonValue | undefined = object as unknown as JsonObject;
  for (const field of path) {
    found = isJsonObject(found) && Object.hasOwn(found, field) ? found[field] : undefined;
    if (found === undefined) return undefined;
  }
  return isJsonObject(found) ? found : undefined;
}
