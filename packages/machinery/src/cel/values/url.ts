/**
 * URLs as Go's net/url reads them, which is what Kubernetes' URL functions and `format: uri` mean
 * by one. The platform's own URL class follows another standard and repairs what Go refuses.
 */
export interface ParsedUrl {
  readonly scheme: string;
  readonly userinfo: string | undefined;
  /** With the port. */
  readonly host: string;
  /** As it was written, unless it has to be escaped. */
  readonly escapedPath: string;
  readonly opaque: string;
  readonly query: string | undefined;
  readonly fragment: string | undefined;
}

/** What is wrong with a URL, in Go's words. */
export interface UrlProblem {
  readonly problem: string;
}

/**
 * An absolute URI or an absolute path. A fragment is cut off only after the whole was found valid
 * without one.
 */
export function parseRequestUri(text: string): ParsedUrl | UrlProblem {
  const strict = parse(text, { request: true });
  if ("problem" in strict) return { problem: `parse ${JSON.stringify(text)}: ${strict.problem}` };
  const hash = text.indexOf("#");
  if (hash === -1) return strict;
  const parsed = parse(text.slice(0, hash), { request: false });
  if ("problem" in parsed) return { problem: `parse ${JSON.stringify(text)}: ${parsed.problem}` };
  return { ...parsed, fragment: text.slice(hash + 1) };
}

export function urlText(url: ParsedUrl): string {
  let text = url.scheme === "" ? "" : `${url.scheme}:`;
  if (url.opaque !== "") text += url.opaque;
  else {
    if (url.scheme !== "" || url.host !== "" || url.userinfo !== undefined) {
      if (url.host !== "" || url.escapedPath !== "" || url.userinfo !== undefined) text += "//";
      if (url.userinfo !== undefined) text += `${url.userinfo}@`;
      text += url.host;
    }
    text += url.escapedPath;
  }
  if (url.query !== undefined) text += `?${url.query}`;
  return url.fragment === undefined ? text : `${text}#${url.fragment}`;
}

/** The host without its port and without the brackets of an IPv6 address. */
export function hostname({ host }: ParsedUrl): string {
  return splitHost(host).name;
}

export function port({ host }: ParsedUrl): string {
  return splitHost(host).port;
}

function splitHost(host: string): { name: string; port: string } {
  const colon = host.lastIndexOf(":");
  const hasPort = colon !== -1 && /^:\d*$/.test(host.slice(colon));
  const name = hasPort ? host.slice(0, colon) : host;
  return {
    name: name.startsWith("[") && name.endsWith("]") ? name.slice(1, -1) : name,
    port: hasPort ? host.slice(colon + 1) : "",
  };
}

/** Query parameters in order of their first appearance; malformed ones are left out. */
export function queryOf({ query = "" }: ParsedUrl): Map<string, string[]> {
  const values = new Map<string, string[]>();
  for (const part of query.split("&")) {
    if (part === "" || part.includes(";")) continue;
    const equals = part.indexOf("=");
    const key = unescapeQuery(equals === -1 ? part : part.slice(0, equals));
    const value = unescapeQuery(equals === -1 ? "" : part.slice(equals + 1));
    if (key === undefined || value === undefined) continue;
    const known = values.get(key);
    if (known === undefined) values.set(key, [value]);
    else known.push(value);
  }
  return values;
}

function unescapeQuery(text: string): string | undefined {
  return badEscape(text) === undefined ? decodePercent(text.replaceAll("+", " ")) : undefined;
}

function parse(text: string, { request }: { request: boolean }): ParsedUrl | UrlProblem {
  if (/[\x00-\x1f\x7f]/.test(text)) return { problem: "net/url: invalid control character in URL" };
  if (text === "" && request) return { problem: "empty url" };
  if (text === "*") return url({ escapedPath: "*" });
  const split = splitScheme(text);
  if ("problem" in split) return split;
  const { scheme } = split;
  const question = split.rest.indexOf("?");
  const query = question === -1 ? undefined : split.rest.slice(question + 1);
  let rest = question === -1 ? split.rest : split.rest.slice(0, question);
  if (!rest.startsWith("/")) {
    if (scheme !== "") return url({ scheme, opaque: rest, query });
    if (request) return { problem: "invalid URI for request" };
    if (rest.split("/")[0]?.includes(":")) {
      return { problem: "first path segment in URL cannot contain colon" };
    }
  }
  let authority: Authority | UrlProblem = { userinfo: undefined, host: "" };
  if ((scheme !== "" || (!request && !rest.startsWith("///"))) && rest.startsWith("//")) {
    const slash = rest.indexOf("/", 2);
    const end = slash === -1 ? rest.length : slash;
    authority = parseAuthority(rest.slice(2, end));
    if ("problem" in authority) return authority;
    rest = rest.slice(end);
  }
  const bad = badEscape(rest);
  if (bad !== undefined) return { problem: `invalid URL escape ${JSON.stringify(bad)}` };
  return url({ scheme, ...authority, escapedPath: escapePath(rest), query });
}

