/** Wiring: bodies that are YAML are read as JSON before fairness counts what they are. */
import { isYamlType, mediaTypeOf, YamlRequest } from "../content/index.ts";
import { header } from "../request/api-request.ts";
import type { Exchange } from "./exchange.ts";

/** What is sent on to another server is for that one to read. */
export function readYamlOf(exchange: Exchange): void {
  const { request, detour, scope, share } = exchange;
  if (detour !== undefined || scope?.kind !== "resource") return;
  const mediaType = mediaTypeOf(header(request.headers, "content-type"));
  if (!isYamlType(mediaType)) return;
  const turnOf = share === "" ? scope.cluster : share;
  exchange.request = new YamlRequest(request, { mediaType, turnOf, sender: exchange });
}

/** How much JSON it is; undefined when it came as something else, or is none. */
export function jsonBytes({ yaml }: Exchange): number | undefined {
  return yaml !== undefined && "json" in yaml ? yaml.json.length : undefined;
}
