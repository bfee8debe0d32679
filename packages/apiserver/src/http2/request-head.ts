/** The fields of a header block as the head of a request, by the rules of RFC 9113, 8.2 and 8.3. */
import type { HeaderField } from "./header-decoder.ts";

export interface RequestHead {
  readonly method: string;
  readonly path: string;
  /** Names in lower case, `:authority` included; what came twice is joined. */
  readonly headers: Readonly<Record<string, string>>;
  /** As they came, each for itself: for headers whose values may hold commas. */
  readonly fields: readonly HeaderField[];
  /** As announced; undefined when nothing was. */
  readonly contentLength: number | undefined;
}

/** These speak about one connection, and HTTP/2 says such things in frames. */
const connectionNames = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/** Undefined when the request is malformed: its stream is then reset. */
export function readHead(fields: readonly HeaderField[]): RequestHead | undefined {
  // Without a prototype: names come from outside.
  const headers: Record<string, string> = Object.create(null);
  let method: string | undefined;
  let path: string | undefined;
  let scheme: string | undefined;
  let isPastPseudo = false;
  for (const { name, value, isValid } of fields) {
    if (!isValid) return undefined;
    if (name.charCodeAt(0) !== colon) {
      isPastPseudo = true;
      if (connectionNames.has(name) || (name === "te" && value !== "trailers")) return undefined;
      const before = headers[name];
      headers[name] =
        before === undefined ? value : `${before}${name === "cookie" ? "; " : ", "}${value}`;
      continue;
    }
    if (isPastPseudo) return undefined;
    if (name === ":method" && method === undefined) method = value;
    else if (name === ":path" && path === undefined) path = value;
    else if (name === ":scheme" && scheme === undefined) scheme = value;
    else if (name === ":authority" && headers[name] === undefined) headers[name] = value;
    else return undefined;
  }
  if (method === undefined || scheme === undefined || !path || method === "CONNECT")
    return undefined;
  const announced = headers["content-length"];
  if (announced === undefined) return { method, path, headers, fields, contentLength: undefined };
  if (!/^\d{1,15}$/.test(announced)) return undefined;
  return { method, path, headers, fields, contentLength: Number(announced) };
}

/** What follows a body: nothing that we use, but it must keep the rules, too. */
export function isTrailer(fields: readonly HeaderField[]): boolean {
  return fields.every(({ name, isValid }) => isValid && name.charCodeAt(0) !== colon);
}

const colon = 0x3a;
