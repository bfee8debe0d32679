/** Kubernetes' URL functions: `url`, `isURL`, `getHost` and their kin. */
import type { Library } from "../check/environment.ts";
import { fn, global, member } from "../check/function-declaration.ts";
import { fixedEstimate, traversalEstimate } from "../cost/call-estimate.ts";
import { firstArgumentCost } from "../cost/sizes.ts";
import { BOOL, listOf, mapOf, STRING, structType } from "../types/type.ts";
import { ArrayList, ValueMap } from "../values/collections.ts";
import { chargeSteps, chargeText } from "../values/step-counter.ts";
import {
  hostname,
  type ParsedUrl,
  parseRequestUri,
  port,
  queryOf,
  urlText,
} from "../values/url.ts";
import { CelError, CelObject, type CelResult } from "../values/value.ts";

export const URL_TYPE = structType("kubernetes.URL");

export class CelUrl extends CelObject {
  readonly typeName = URL_TYPE.name;
  readonly url: ParsedUrl;

  constructor(url: ParsedUrl) {
    super();
    this.url = url;
  }

  equals(other: CelObject): boolean {
    chargeText(this.url.escapedPath.length + (this.url.query?.length ?? 0), 4);
    return other instanceof CelUrl && urlText(this.url) === urlText(other.url);
  }
}

export const urlsLibrary: Library = {
  types: [URL_TYPE],
  functions: [
    fn(
      "url",
      global("string_to_url", [STRING], URL_TYPE, toUrl, {
        cost: firstArgumentCost,
        estimate: traversalEstimate({ sameSize: true }),
      }),
    ),
    fn(
      "isURL",
      global("is_url_string", [STRING], BOOL, (text: string) => !("problem" in parseCounted(text))),
    ),
    accessor("getScheme", "url_get_scheme", (url) => url.scheme),
    accessor("getHost", "url_get_host", (url) => url.host),
    accessor("getHostname", "url_get_hostname", hostname),
    accessor("getPort", "url_get_port", port),
    accessor("getEscapedPath", "url_get_escaped_path", (url) => url.escapedPath),
    fn(
      "getQuery",
      member("url_get_query", [URL_TYPE], mapOf(STRING, listOf(STRING)), query, {
        estimate: fixedEstimate(1),
      }),
    ),
  ],
};

function readCounted(url: ParsedUrl, read: (url: ParsedUrl) => string): string {
  chargeText(url.host.length, 4);
  return read(url);
}

function accessor(name: string, id: string, read: (url: ParsedUrl) => string) {
  return fn(
    name,
    member(id, [URL_TYPE], STRING, ({ url }: CelUrl) => readCounted(url, read), {
      estimate: fixedEstimate(1),
    }),
  );
}

const PARSE_STEPS = 64;

/** A dozen patterns read a URL, and each byte that is not plain is written anew. */
function parseCounted(text: string) {
  chargeSteps(text.length + PARSE_STEPS);
  return parseRequestUri(text);
}

function toUrl(text: string): CelResult {
  const url = parseCounted(text);
  if ("problem" in url)
    return new CelError(`URL parse error during conversion from string: ${url.problem}`);
  return new CelUrl(url);
}

function query({ url }: CelUrl): CelResult {
  chargeSteps((url.query?.length ?? 0) * 4 + PARSE_STEPS);
  const map = new ValueMap();
  for (const [key, values] of queryOf(url)) map.insert(key, new ArrayList(values));
  return map;
}
