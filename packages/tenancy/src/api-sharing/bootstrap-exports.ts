/** Makes the exports of root that are there from the start, with their schemas, and root's own bindings to them. What is there stays, but for schemas of kinds that have changed. */
import { createHash } from "node:crypto";
import type { SystemKind } from "@kcp-ts/apiserver/custom-resources";
import type { ResourceDefinition } from "@kcp-ts/apiserver/registry";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import { isJsonObject, type JsonObject, jsonEqual, stringifyJson } from "@kcp-ts/machinery/json";
import { rootCluster } from "@kcp-ts/machinery/names";
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
import { cacheKinds } from "./cached-resources/kinds.ts";
import { identityOf } from "./identity.ts";
import { apiBindings, apiExports, apiResourceSchemas, systemWrite } from "./kinds/definitions.ts";
import { exportHash } from "./kinds/hashes.ts";
import { bindingFinalizer, exportLabel } from "./marks.ts";
import { type ApiSharingDependencies, keyOf } from "./parts.ts";

interface SystemExport {
  readonly name: string;
  readonly kinds: readonly SystemKind[];
  /** Whether roles of root limit what others do with it. */
  readonly hasPolicy: boolean;
}

const systemExports: readonly SystemExport[] = [
  { name: "tenancy.kcp.io", kinds: tenancyKinds.everywhere, hasPolicy: true },
  { name: "topology.kcp.io", kinds: topologyKinds, hasPolicy: false },
  { name: "shards.core.kcp.io", kinds: tenancyKinds.rootOnly, hasPolicy: false },
  { name: "cache.kcp.io", kinds: cacheKinds, hasPolicy: false },
];

/** Of kinds that are served already: nobody need judge their schemas again, at every start of a test. */
const ownSchemas: ResourceDefinition = {
  ...apiResourceSchemas,
  strategy: Object.create(apiResourceSchemas.strategy, { validate: { value: () => [] } }),
};

const metadata = { annotations: { [tenancyAnnotation.path]: rootCluster } };

export async function bootstrapExports(parts: ApiSharingDependencies): Promise<void> {
  for (const exported of systemExports) {
    const schemas = exported.kinds.map(schemaOf);
    for (const { name, spec } of schemas)
      await ensureObject(parts, ownSchemas, at(name), { metadata, spec });
    const resources = exported.kinds.map(({ group, resource: name }, index) => ({
      ...{ name, group, schema: schemas[index]?.name ?? "", storage: { crd: {} } },
    }));
    await ensureExport(parts, exported, resources);
    await ensureObject(parts, apiBindings, at(exported.name), bindingTo(exported.name));
  }
}

const at = (name: string) => clusterScoped(rootCluster, name);

/** Named by what is in it, so that another server version brings another schema. */
function schemaOf(kind: SystemKind): { readonly name: string; readonly spec: JsonObject } {
  const { group, version, resource, schema, columns, hasStatus } = kind;
  const spec: JsonObject = {
    group,
    scope: "Cluster",
    names: {
      plural: resource,
      singular: kind.kind.toLowerCase(),
      kind: kind.kind,
      listKind: `${kind.kind}List`,
      shortNames: [...(kind.shortNames ?? [])],
      categories: [...(kind.categories ?? [])],
    },
    versions: [
      {
        ...{ name: version, served: true, storage: true, schema: withoutRules(schema) },
        additionalPrinterColumns: [...columns],
        ...(hasStatus ? { subresources: { status: {} } } : {}),
      },
    ],
  };
  const hash = createHash("sha256").update(stringifyJson(spec)).digest("hex").slice(0, 9);
  return { name: `v1-${hash}.${resource}.${group}`, spec };
}

/** Rules are kept by the kind as it is served, whose budget is the server's own. */
function withoutRules(schema: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]) => {
      if (key === "x-kubernetes-validations") return [];
      return [[key, isJsonObject(value) ? withoutRules(value) : value]];
    }),
  );
}

async function ensureExport(
  parts: ApiSharingDependencies,
  { name, hasPolicy }: SystemExport,
  resources: readonly JsonObject[],
): Promise<void> {
  const key = keyOf(apiExports, rootCluster, name);
  const entry = await parts.watchCache.get(key, { kind: "latest" }, uncancelled);
  if (entry === undefined) return createExport(parts, name, hasPolicy, resources);
  if (jsonEqual(member(decodeObject(entry), "spec")["resources"] ?? [], [...resources])) return;
  const build = async (old: JsonObject | undefined) => ({
    ...old,
    spec: { ...member(old ?? {}, "spec"), resources },
  });
  const rules = { ...systemWriteOptions, subresource: systemWrite, isDerived: true };
  await parts.registry.update(apiExports, at(name), build, rules);
}

/** With its identity: whoever sees the export can bind to it. */
async function createExport(
  parts: ApiSharingDependencies,
  name: string,
  hasPolicy: boolean,
  resources: readonly JsonObject[],
): Promise<void> {
  const spec = { resources, ...(hasPolicy ? { maximalPermissionPolicy: { local: {} } } : {}) };
  const identity = await identityOf(parts, rootCluster, { metadata: { name }, spec });
  const { secretRef, hash, condition } = identity;
  await createIfAbsent(parts, apiExports, at(name), {
    metadata,
    spec: { ...spec, identity: { secretRef } },
    status: { identityHash: hash, conditions: setCondition([], condition, parts.clock.now()) },
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
