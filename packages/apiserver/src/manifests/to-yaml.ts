/** An object as YAML, as people read it. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { toYaml as toAnyYaml } from "../content/index.ts";

const lineWidth = 120;

export function toYaml(object: JsonObject): string {
  return toAnyYaml(object, lineWidth);
}
