/** An object as YAML, as people read it. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { yamlWriteSchema } from "@kcp-ts/server";
import { dump } from "js-yaml";

export function toYaml(object: JsonObject): string {
  return dump(object, { schema: yamlWriteSchema, lineWidth: 120, noRefs: true });
}
