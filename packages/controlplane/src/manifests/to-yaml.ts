/** An object as YAML, as people read it. */

import { toYaml as toAnyYaml } from "@kcp-ts/apiserver";
import type { JsonObject } from "@kcp-ts/machinery/json";

const lineWidth = 120;

export function toYaml(object: JsonObject): string {
  return toAnyYaml(object, lineWidth);
}
