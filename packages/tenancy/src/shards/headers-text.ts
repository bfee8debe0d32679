/** The headers of a request as they are sent to another shard: JSON, the same for equal headers. */
import type { ApiRequest } from "@kcp-ts/apiserver/request/api-request";

/** Headers that say something about one connection only. */
const notForwarded: ReadonlySet<string> = new Set([
  "host",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "content-length",
  "te",
  "trailer",
  "expect",
  "x-kubernetes-cluster",
]);

/**
 * JSON of the headers of a request. Repeated headers stay apart: their values may contain commas.
 */
export function headersTextOf(
  request: ApiRequest,
  { isUpgrade, hasCredentials }: { readonly isUpgrade: boolean; readonly hasCredentials: boolean },
): string {
  const { headers } = request;
  const sent: Record<string, string | readonly string[]> = {};
  let mayRepeat = false;
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || notForwarded.has(name) || name.charCodeAt(0) === 58) continue;
    if (!isUpgrade && (name === "connection" || name === "upgrade")) continue;
    if (!hasCredentials && name === "authorization") continue;
    if (typeof value !== "string") sent[name] = value;
    else {
      sent[name] = value;
      mayRepeat ||= value.includes(",");
    }
  }
  if (mayRepeat) keepApart(sent, request.rawHeaders);
  return JSON.stringify(sent);
}

function keepApart(
  sent: Record<string, string | readonly string[]>,
  raw: readonly string[] | undefined,
): void {
  if (raw === undefined) return;
  const all = new Map<string, string[]>();
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = (raw[at] as string).toLowerCase();
    if (!Object.hasOwn(sent, name)) continue;
    const values = all.get(name);
    if (values === undefined) all.set(name, [raw[at + 1] as string]);
    else values.push(raw[at + 1] as string);
  }
  for (const [name, values] of all) if (values.length > 1) sent[name] = values;
}
