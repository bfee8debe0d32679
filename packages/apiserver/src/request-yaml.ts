/** Wiring: bodies that are YAML are read as JSON before fairness counts what they are. */
import { isYamlType, mediaTypeOf, YamlRequest } from "./content/index.ts";
import type { Exchange } from "./exchange.ts";
import { header } from "./request/api-request.ts";

/** What is sent on to another server is for that one to read. */
export function readYamlOf(exchange: Exchange): void {
  const { request, detour, scope, tenantKey } = exchange;
  if (detour !== undefined || scope?.kind !== "resource") return;
  const mediaType = mediaTypeOf(header(request.headers, "content-type"));
  if (!isYamlType(mediaType)) return;
  const turnOf = tenantKey === "" ? scope.cluster : tenantKey;
  exchange.request = new YamlRequest(request, { mediaType, turnOf, sender: exchange });
}

/** How much JSON it is; undefined when it came as something else, or is none. */
export function jsonBytes({ yaml }: Exchange): number | undefined {
  return yaml !== undefined && "json" in yaml ? yaml.json.length : undefined;
}
