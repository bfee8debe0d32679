/**
 * Discovers the APIs of a server: by aggregated discovery where the server supports it, else
 * document by document.
 */
import type { JsonValue } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type CallOptions, type Client, headerText } from "../client/index.ts";
import { aggregatedAccept, isAggregated, readAggregated } from "./aggregated.ts";
import type { Discovery } from "./api-resource.ts";
import { discoverLegacy } from "./legacy.ts";

export async function discover(client: Client, options: CallOptions = {}): Promise<Discovery> {
  const [core, groups] = await Promise.all([
    fetchRoot(client, "/api", options),
    fetchRoot(client, "/apis", options),
  ]);
  // A server that aggregates only one of the two documents is discovered document by document, as
  // Go clients do: half of the APIs would be lost otherwise.
  if (core?.isAggregated !== false && groups?.isAggregated !== false) {
    const all = [core, groups].flatMap((one) =>
      one === undefined ? [] : readAggregated(one.document),
    );
    const stale = all.flatMap(({ name, versions }) =>
      versions.filter(({ isStale }) => isStale).map(({ version }) => `${name}/${version}`),
    );
    const reason = new Error("the server's own knowledge of this version is stale");
    return { groups: all, failures: new Map(stale.map((one) => [one, reason])) };
  }
  return discoverLegacy(
    client,
    {
      core: await legacyRoot(client, "/api", core, options),
      groups: await legacyRoot(client, "/apis", groups, options),
    },
    options,
  );
}

interface Root {
  readonly document: JsonValue;
  readonly isAggregated: boolean;
}

/** Undefined when the server has no such document: for example a server without a core group. */
async function fetchRoot(
  client: Client,
  path: string,
  { signal }: CallOptions,
  accept = aggregatedAccept,
): Promise<Root | undefined> {
  try {
    const request = { method: "GET", path, headers: { accept }, signal, mayBeLong: true } as const;
    const { headers, value } = await client.document(request);
    return { document: value, isAggregated: isAggregated(headerText(headers, "content-type")) };
  } catch (error) {
    if (isStatusError(error, "NotFound")) return undefined;
    throw error;
  }
}

async function legacyRoot(
  client: Client,
  path: string,
  root: Root | undefined,
  options: CallOptions,
): Promise<JsonValue | undefined> {
  if (root === undefined || !root.isAggregated) return root?.document;
  return (await fetchRoot(client, path, options, "application/json"))?.document;
}
