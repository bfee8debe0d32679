/**
 * Reads the APIs of a cluster: discovery for the names, the cluster's own CustomResourceDefinitions
 * where they exist, else OpenAPI (version 3, or 2 from older servers) for the schemas.
 */
import { runSyncFirst, yieldToEventLoop } from "@kcp-ts/machinery/base";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { readCustomResourceDefinition } from "@kcp-ts/machinery/schema";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type ApiResource, type ApiVersion, type Client, discover } from "@kcp-ts/sdk";
import { customResourceDefinitions } from "@kcp-ts/sdk/kinds";
import type { ImportedApi } from "./imported-api.ts";
import { OpenApiModels } from "./openapi-models.ts";
import { structuralSchemaYielding, UnusableModelError } from "./structural-schema.ts";

export interface ImportOptions {
  readonly signal: AbortSignal;
  /** `deployments.apps` or `services`; all resources that can be synced if omitted. */
  readonly resources?: readonly string[] | undefined;
  /** The versions of a resource to import; the version that the cluster prefers if omitted. */
  readonly versions?: "preferred" | "all" | undefined;
  /** Those of the resources that are not reported when the cluster does not serve them. */
  readonly optional?: ReadonlySet<string> | undefined;
  /** Resources to exclude, by `resource.group`, even if requested. */
  readonly without?: ReadonlySet<string> | undefined;
}

export interface ImportResult {
  readonly apis: readonly ImportedApi[];
  /**
   * Requested or discovered resources that cannot be imported, by `resource.group`, with the
   * reason.
   */
  readonly skipped: ReadonlyMap<string, string>;
  /**
   * False when the cluster could not list all of its APIs: an API that is missing here may exist.
   */
  readonly isComplete: boolean;
  /** The selected resources, imported or not, by `versionedName`. */
  readonly served: ReadonlySet<string>;
}

/** A cluster has some hundred APIs; further APIs are ignored, and reported. */
export const importedApisMax = 1000;
/** All schemas of a cluster in sum: as with the APIs, the rest is ignored, and reported. */
const schemaCharactersMax = 32 << 20;

export async function importApis(client: Client, options: ImportOptions): Promise<ImportResult> {
  const { groups, failures } = await discover(client, { signal: options.signal });
  const skipped = new Map<string, string>();
  for (const [version, reason] of failures)
    skipped.set(version, reason instanceof Error ? reason.message : String(reason));
  const chosen = groups.flatMap(({ versions }) => chosenOf(versions, options));
  for (const resource of chosen.splice(importedApisMax))
    skipped.set(nameOf(resource), `the cluster has more than ${importedApisMax} APIs`);
  const served = new Set(chosen.map(versionedName));
  const schemas = new SchemaSource(client, options.signal);
  const apis: ImportedApi[] = [];
  let characters = 0;
  for (const resource of chosen) {
    // Small schemas are converted without yielding, and there may be a thousand of them.
    await yieldToEventLoop();
    try {
      const api = await schemas.describe(resource);
      await yieldToEventLoop();
      characters += JSON.stringify(api.schema).length;
      if (characters > schemaCharactersMax)
        throw new UnusableModelError(
          `the schemas of the cluster have more than ${schemaCharactersMax} characters in sum: name fewer resources in the SyncTarget`,
        );
      apis.push(api);
    } catch (error) {
      if (!(error instanceof UnusableModelError)) throw error;
      skipped.set(nameOf(resource), error.message);
    }
  }
  for (const name of options.resources ?? []) {
    if (options.without?.has(name) || options.optional?.has(name)) continue;
    const isFound = apis.some((api) => nameOf({ ...api, resource: api.plural }) === name);
    if (!isFound && !skipped.has(name)) skipped.set(name, "the cluster does not serve it");
  }
  return { apis, skipped, isComplete: failures.size === 0, served };
}

/** Versions are in the cluster's order: the preferred one is the first that has the resource. */
function chosenOf(
  versions: readonly ApiVersion[],
  { resources, versions: which, without }: ImportOptions,
): ApiResource[] {
  const wanted = resources === undefined ? undefined : new Set(resources);
  const chosen: ApiResource[] = [];
  const seen = new Set<string>();
  for (const { resources: served } of versions) {
    for (const resource of served) {
      const name = nameOf(resource);
      if (without?.has(name) || (seen.has(name) && which !== "all")) continue;
      seen.add(name);
      if (wanted?.has(name) ?? isSyncable(resource)) chosen.push(resource);
    }
  }
  return chosen;
}

/** `deployments.apps`; the core group has no suffix. */
export function nameOf({ resource, group }: { resource: string; group: string }): string {
  return group === "" ? resource : `${resource}.${group}`;
}

