/**
 * Query strings in the order given; members that are undefined, false or empty are left out, as
 * Kubernetes clients do.
 */
export type QueryValue = string | number | boolean | undefined;

export function withQuery(path: string, query: Readonly<Record<string, QueryValue>>): string {
  let text = path;
  let separator = path.includes("?") ? "&" : "?";
  for (const name in query) {
    const value = query[name];
    if (value === undefined || value === false || value === "") continue;
    text += `${separator}${name}=${encodeURIComponent(value)}`;
    separator = "&";
  }
  return text;
}
