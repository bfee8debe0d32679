/**
 * What the status of an APIBinding should say: which resources it brings, what of its claims holds, and why not when it does not.
 *
 * The same for a binding that is just being made, whose first answer tells all of it, and for one that the control loop looks at again.
 */
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  stringifyJson,
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
import { evaluateClaims } from "./judge-claims.ts";
import { listOf, textOf } from "./kinds/as-definition.ts";
import { apiExports } from "./kinds/definitions.ts";
import { namingConflicts } from "./naming-conflicts.ts";
import { type ApiSharingDependencies, keyOf } from "./parts.ts";
import { type Claim, claimsOf, type ExportRecord } from "./records.ts";
import type { StoredSchema } from "./schema-store.ts";
import { isSystemExport } from "./system-exports.ts";

export interface DesiredBindingStatus {
  readonly status: JsonObject;
  /** Claims that are agreed to, and not yet put into effect; or no longer, and not yet taken back. */
  readonly unapplied: readonly Claim[];
  /** Claims that are agreed to. */
  readonly accepted: readonly Claim[];
  readonly export: ExportRecord | undefined;
  /** A resource that was bound before has another schema now. */
  readonly isReshaped: boolean;
}

export interface DesiredBindingStatusOptions {
  /** The claims for which the objects that they are about were gone through. */
  readonly labelled: readonly Claim[] | undefined;
}

export async function desiredBindingStatus(
  parts: ApiSharingDependencies,
  cluster: ClusterName,
  binding: JsonObject,
  options: DesiredBindingStatusOptions = { labelled: undefined },
): Promise<DesiredBindingStatus> {
  const before = member(binding, "status");
  const { path, name } = member(member(member(binding, "spec"), "reference"), "export");
  const exportCluster = await resolveExportPath(parts, cluster, textOf(path));
  const record =
    exportCluster === undefined
      ? undefined
      : parts.exports.get(keyOf(apiExports, exportCluster, textOf(name)));
  const at = parts.clock.now();
  if (record === undefined)
    return {
      status: unresolved(before, notFound(textOf(path) || cluster, textOf(name)), at),
      unapplied: [],
      accepted: [],
      export: undefined,
      isReshaped: false,
    };
  if (record.identityHash === "")
    return {
      status: unresolved(before, noIdentity(record), at),
      unapplied: [],
      accepted: [],
      export: record,
      isReshaped: false,
    };
  const bound = await boundResources(parts, cluster, binding, record);
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
    isReshaped: bound.isReshaped,
  };
}

/** The logical cluster that a reference to an export means. */
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

/** What is bound stays bound, whatever becomes of the export. */
function unresolved(before: JsonObject, condition: Condition, nowMs: number): JsonObject {
  const conditions = setCondition(conditionsOf(before), condition, nowMs);
  return withSummary({ phase: "Binding", ...before, conditions }, nowMs);
}

interface BoundResources {
  readonly resources: readonly JsonObject[];
  readonly problem: { readonly reason: string; readonly message: string } | undefined;
  readonly isReshaped: boolean;
}

async function boundResources(
  parts: ApiSharingDependencies,
  cluster: ClusterName,
  binding: JsonObject,
  record: ExportRecord,
): Promise<BoundResources> {
  const before = listOf(member(binding, "status")["boundResources"]).filter(isJsonObject);
  const schemas: StoredSchema[] = [];
  for (const { schema, virtual } of record.resources) {
    const isKnown = virtual === undefined || isCachedStorage(virtual);
    const found = isKnown ? await parts.schemas.current(record.cluster, schema) : undefined;
    if (found === undefined) {
      const message = !isKnown
        ? `the resource of ${schema} has a storage that is not supported here`
        : `APIResourceSchema ${record.path}|${schema} not found`;
      return {
        resources: before,
        problem: { reason: "APIResourceSchemaInvalid", message },
        isReshaped: false,
      };
    }
    schemas.push(found);
  }
  if (isSystemExport(record.cluster, record.name)) {
    const resources = schemas.map((schema) => boundResource(schema, record, undefined));
    return { resources, problem: undefined, isReshaped: false };
  }
  const name = textOf(member(binding, "metadata")["name"]);
  const { conflicts, lost } = await namingConflicts(parts, cluster, name, schemas);
  const kept = before.filter((one) => !lost.has(nameOf(one)));
  if (conflicts.length > 0) {
    const message = `Unable to bind APIs: ${conflicts.join(", ")}`;
    return { resources: kept, problem: { reason: "NamingConflicts", message }, isReshaped: false };
  }
  let isReshaped = false;
  const resources = schemas.map((schema) => {
    const old = before.find((one) => nameOf(one) === nameIn(schema));
    const oldUid = member(old ?? {}, "schema")["UID"];
    if (oldUid !== undefined && oldUid !== schema.uid) isReshaped = true;
    return boundResource(schema, record, old);
  });
  for (const { uid, name: schemaName } of schemas)
    await parts.schemas.copy(uid, record.cluster, schemaName);
  return { resources, problem: undefined, isReshaped };
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

/** Claims of one list that the other does not have in the same words. */
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
  /** Undefined when they are yet to be put into effect. */
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

/** Says of claims that were applied once that they changed since. */
const applying: Condition = {
  type: "PermissionClaimsApplied",
  status: "False",
  severity: "Info",
  reason: "ApplyingPermissionClaims",
  message: "Objects of claimed resources are being labelled",
};

/** Ready says whether it was bound once. */
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
