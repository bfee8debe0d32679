/** Where the Pod template of a kind is. */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { Workload } from "./workload.ts";

/** By kind; all others have theirs in `spec.template`. */
const paths: Readonly<Record<string, readonly string[]>> = {
  CronJob: ["spec", "jobTemplate", "spec", "template"],
  ClusterDaemonSet: ["spec", "template", "spec", "template"],
  Pod: [],
};

/** With metadata and spec of Pods; undefined for what makes none. */
export function podTemplateOf(
  { kind }: { readonly kind: string },
  object: Workload,
): JsonObject | undefined {
  const path = Object.hasOwn(paths, kind) ? paths[kind] : undefined;
  let found: JsonValue | undefined = object as unknown as JsonObject;
  for (const field of path ?? ["spec", "template"]) {
    found = isJsonObject(found)
      ? (found as Record<string, JsonValue | undefined>)[field]
      : undefined;
    if (found === undefined) return undefined;
  }
  return isJsonObject(found) ? found : undefined;
}
