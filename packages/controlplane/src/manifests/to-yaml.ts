/** An object as YAML, as people read it. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { toYaml as toAnyYaml } from "@kcp-ts/server";

const lineWidth = 120;

export function toYaml(object: JsonObject): string {
  return toAnyYaml(object, lineWidth);
}
