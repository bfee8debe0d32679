/**
 * Server-side apply: merges a configuration into the live object and updates the owners of its
 * fields.
 *
 * Defaulting, admission and validation come afterwards; the caller runs them on the result as on
 * any update.
 */
import { type Resumable, runSync } from "../base/index.ts";
import { isEmptyObject, isJsonObject, type JsonObject, member } from "../json/index.ts";
import { StatusError, statusError } from "../status/index.ts";
import { conflictError } from "./conflict.ts";
import { equalFieldSets, type FieldSet, subtractFieldSet, subtractSubtrees } from "./field-set.ts";
import { fieldsLastApplied, kubectlApplyManager, withLastApplied } from "./last-applied.ts";
import {
  encodeManagers,
  type Manager,
  type Managers,
  managedFieldsOf,
  managerIdentity,
  readOwnManagers,
  withManagedFields,
} from "./managed-fields.ts";
import { type Conflicts, reconcileManagers, takeOwnership, WriteChanges } from "./ownership.ts";
import { prune } from "./prune.ts";
import { systemFields } from "./system-fields.ts";
import { ownedFields } from "./typed-field-set.ts";
import { mergeTyped } from "./typed-merge.ts";
import { typeErrorsOf } from "./typed-validate.ts";
import { recordUpdate, type WriteOptions } from "./update-managed-fields.ts";
import { Versions } from "./versions.ts";

export interface ApplyOptions extends WriteOptions {
  readonly config: JsonObject;
  readonly kind: string;
  /** Takes ownership of fields that other managers own instead of failing with a conflict. */
  readonly force: boolean;
}

/**
 * The live object with the configuration applied, managedFields included; `live` itself if nothing
 * but timestamps changes. Inputs are not modified, parts are shared. Throws a StatusError: 400 for
 * another version or kind, 500 for a configuration that does not match the type (as Kubernetes
 * does), 409 for conflicts.
 */
export function applyConfiguration(options: ApplyOptions): JsonObject {
  return runSync(applyResumable(options));
}

/**
 * The same, yielding after each step, so that other requests proceed while a configuration is
 * applied to a large object.
 */
export function* applyResumable(options: ApplyOptions): Resumable<JsonObject> {
  yield* checkConfiguration(options);
  yield;
  const live = options.live ?? emptyObject(options);
  const start = yield* startingManagers(options, live);
  yield;
  const applied = subtractReset(ownedFields(options.config, options.schema), options.resetFields);
  yield;
  const application = yield* merge(options, live, start, applied);
  yield;
  const conflicts = options.force ? noConflicts : openConflicts(options, application.conflicts);
  if (conflicts.size > 0) throw conflictError(conflicts, start);
  return yield* finish(options, application);
}

const noConflicts: Conflicts = new Map();

interface Application {
  readonly live: JsonObject;
  readonly merged: JsonObject;
  readonly managers: Map<string, Manager>;
  readonly conflicts: Conflicts;
  readonly last: Manager | undefined;
  readonly applied: FieldSet;
}

function* merge(
  options: ApplyOptions,
  live: JsonObject,
  start: Managers,
  applied: FieldSet,
): Resumable<Application> {
  const versions = new Versions(options);
  const managers = new Map(yield* reconcileManagers(start, live, versions));
  const identity = managerIdentity(applierOf(options));
  const last = managers.get(identity);
  managers.set(identity, { ...applierOf(options), fields: applied });
  const { config } = options;
  const both = mergeTyped(live, config, options.schema);
  yield;
  const merged = yield* prune({ merged: both, config, last, managers, applied, versions });
  yield;
  const changes = new WriteChanges({
    before: live,
    after: merged,
    versions,
    resetFields: options.resetFields,
  });
  const taken = yield* takeOwnership(managers, changes, identity);
  return { live, merged, last, applied, managers: taken.managers, conflicts: taken.conflicts };
}

