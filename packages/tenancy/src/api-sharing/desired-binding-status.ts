/**
 * Computes the desired status of an APIBinding: its bound resources, its applied claims, and the
 * reasons of failures.
 *
 * Admission computes the status of a new binding, whose response is complete, and the controller
 * that of an existing one.
 */
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listOf,
  stringifyJson,
  textOf,
} from "@kcp-ts/machinery/json";
import { type ClusterName, parseClusterReference } from "@kcp-ts/machinery/names";
import {
  type Condition,
  conditionsOf,
  findCondition,
  member,
  setCondition,
} from "../workspaces/index.ts";
import { isCachedStorage } from "./cached-resources/records.ts";
import { type ApiSharingDependencies, exportIn } from "./dependencies.ts";
import { evaluateClaims } from "./evaluate-claims.ts";
import { namingConflicts } from "./naming-conflicts.ts";
import { type Claim, claimsOf, type ExportRecord } from "./records.ts";
import type { StoredSchema } from "./schema-store.ts";
import { isSystemExport } from "./system-exports.ts";

export interface DesiredBindingStatus {
  readonly status: JsonObject;
  /** Accepted claims that are not applied yet, and rejected claims that are not withdrawn yet. */
  readonly unapplied: readonly Claim[];
  /** Accepted claims. */
  readonly accepted: readonly Claim[];
  readonly export: ExportRecord | undefined;
  /** Whether a bound resource has another schema than before. */
  readonly hasChangedSchemas: boolean;
}

export interface DesiredBindingStatusOptions {
  /** The claims whose objects have been labelled. */
  readonly labelled: readonly Claim[] | undefined;
}

export async function desiredBindingStatus(
  dependencies: ApiSharingDependencies,
  cluster: ClusterName,
  binding: JsonObject,
  options: DesiredBindingStatusOptions = { labelled: undefined },
): Promise<DesiredBindingStatus> {
  const before = member(binding, "status");
  const { path, name } = member(member(member(binding, "spec"), "reference"), "export");
  const exportCluster = await resolveExportPath(dependencies, cluster, textOf(path));
  const record =
    exportCluster === undefined
      ? undefined
      : await exportIn(dependencies, exportCluster, textOf(name));
  const at = dependencies.clock.now();
  if (record === undefined)
    return {
      status: unresolved(before, notFound(textOf(path) || cluster, textOf(name)), at),
      unapplied: [],
      accepted: [],
      export: undefined,
      hasChangedSchemas: false,
    };
  if (record.identityHash === "")
    return {
      status: unresolved(before, noIdentity(record), at),
      unapplied: [],
      accepted: [],
      export: record,
      hasChangedSchemas: false,
    };
  const bound = await boundResources(dependencies, cluster, binding, record);
  const answered = claimsOf(member(binding, "spec")["permissionClaims"], "selector");
  const { valid, applied } = evaluateClaims(record.claims, answered);
  const appliedBefore = options.labelled ?? claimsOf(before["appliedPermissionClaims"], "selector");
  const unapplied = differenceOf(applied, appliedBefore);
  const claims = { valid, applied: unapplied.length > 0 ? undefined : applied };
  return {
    status: resolved(before, record, bound, claims, at),
    unapplied,
    accepted: applied,
    export: record,
    hasChangedSchemas: bound.hasChangedSchemas,
  };
}

/** The logical cluster of a reference to an export. */
export async function resolveExportPath(
  { resolve }: Pick<ApiSharingDependencies, "resolve">,
  own: ClusterName,
  path: string,
): Promise<ClusterName | undefined> {
  if (path === "") return own;
  const reference = parseClusterReference(path);
  if (reference === undefined) return undefined;
  if (typeof reference === "string") return reference;
  const resolution = await resolve(reference);
  return resolution.kind === "cluster" ? resolution.cluster : undefined;
}

function notFound(path: string, name: string): Condition {
  return {
    type: "APIExportValid",
    status: "False",
    severity: "Error",
    reason: "APIExportNotFound",
    message: `APIExport ${path}|${name} not found`,
  };
}

