/** An object as YAML, as people read it. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { writeSchema } from "@kcp-ts/server";
import { dump } from "js-yaml";

export function toYaml(object: JsonObject): string {
  return dump(object, { schema: writeSchema, lineWidth: 120, noRefs: true });
}