function* finish(options: ApplyOptions, application: Application): Resumable<JsonObject> {
  const { live, merged, managers, last, applied } = application;
  const applier = applierOf(options);
  const identity = managerIdentity(applier);
  const fields = subtractFieldSet(applied, systemFields);
  if (isEmptyObject(fields)) {
    managers.delete(identity);
  } else {
    const unchanged =
      last !== undefined &&
      merged === live &&
      last.apiVersion === applier.apiVersion &&
      equalFieldSets(last.fields, fields);
    // A manager whose write only changes ownership gets no new timestamp.
    const time = merged === live ? last?.time : applier.time;
    managers.set(identity, unchanged ? last : { ...applier, time, fields });
  }
  yield;
  const object =
    options.manager === kubectlApplyManager ? withLastApplied(merged, options.config) : merged;
  return withManagedFields(object, yield* encodeManagers(managers));
}

/**
 * The conflicts without those of kubectl's own client-side apply: kubectl may own the fields that
 * client-side apply has set.
 */
function openConflicts(options: ApplyOptions, conflicts: Conflicts): Conflicts {
  if (options.manager !== kubectlApplyManager || conflicts.size === 0) return conflicts;
  const allowed = options.live === undefined ? undefined : fieldsLastApplied(options.live, options);
  if (allowed === undefined) return conflicts;
  const open = new Map<string, FieldSet>();
  for (const [identity, fields] of conflicts) {
    const rest = subtractFieldSet(fields, allowed);
    if (!isEmptyObject(rest)) open.set(identity, rest);
  }
  return open;
}

function* checkConfiguration({ config, apiVersion, kind, schema }: ApplyOptions): Resumable<void> {
  const version = textMember(config, "apiVersion");
  if (textMember(config, "kind") === "") {
    throw statusError.badRequest(`invalid object type: ${formatGvk(config)}`);
  }
  if (version !== apiVersion) {
    throw statusError.badRequest(
      `Incorrect version specified in apply patch. Specified patch version: ${version}, expected: ${apiVersion}`,
    );
  }
  if (textMember(config, "kind") !== kind) {
    throw statusError.badRequest(`invalid object type: ${formatGvk(config)}`);
  }
  if ((managedFieldsOf(config) ?? null) !== null) {
    throw statusError.badRequest("metadata.managedFields must be nil");
  }
  yield;
  const errors = typeErrorsOf(config, schema);
  if (errors !== undefined) {
    const metadata = member(config, "metadata");
    const name = isJsonObject(metadata) ? metadata : {};
    throw new StatusError({
      code: 500,
      message: `failed to create typed patch object (${textMember(name, "namespace")}/${textMember(name, "name")}; ${formatGvk(config)}): ${errors}`,
    });
  }
}

/** An object without managers gets one manager for all its fields. */
function* startingManagers(options: ApplyOptions, live: JsonObject): Resumable<Managers> {
  const managers = readOwnManagers(options.live);
  if (managers.size > 0 || options.live === undefined) return managers;
  return yield* recordUpdate(managers, emptyObject(options), live, {
    ...options,
    manager: "before-first-apply",
  });
}

function applierOf(options: ApplyOptions): Omit<Manager, "fields"> {
  return {
    name: options.manager,
    operation: "Apply",
    apiVersion: options.apiVersion,
    subresource: options.subresource ?? "",
    time: options.now,
  };
}

function emptyObject({ apiVersion, kind }: ApplyOptions): JsonObject {
  return { apiVersion, kind };
}

function subtractReset(fields: FieldSet, resetFields: FieldSet | undefined): FieldSet {
  return resetFields === undefined ? fields : subtractSubtrees(fields, resetFields);
}

/** `apps/v1, Kind=Deployment`, and `/v1, Kind=ConfigMap` for the core group. */
function formatGvk(config: JsonObject): string {
  const apiVersion = textMember(config, "apiVersion");
  const version = apiVersion.includes("/") ? apiVersion : `/${apiVersion}`;
  return `${version}, Kind=${textMember(config, "kind")}`;
}

function textMember(object: JsonObject, key: string): string {
  const value = member(object, key);
  return typeof value === "string" ? value : "";
}