/** `deployments.v1.apps`; the core group is `core`. */
export function versionedName(api: { resource: string; version: string; group: string }): string {
  return `${api.resource}.${api.version}.${api.group === "" ? "core" : api.group}`;
}

function isSyncable({ verbs, resource }: ApiResource): boolean {
  const needed = ["list", "watch", "create", "update", "delete"];
  return !resource.includes("/") && needed.every((verb) => verbs.includes(verb));
}

const definitionsPerPage = 50;

class SchemaSource {
  readonly #client: Client;
  readonly #signal: AbortSignal;
  readonly #models = new Map<string, Promise<OpenApiModels>>();
  #definitions: Promise<ReadonlyMap<string, JsonObject>> | undefined;

  constructor(client: Client, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  async describe(resource: ApiResource): Promise<ImportedApi> {
    const { group, version, kind } = resource;
    const named = {
      group,
      version,
      kind,
      plural: resource.resource,
      singular: resource.singular || kind.toLowerCase(),
      listKind: `${kind}List`,
      shortNames: resource.shortNames,
      categories: resource.categories,
      scope: resource.namespaced ? "Namespaced" : "Cluster",
      hasStatus: resource.subresources.some(({ name }) => name === "status"),
      hasScale: resource.subresources.some(({ name }) => name === "scale"),
    } as const;
    const custom = await this.#custom(resource);
    if (custom !== undefined) return { ...named, ...custom };
    const models = await this.#modelsOf(resource);
    const name = models.nameOf({ group, version, kind });
    if (name === undefined)
      throw new UnusableModelError(`the cluster does not describe ${kind} of ${group}/${version}`);
    return {
      ...named,
      schema: await runSyncFirst(structuralSchemaYielding(models, name)),
      columns: [],
    };
  }

  /**
   * Imports from the definition in the cluster, which has columns, and validation rules that
   * OpenAPI omits.
   */
  async #custom({ resource, group, version }: ApiResource) {
    this.#definitions ??= this.#readDefinitions();
    const json = (await this.#definitions).get(`${resource}.${group === "" ? "core" : group}`);
    if (json === undefined) return undefined;
    const { definition } = readCustomResourceDefinition(json);
    const found = definition.spec.versions.find(({ name }) => name === version);
    const unvalidated: JsonObject = {
      type: "object",
      "x-kubernetes-preserve-unknown-fields": true,
    };
    const schema = isStructural(json)
      ? ((found?.schema ?? unvalidated) as JsonObject)
      : unvalidated;
    return { schema, columns: found?.printerColumns ?? [] };
  }

  /** Lists in pages: the definitions of a large cluster exceed the limit of one response. */
  async #readDefinitions(): Promise<ReadonlyMap<string, JsonObject>> {
    const definitions = new Map<string, JsonObject>();
    const read = this.#client
      .resource(customResourceDefinitions)
      .batches({ pageSize: definitionsPerPage, signal: this.#signal });
    try {
      for await (const batch of read)
        for (const item of batch)
          definitions.set(item.metadata.name, item as unknown as JsonObject);
    } catch (error) {
      if (!isStatusError(error, "NotFound") && !isStatusError(error, "Forbidden")) throw error;
    }
    return definitions;
  }

  #modelsOf({ group, version }: ApiResource): Promise<OpenApiModels> {
    const path =
      group === "" ? `/openapi/v3/api/${version}` : `/openapi/v3/apis/${group}/${version}`;
    return this.#cached(path, async () => {
      const document = await this.#getOptional(path);
      if (document !== undefined) return await runSyncFirst(OpenApiModels.ofYielding(document));
      return await this.#cached("/openapi/v2", async () => {
        const older = await this.#getOptional("/openapi/v2");
        if (older === undefined) throw new UnusableModelError("the cluster has no OpenAPI");
        return await runSyncFirst(OpenApiModels.ofYielding(older));
      });
    });
  }

  #cached(path: string, load: () => Promise<OpenApiModels>): Promise<OpenApiModels> {
    let models = this.#models.get(path);
    if (models === undefined) {
      models = load();
      this.#models.set(path, models);
    }
    return models;
  }

  /** Undefined when the document does not exist or is forbidden: other sources are tried then. */
  async #getOptional(path: string): Promise<JsonValue | undefined> {
    try {
      return await this.#client.json({ method: "GET", path, signal: this.#signal });
    } catch (error) {
      if (isStatusError(error, "NotFound") || isStatusError(error, "Forbidden")) return undefined;
      throw error;
    }
  }
}

function isStructural(definition: JsonObject): boolean {
  const { conditions } = (definition["status"] ?? {}) as {
    conditions?: readonly { type: string; status: string }[];
  };
  return !conditions?.some(
    ({ type, status }) => type === "NonStructuralSchema" && status === "True",
  );
}
