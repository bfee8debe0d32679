/**
 * Creates the built-in exports of root with their schemas, and root's own bindings to them.
 * Existing objects stay unchanged, except the schemas of kinds that have changed.
 */
import { createHash } from "node:crypto";
import type { ResourceDefinition } from "@kcp-ts/apiserver/registry";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import { isJsonObject, type JsonObject, jsonEqual, stringifyJson } from "@kcp-ts/machinery/json";
import { rootCluster } from "@kcp-ts/machinery/names";
import { namesOfKind, type SystemKind } from "@kcp-ts/machinery/schema";
import { topologyKinds } from "../topology/index.ts";
import {
  clusterScoped,
  createIfAbsent,
  ensureObject,
  member,
  setCondition,
  systemWriteOptions,
  tenancyAnnotation,
  tenancyKinds,
  uncancelled,
} from "../workspaces/index.ts";
import { bindingFinalizer, exportLabel } from "./binding-metadata.ts";
import { cacheKinds } from "./cached-resources/kinds.ts";
import { type ApiSharingDependencies, keyOf } from "./dependencies.ts";
import { identityOf } from "./identity.ts";
import { apiBindings, apiExports, apiResourceSchemas, systemWrite } from "./kinds/definitions.ts";
import { exportHash } from "./kinds/hashes.ts";

interface SystemExport {
  readonly name: string;
  readonly kinds: readonly SystemKind[];
  /** Whether roles of root form a maximal permission policy of the export. */
  readonly hasPolicy: boolean;
}

const systemExports: readonly SystemExport[] = [
  { name: "tenancy.kcp.io", kinds: tenancyKinds.everywhere, hasPolicy: true },
  { name: "topology.kcp.io", kinds: topologyKinds, hasPolicy: false },
  { name: "shards.core.kcp.io", kinds: tenancyKinds.rootOnly, hasPolicy: false },
  { name: "cache.kcp.io", kinds: cacheKinds, hasPolicy: false },
];

/**
 * Schemas of built-in kinds skip the validation: these kinds are served already, and validating
 * them at every start of a test takes time.
 */
const ownSchemas: ResourceDefinition = {
  ...apiResourceSchemas,
  strategy: Object.create(apiResourceSchemas.strategy, { validate: { value: () => [] } }),
};

const metadata = { annotations: { [tenancyAnnotation.path]: rootCluster } };

export async function bootstrapExports(dependencies: ApiSharingDependencies): Promise<void> {
  for (const exported of systemExports) {
    const schemas = exported.kinds.map(schemaOf);
    for (const { name, spec } of schemas)
      await ensureObject(dependencies, ownSchemas, at(name), { metadata, spec });
    const resources = exported.kinds.map(({ group, resource: name }, index) => ({
      ...{ name, group, schema: schemas[index]?.name ?? "", storage: { crd: {} } },
    }));
    await ensureExport(dependencies, exported, resources);
    await ensureObject(dependencies, apiBindings, at(exported.name), bindingTo(exported.name));
  }
}

const at = (name: string) => clusterScoped(rootCluster, name);

/**
 * The name of a schema has the hash of its content, so that another server version creates another
 * schema.
 */
function schemaOf(kind: SystemKind): { readonly name: string; readonly spec: JsonObject } {
  const { group, version, resource, schema, columns = [], hasStatus = false } = kind;
  const spec: JsonObject = {
    group,
    scope: "Cluster",
    names: namesOfKind(kind),
    versions: [
      {
        ...{ name: version, served: true, storage: true, schema: withoutRules(schema) },
        additionalPrinterColumns: columns,
        ...(hasStatus ? { subresources: { status: {} } } : {}),
      },
    ],
  };
  const hash = createHash("sha256").update(stringifyJson(spec)).digest("hex").slice(0, 9);
  return { name: `v1-${hash}.${resource}.${group}`, spec };
}

/**
 * The schema without its CEL rules: the built-in kind enforces the rules, with the server's own
 * cost budget.
 */
function withoutRules(schema: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]) => {
      if (key === "x-kubernetes-validations") return [];
      return [[key, isJsonObject(value) ? withoutRules(value) : value]];
    }),
  );
}

async function ensureExport(
  dependencies: ApiSharingDependencies,
  { name, hasPolicy }: SystemExport,
  resources: readonly JsonObject[],
): Promise<void> {
  const key = keyOf(apiExports, rootCluster, name);
  const entry = await dependencies.watchCache.get(key, { kind: "latest" }, uncancelled);
  if (entry === undefined) return createExport(dependencies, name, hasPolicy, resources);
  if (jsonEqual(member(decodeObject(entry), "spec")["resources"] ?? [], [...resources])) return;
  const build = async (old: JsonObject | undefined) => ({
    ...old,
    spec: { ...member(old ?? {}, "spec"), resources },
  });
  const rules = { ...systemWriteOptions, subresource: systemWrite, isDerivedFromLive: true };
  await dependencies.registry.update(apiExports, at(name), build, rules);
}

/** Creates the export with its identity, so that every visible export can be bound. */
async function createExport(
  dependencies: ApiSharingDependencies,
  name: string,
  hasPolicy: boolean,
  resources: readonly JsonObject[],
): Promise<void> {
  const spec = { resources, ...(hasPolicy ? { maximalPermissionPolicy: { local: {} } } : {}) };
  const identity = await identityOf(dependencies, rootCluster, { metadata: { name }, spec });
  const { secretRef, hash, condition } = identity;
  await createIfAbsent(dependencies, apiExports, at(name), {
    metadata,
    spec: { ...spec, identity: { secretRef } },
    status: {
      identityHash: hash,
      conditions: setCondition([], condition, dependencies.clock.now()),
    },
  });
}

function bindingTo(name: string): JsonObject {
  return {
    metadata: {
      ...metadata,
      finalizers: [bindingFinalizer],
      labels: { [exportLabel]: exportHash(rootCluster, name) },
    },
    spec: { reference: { export: { path: rootCluster, name } } },
  };
}