function noIdentity({ path, name }: ExportRecord): Condition {
  return {
    type: "APIExportValid",
    status: "False",
    severity: "Warning",
    reason: "MissingIdentityHash",
    message: `APIExport ${path}|${name} is missing status.identityHash`,
  };
}

/** Bound resources stay bound when the export is missing or invalid. */
function unresolved(before: JsonObject, condition: Condition, nowMs: number): JsonObject {
  const conditions = setCondition(conditionsOf(before), condition, nowMs);
  return withSummary({ phase: "Binding", ...before, conditions }, nowMs);
}

interface BoundResources {
  readonly resources: readonly JsonObject[];
  readonly problem: { readonly reason: string; readonly message: string } | undefined;
  readonly hasChangedSchemas: boolean;
}

async function boundResources(
  dependencies: ApiSharingDependencies,
  cluster: ClusterName,
  binding: JsonObject,
  record: ExportRecord,
): Promise<BoundResources> {
  const before = listOf(member(binding, "status")["boundResources"]).filter(isJsonObject);
  const schemas: StoredSchema[] = [];
  for (const { schema, virtual } of record.resources) {
    const isElsewhere = dependencies.replicas?.shardOf(record.cluster) !== undefined;
    const isKnown = virtual === undefined || (isCachedStorage(virtual) && !isElsewhere);
    const found = isKnown ? await dependencies.schemas.current(record.cluster, schema) : undefined;
    if (found === undefined) {
      const message = !isKnown
        ? `the resource of ${schema} has a storage that is not supported ${isElsewhere ? "across shards" : "here"}`
        : `APIResourceSchema ${record.path}|${schema} not found`;
      return {
        resources: before,
        problem: { reason: "APIResourceSchemaInvalid", message },
        hasChangedSchemas: false,
      };
    }
    schemas.push(found);
  }
  if (isSystemExport(record.cluster, record.name)) {
    const resources = schemas.map((schema) => boundResource(schema, record, undefined));
    return { resources, problem: undefined, hasChangedSchemas: false };
  }
  const name = textOf(member(binding, "metadata")["name"]);
  const { conflicts, lost } = await namingConflicts(dependencies, cluster, name, schemas);
  const kept = before.filter((one) => !lost.has(nameOf(one)));
  if (conflicts.length > 0) {
    const message = `Unable to bind APIs: ${conflicts.join(", ")}`;
    return {
      resources: kept,
      problem: { reason: "NamingConflicts", message },
      hasChangedSchemas: false,
    };
  }
  let hasChangedSchemas = false;
  const resources = schemas.map((schema) => {
    const old = before.find((one) => nameOf(one) === nameIn(schema));
    const oldUid = member(old ?? {}, "schema")["UID"];
    if (oldUid !== undefined && oldUid !== schema.uid) hasChangedSchemas = true;
    return boundResource(schema, record, old);
  });
  for (const { uid, name: schemaName } of schemas)
    await dependencies.schemas.copy(uid, record.cluster, schemaName);
  return { resources, problem: undefined, hasChangedSchemas };
}

function nameOf(bound: JsonObject): string {
  return `${textOf(bound["resource"])}.${textOf(bound["group"])}`;
}

function nameIn({ shared }: StoredSchema): string {
  return `${shared.names.plural}.${shared.group}`;
}

function boundResource(
  { name, uid, shared }: StoredSchema,
  { identityHash, resources }: ExportRecord,
  old: JsonObject | undefined,
): JsonObject {
  const isVirtual = resources.some(
    ({ schema, virtual }) => schema === name && virtual !== undefined,
  );
  const bound = {
    group: shared.group,
    resource: shared.names.plural,
    schema: { name, UID: uid, identityHash },
  };
  if (isVirtual) return bound;
  const versions = listOf(old?.["storageVersions"]).map(textOf);
  return {
    ...bound,
    storageVersions: versions.includes(shared.storageVersion)
      ? versions
      : [...versions, shared.storageVersion].sort(),
  };
}

