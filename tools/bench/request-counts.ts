/** The requests that a server has answered, by verb, resource and status: from its metrics. */
import type { ApiClient } from "./api-client.ts";

/** By `LIST deployments 200`. */
export type RequestCounts = ReadonlyMap<string, number>;

/** Requests of paths that are no resources, such as the metrics themselves, are left out. */
export async function requestCountsOf(client: ApiClient): Promise<RequestCounts> {
  const text = (await client.must("GET", "/metrics")).toString("utf8");
  const counts = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, labels, figure] = /^apiserver_request_total\{(.*)\} (\d+)$/.exec(line) ?? [];
    if (labels === undefined) continue;
    const { verb, resource, subresource, code } = labelsOf(labels);
    if (resource === undefined || resource === "") continue;
    const what = `${verb} ${resource}${subresource ? `/${subresource}` : ""} ${code}`;
    counts.set(what, (counts.get(what) ?? 0) + Number(figure));
  }
  return counts;
}

function labelsOf(text: string): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    [...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  );
}

/** The requests that were answered between two readings. */
export function requestsBetween(before: RequestCounts, after: RequestCounts): RequestCounts {
  const between = new Map<string, number>();
  for (const [what, count] of after) {
    const more = count - (before.get(what) ?? 0);
    if (more > 0) between.set(what, more);
  }
  return between;
}
