/**
 * Discovery as it was before Kubernetes 1.26: a list of groups, and a document for each version of
 * each group.
 */
import { isJsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { type CallOptions, type Client, TransportError } from "../client/index.ts";
import { objects, text, texts } from "./aggregated.ts";
import type { ApiGroup, ApiResource, ApiVersion, Discovery } from "./api-resource.ts";

export interface LegacyDocuments {
  /** `/api` */
  readonly core: JsonValue | undefined;
  /** `/apis` */
  readonly groups: JsonValue | undefined;
}

/** Concurrent requests for documents. */
const requestsMax = 16;

/** Limits of one server: it names its documents itself, and could name others for ever. */
export const legacyLimits = { documentsMax: 4000, resourcesMax: 20_000 } as const;

function throwIfBeyond(count: number, limit: number, what: string): void {
  if (count > limit)
    throw new TransportError("connection-lost", `discovery: limit is ${limit} ${what}`);
}

export async function discoverLegacy(
  client: Client,
  { core, groups }: LegacyDocuments,
  options: CallOptions,
): Promise<Discovery> {
  const wanted: { group: string; version: string }[] = [];
  for (const version of isJsonObject(core ?? null) ? texts(core as never, "versions") : []) {
    wanted.push({ group: "", version });
  }
  for (const group of objects(groups ?? null, "groups")) {
    for (const version of inOrder(group)) wanted.push({ group: text(group, "name"), version });
  }
  throwIfBeyond(wanted.length, legacyLimits.documentsMax, "versions of groups");
  const failures = new Map<string, unknown>();
  const versions = new Map<string, ApiVersion[]>();
  let resources = 0;
  for (let at = 0; at < wanted.length; at += requestsMax) {
    const batch = wanted.slice(at, at + requestsMax);
    const answers = await Promise.all(
      batch.map(async ({ group, version }) => {
        try {
          return await fetchVersion(client, group, version, options);
        } catch (error) {
          options.signal?.throwIfAborted();
          failures.set(group === "" ? version : `${group}/${version}`, error);
          return { version, isStale: true, resources: [] };
        }
      }),
    );
    for (const [i, { group }] of batch.entries()) {
      const answer = answers[i] as ApiVersion;
      resources += answer.resources.length;
      throwIfBeyond(resources, legacyLimits.resourcesMax, "resources");
      versions.set(group, [...(versions.get(group) ?? []), answer]);
    }
  }
  const found: ApiGroup[] = [...versions].map(([name, list]) => ({ name, versions: list }));
  return { groups: found, failures };
}

/** The preferred version first. */
function inOrder(group: Parameters<typeof text>[0]): string[] {
  const preferred = isJsonObject(group["preferredVersion"])
    ? text(group["preferredVersion"], "version")
    : "";
  const all = objects(group, "versions").map((one) => text(one, "version"));
  return [...all.filter((one) => one === preferred), ...all.filter((one) => one !== preferred)];
}

async function fetchVersion(
  client: Client,
  group: string,
  version: string,
  { signal }: CallOptions,
): Promise<ApiVersion> {
  const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const document = await client.json({ method: "GET", path, signal, mayBeLong: true });
  const all = objects(document, "resources").map((one) => ({ one, name: text(one, "name") }));
  const subresources = new Map<string, ApiResource["subresources"][number][]>();
  for (const { one, name } of all) {
    const slash = name.indexOf("/");
    if (slash < 0) continue;
    const parent = name.slice(0, slash);
    const siblings = subresources.get(parent) ?? [];
    subresources.set(parent, siblings);
    siblings.push({
      name: name.slice(slash + 1),
      kind: text(one, "kind"),
      verbs: texts(one, "verbs"),
    });
  }
  const resources = all
    .filter(({ name }) => !name.includes("/"))
    .map(({ one, name }) => ({
      group,
      version,
      resource: name,
      kind: text(one, "kind"),
      namespaced: one["namespaced"] === true,
      singular: text(one, "singularName"),
      verbs: texts(one, "verbs"),
      shortNames: texts(one, "shortNames"),
      categories: texts(one, "categories"),
      subresources: subresources.get(name) ?? [],
    }));
  return { version, isStale: false, resources };
}