/** The claims of one list without an equal claim in the other list. */
function differenceOf(now: readonly Claim[], before: readonly Claim[]): readonly Claim[] {
  const text = (claim: Claim) => stringifyJson(claimJson(claim, "selector"));
  const [nowTexts, beforeTexts] = [new Set(now.map(text)), new Set(before.map(text))];
  return [
    ...now.filter((claim) => !beforeTexts.has(text(claim))),
    ...before.filter((claim) => !nowTexts.has(text(claim))),
  ];
}

interface EvaluatedClaims {
  readonly valid: Condition;
  /** Undefined while the claims are not applied. */
  readonly applied: readonly Claim[] | undefined;
}

function resolved(
  before: JsonObject,
  record: ExportRecord,
  { resources, problem }: BoundResources,
  { valid, applied }: EvaluatedClaims,
  nowMs: number,
): JsonObject {
  const isDone = findCondition(before, "InitialBindingCompleted")?.["status"] === "True";
  const upToDate: Condition =
    problem === undefined
      ? { type: "BindingUpToDate", status: "True" }
      : { type: "BindingUpToDate", status: "False", severity: "Error", ...problem };
  let conditions = setCondition(
    conditionsOf(before) as JsonObject[],
    { type: "APIExportValid", status: "True" },
    nowMs,
  );
  const initial: Condition = { ...upToDate, type: "InitialBindingCompleted" };
  const told: Condition[] = [upToDate, valid];
  if (applied !== undefined) told.push({ type: "PermissionClaimsApplied", status: "True" });
  else if (findCondition(before, "PermissionClaimsApplied") !== undefined) told.push(applying);
  for (const condition of isDone ? told : [initial, ...told])
    conditions = setCondition(conditions, condition, nowMs);
  return withSummary(
    {
      ...before,
      apiExportClusterName: record.cluster,
      phase: isDone || problem === undefined ? "Bound" : "Binding",
      boundResources: [...resources],
      ...(applied === undefined
        ? {}
        : { appliedPermissionClaims: applied.map((claim) => claimJson(claim, "selector")) }),
      exportPermissionClaims: record.claims.map((claim) => claimJson(claim, "defaultSelector")),
      conditions,
    },
    nowMs,
  );
}

/** The condition of claims that were applied and have changed since. */
const applying: Condition = {
  type: "PermissionClaimsApplied",
  status: "False",
  severity: "Info",
  reason: "ApplyingPermissionClaims",
  message: "Objects of claimed resources are being labelled",
};

/** Adds the condition Ready, which follows InitialBindingCompleted: the binding was bound once. */
function withSummary(status: JsonObject, nowMs: number): JsonObject {
  const initial = findCondition(status, "InitialBindingCompleted");
  const { reason, message, severity } = initial ?? {};
  const isReady = initial?.["status"] === "True";
  const ready = {
    type: "Ready",
    status: isReady ? "True" : "False",
    ...(isReady || severity === undefined ? {} : { severity }),
    ...(isReady || reason === undefined ? {} : { reason }),
    ...(isReady || message === undefined ? {} : { message }),
  } as Condition;
  return { ...status, conditions: setCondition(conditionsOf(status), ready, nowMs) };
}

export function claimJson(claim: Claim, selectorName: "selector" | "defaultSelector"): JsonObject {
  const { group, resource, identityHash, verbs, selector } = claim;
  return {
    group,
    resource,
    identityHash,
    verbs: [...verbs],
    ...(selector === undefined
      ? {}
      : {
          [selectorName]: {
            ...(selector.matchAll ? { matchAll: true } : {}),
            ...(Object.keys(selector.matchLabels).length > 0
              ? { matchLabels: selector.matchLabels as JsonObject }
              : {}),
            ...(selector.matchExpressions.length > 0
              ? { matchExpressions: selector.matchExpressions as readonly JsonValue[] }
              : {}),
          },
        }),
  };
}
