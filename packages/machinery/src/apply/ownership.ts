/**
 * Ownership after a write: the common step of updates and applies.
 *
 * A manager that writes a field takes it from the others; a removed field is removed from every
 * manager's set.
 */
import type { Resumable } from "../base/index.ts";
import { isEmptyObject, type JsonObject } from "../json/index.ts";
import { type FieldSet, intersectFieldSets, subtractFieldSet } from "./field-set.ts";
import type { Manager, Managers } from "./managed-fields.ts";
import { reconcileWithSchema } from "./reconcile-schema.ts";
import { type Changes, changedFields, compareTyped, withoutChangesIn } from "./typed-compare.ts";
import type { Versions } from "./versions.ts";

/** The changes of one write, in every version in which a manager owns fields. */
export class WriteChanges {
  readonly #before: JsonObject;
  readonly #after: JsonObject;
  readonly #versions: Versions;
  readonly #resetFields: FieldSet | undefined;
  readonly #byVersion = new Map<string, WrittenFields | undefined>();

  constructor(options: {
    readonly before: JsonObject;
    readonly after: JsonObject;
    readonly versions: Versions;
    readonly resetFields: FieldSet | undefined;
  }) {
    this.#before = options.before;
    this.#after = options.after;
    this.#versions = options.versions;
    this.#resetFields = options.resetFields;
  }

  /** Undefined if the version is no longer served. */
  at(apiVersion: string): WrittenFields | undefined {
    const known = this.#byVersion.get(apiVersion);
    if (known !== undefined || this.#byVersion.has(apiVersion)) return known;
    const fields = this.#compare(apiVersion);
    this.#byVersion.set(apiVersion, fields);
    return fields;
  }

  #compare(apiVersion: string): WrittenFields | undefined {
    const before = this.#versions.at(this.#before, apiVersion);
    const after = this.#versions.at(this.#after, apiVersion);
    if (before === undefined || after === undefined) return undefined;
    const all = compareTyped(before.object, after.object, before.type);
    const changes =
      this.#resetFields === undefined ? all : withoutChangesIn(all, this.#resetFields);
    const { added, modified, removed } = changes;
    return { added, modified, removed, written: changedFields(changes) };
  }
}

export interface WrittenFields extends Changes {
  /** Added or modified. */
  readonly written: FieldSet;
}

/** The fields of other managers that a write changes, by the identity of their owners. */
export type Conflicts = ReadonlyMap<string, FieldSet>;

export interface OwnershipChange {
  /** Without managers that own nothing any more. */
  readonly managers: Map<string, Manager>;
  readonly conflicts: Conflicts;
}

/**
 * Removes the changed fields from all managers except the writer, and returns the removed ones.
 * Yields before each manager: there may be many, with large sets.
 */
export function* takeOwnership(
  managers: Managers,
  changes: WriteChanges,
  writer?: string,
): Resumable<OwnershipChange> {
  const left = new Map<string, Manager>();
  const conflicts = new Map<string, FieldSet>();
  for (const [identity, manager] of managers) {
    if (identity === writer) {
      left.set(identity, manager);
      continue;
    }
    const fields = changes.at(manager.apiVersion);
    yield;
    if (fields === undefined) continue;
    const conflict = intersectFieldSets(manager.fields, fields.written);
    if (!isEmptyObject(conflict)) conflicts.set(identity, conflict);
    yield;
    const rest = subtractFieldSet(subtractFieldSet(manager.fields, conflict), fields.removed);
    if (rest === manager.fields) left.set(identity, manager);
    else if (!isEmptyObject(rest)) left.set(identity, { ...manager, fields: rest });
  }
  return { managers: left, conflicts };
}

/**
 * The managers with their sets adapted to the current types; managers in versions that are no
 * longer served are dropped. Yields after each.
 */
export function* reconcileManagers(
  managers: Managers,
  live: JsonObject,
  versions: Versions,
): Resumable<Managers> {
  const reconciled = new Map<string, Manager>();
  for (const [identity, manager] of managers) {
    const versioned = versions.at(live, manager.apiVersion);
    if (versioned === undefined) continue;
    const fields = reconcileWithSchema(manager.fields, versioned.type);
    reconciled.set(identity, fields === manager.fields ? manager : { ...manager, fields });
    yield;
  }
  return reconciled;
}
