/**
 * Decides naming conflicts in a logical cluster between built-in kinds, its own CRDs and bindings.
 * The oldest owner keeps a name; among bindings the order of the store decides, so that two
 * concurrent bindings agree on the winner.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { CrdNames } from "@kcp-ts/machinery/schema";
import { exportClusterOf } from "./bound-resource-catalog.ts";
import type { ApiSharingDependencies } from "./dependencies.ts";
import type { BindingRecord } from "./records.ts";
import type { StoredSchema } from "./schema-store.ts";

export interface NamingConflicts {
  /** The messages of the conflicts. */
  readonly conflicts: readonly string[];
  /** `<resource>.<group>` of the resources that this binding had, and older owners have. */
  readonly lost: ReadonlySet<string>;
}

interface NameOwner {
  readonly who: string;
  readonly group: string;
  readonly names: CrdNames;
  /** True also when this binding holds the name already. */
  readonly isFirst: boolean;
}

export async function namingConflicts(
  dependencies: ApiSharingDependencies,
  cluster: ClusterName,
  binding: string,
  schemas: readonly StoredSchema[],
): Promise<NamingConflicts> {
  const own = dependencies.bindings.inCluster(cluster)?.records.get(binding);
  const isOurs = (schema: StoredSchema) =>
    own?.bound.some(
      ({ resource, group }) =>
        resource === schema.shared.names.plural && group === schema.shared.group,
    ) === true;
  const groups = new Set(schemas.map(({ shared }) => shared.group));
  const holders = (await nameOwnersIn(dependencies, cluster, own, binding)).filter(({ group }) =>
    groups.has(group),
  );
  const conflicts: string[] = [];
  const lost = new Set<string>();
  for (const schema of schemas) {
    const { group, names } = schema.shared;
    for (const holder of holders) {
      if (holder.group !== group || (isOurs(schema) && !holder.isFirst)) continue;
      const clash = conflictOf(names, holder.names);
      if (clash === undefined) continue;
      conflicts.push(`naming conflict with ${holder.who}: spec.names.${clash} is forbidden`);
      lost.add(`${names.plural}.${group}`);
    }
  }
  return { conflicts, lost };
}

async function nameOwnersIn(
  dependencies: ApiSharingDependencies,
  cluster: ClusterName,
  own: BindingRecord | undefined,
  name: string,
): Promise<NameOwner[]> {
  const holders: NameOwner[] = dependencies.builtIns.map(({ resource, ...rest }) => ({
    who: `the built-in resource ${resource}.${rest.group}`,
    group: rest.group,
    names: { ...rest, plural: resource },
    isFirst: true,
  }));
  for (const { definition, group, names } of await dependencies.localDefinitionNames(cluster))
    holders.push({ who: `CustomResourceDefinition "${definition}"`, group, names, isFirst: false });
  for (const other of dependencies.bindings.inCluster(cluster)?.records.values() ?? []) {
    if (other.name === name) continue;
    for (const { schemaUid, schemaName } of other.bound) {
      const schema = await dependencies.schemas.get(schemaUid, exportClusterOf(other), schemaName);
      if (schema === undefined) continue;
      const { group, names } = schema.shared;
      const isFirst = own !== undefined && other.createdAt < own.createdAt;
      const path = dependencies.exportOf(other)?.path ?? exportClusterOf(other);
      const who = `APIBinding "${other.name}" bound to APIExport ${path}:${other.exportName}`;
      holders.push({ who, group, names, isFirst });
    }
  }
  return holders;
}

/** The first name that two kinds of a group cannot both have. */
function conflictOf(wanted: CrdNames, held: CrdNames): string | undefined {
  const resources = new Set([held.plural, held.singular, ...held.shortNames]);
  const kinds = new Set([held.kind, held.listKind]);
  resources.delete("");
  kinds.delete("");
  for (const field of ["plural", "singular"] as const)
    if (resources.has(wanted[field])) return `${field}=${wanted[field]}`;
  const short = wanted.shortNames.find((name) => resources.has(name));
  if (short !== undefined) return `shortNames=[${short}]`;
  for (const field of ["kind", "listKind"] as const)
    if (kinds.has(wanted[field])) return `${field}=${wanted[field]}`;
  return undefined;
}
