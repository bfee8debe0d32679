/**
 * The kinds that a server serves, with their schemas: discovery lists the kinds, OpenAPI v3 has
 * their schemas.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type ApiResource, type Client, discover } from "@kcp-ts/sdk";
import type { KindSource } from "./kind-file.ts";

const kindExtension = "x-kubernetes-group-version-kind";

export async function kindsOfCluster(client: Client): Promise<readonly KindSource[]> {
  const { groups } = await discover(client);
  const versions = groups.flatMap(({ name, versions }) =>
    versions.map(({ version, resources }) => ({ group: name, version, resources })),
  );
  const found = await Promise.all(
    versions.map(async ({ group, version, resources }) => {
      const path = group === "" ? `api/${version}` : `apis/${group}/${version}`;
      const definitions = await definitionsAt(client, `/openapi/v3/${path}`);
      return resources.flatMap((resource) => source(resource, definitions) ?? []);
    }),
  );
  return found.flat();
}

async function definitionsAt(client: Client, path: string): Promise<Map<string, JsonObject>> {
  try {
    const document = await client.json({ method: "GET", path });
    const components = member(document, "components");
    const schemas = member(components, "schemas");
    if (!isJsonObject(schemas)) return new Map();
    return new Map(
      Object.entries(schemas).filter((entry): entry is [string, JsonObject] =>
        isJsonObject(entry[1]),
      ),
    );
  } catch (error) {
    // Groups without an OpenAPI document get types, too: with undescribed content.
    if (isStatusError(error, "NotFound")) return new Map();
    throw error;
  }
}

function source(
  { group, version, kind, resource, namespaced }: ApiResource,
  definitions: ReadonlyMap<string, JsonObject>,
): KindSource {
  const isThis = (schema: JsonObject) => {
    const kinds = schema[kindExtension];
    return (
      Array.isArray(kinds) &&
      kinds.some(
        (one) =>
          member(one, "group") === group &&
          member(one, "version") === version &&
          member(one, "kind") === kind,
      )
    );
  };
  const schema = [...definitions.values()].find(isThis) ?? {};
  return { group, version, kind, resource, namespaced, schema, definitions };
}

function member(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