function url(parts: Partial<ParsedUrl>): ParsedUrl {
  return {
    scheme: "",
    userinfo: undefined,
    host: "",
    escapedPath: "",
    opaque: "",
    query: undefined,
    fragment: undefined,
    ...parts,
  };
}

function splitScheme(text: string): { scheme: string; rest: string } | UrlProblem {
  if (text.startsWith(":")) return { problem: "missing protocol scheme" };
  const match = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text);
  if (match === null) return { scheme: "", rest: text };
  return { scheme: String(match[1]).toLowerCase(), rest: text.slice(match[0].length) };
}

interface Authority {
  readonly userinfo: string | undefined;
  readonly host: string;
}

function parseAuthority(authority: string): Authority | UrlProblem {
  const at = authority.lastIndexOf("@");
  const host = parseHost(authority.slice(at + 1));
  if (typeof host !== "string") return host;
  if (at === -1) return { userinfo: undefined, host };
  const userinfo = authority.slice(0, at);
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(userinfo))
    return { problem: "net/url: invalid userinfo" };
  const bad = badEscape(userinfo);
  return bad === undefined
    ? { userinfo, host }
    : { problem: `invalid URL escape ${JSON.stringify(bad)}` };
}

function parseHost(host: string): string | UrlProblem {
  const bracket = host.startsWith("[") ? host.lastIndexOf("]") : -1;
  if (host.startsWith("[") && bracket === -1) return { problem: "missing ']' in host" };
  const colon = bracket === -1 ? host.lastIndexOf(":") : bracket + 1;
  const portText = colon === -1 ? "" : host.slice(colon);
  if (!/^(:\d*)?$/.test(portText)) {
    return { problem: `invalid port ${JSON.stringify(portText)} after host` };
  }
  const bad = badEscape(host);
  if (bad !== undefined) return { problem: `invalid URL escape ${JSON.stringify(bad)}` };
  const wrong = /[\x00-\x20"<>\\^`{|}]/.exec(host);
  if (wrong !== null)
    return { problem: `invalid character ${JSON.stringify(wrong[0])} in host name` };
  return host;
}

/** The first percent sign that does not start an escape, with what follows it. */
function badEscape(text: string): string | undefined {
  const match = /%(?![0-9A-Fa-f]{2})/.exec(text);
  return match === null ? undefined : text.slice(match.index, match.index + 3);
}

/** Each byte as a path has it. */
const ESCAPED_BYTES = Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  const isPlain = byte < 0x80 && /[A-Za-z0-9\-._~$&+,/:;=@]/.test(character);
  return isPlain ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
});

/**
 * Paths stay as they were written if every character is allowed in one, and are escaped otherwise.
 */
function escapePath(path: string): string {
  if (/^[A-Za-z0-9\-._~!$&'()*+,;=:@[\]/%]*$/.test(path)) return path;
  const decoded = decodePercent(path);
  let escaped = "";
  for (const byte of new TextEncoder().encode(decoded)) escaped += ESCAPED_BYTES[byte];
  return escaped;
}

function decodePercent(text: string): string {
  if (!text.includes("%")) return text;
  const encoder = new TextEncoder();
  const bytes: number[] = [];
  for (let i = 0; i < text.length; ) {
    if (text.charAt(i) === "%") {
      bytes.push(Number.parseInt(text.slice(i + 1, i + 3), 16));
      i += 3;
    } else {
      const end = text.indexOf("%", i);
      for (const byte of encoder.encode(text.slice(i, end === -1 ? text.length : end)))
        bytes.push(byte);
      i = end === -1 ? text.length : end;
    }
  }
  return new TextDecoder().decode(Uint8Array.from(bytes));
}
