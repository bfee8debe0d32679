/** The kinds of a logical cluster, discovered once and again when one is missing. */
import type { Client } from "@kcp-ts/sdk/client";
import { type ApiResource, RestMapper } from "@kcp-ts/sdk/discovery";
import { type Loaded, useLoaded } from "./loaded.ts";

const mappers = new WeakMap<Client, RestMapper>();

function mapperOf(client: Client): RestMapper {
  const known = mappers.get(client) ?? new RestMapper(client);
  mappers.set(client, known);
  return known;
}

/** Kinds that can be listed, each in its preferred version. */
export function useResources(client: Client): Loaded<readonly ApiResource[]> {
  return useLoaded(async (signal) => {
    const seen = new Set<string>();
    return (await mapperOf(client).resources({ signal })).filter(({ group, resource, verbs }) => {
      const isNew = !seen.has(`${resource}.${group}`);
      seen.add(`${resource}.${group}`);
      return isNew && verbs.includes("list");
    });
  }, client.basePath);
}

/**
 * The kind that a name such as `deployments.apps` means; its result is null if there is none.
 * Without a name nothing is asked.
 */
export function useResource(client: Client, name: string | undefined): Loaded<ApiResource | null> {
  return useLoaded(
    async (signal) => (await mapperOf(client).resolve(name ?? "", { signal })) ?? null,
    name === undefined ? undefined : `${client.basePath} ${name}`,
  );
}
