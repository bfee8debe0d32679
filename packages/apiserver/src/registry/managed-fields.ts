/** Who owns which fields, kept up with every write. */

import {
  type FieldSet,
  resetFieldsOf,
  updateManagedFields,
  updateResumable,
} from "@kcp-ts/machinery/apply";
import { runYielding } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { applyTypeOf, unownedFieldsOf } from "@kcp-ts/machinery/shape";
import { apiVersionOf, type ResourceDefinition } from "./definition.ts";

/** Who writes, through which endpoint, and whether ownership is already settled because the write is an apply. */
export interface FieldManager {
  readonly manager: string;
  /** Empty for the main endpoint. */
  readonly subresource: string;
  readonly isApply: boolean;
}

/** The object with its owners. */
export function recordFieldManager(
  definition: ResourceDefinition,
  owner: FieldManager,
  updated: JsonObject,
  live: JsonObject | undefined,
  now: string,
): JsonObject {
  if (owner.isApply || definition.strategy.recordsOwner?.(owner.manager) === false) return updated;
  return updateManagedFields({ updated, ...managedFieldsInput(definition, owner, live, now) });
}

/** The same for a large object, with rests. */
export async function recordFieldManagerYielding(
  definition: ResourceDefinition,
  owner: FieldManager,
  updated: JsonObject,
  live: JsonObject | undefined,
  now: string,
): Promise<JsonObject> {
  if (owner.isApply || definition.strategy.recordsOwner?.(owner.manager) === false) return updated;
  return runYielding(
    updateResumable({ updated, ...managedFieldsInput(definition, owner, live, now) }),
  );
}

/** What an apply and an update have in common. */
export function managedFieldsInput(
  definition: ResourceDefinition,
  { manager, subresource }: FieldManager,
  live: JsonObject | undefined,
  now: string,
) {
  const { strategy } = definition;
  return {
    live,
    manager,
    now,
    subresource,
    apiVersion: apiVersionOf(definition),
    schema: strategy.applyType ?? applyTypeOf(strategy.shape),
    resetFields: resetFields(definition, subresource),
    unowned: definition.itemsCarryKind ? undefined : unownedFieldsOf(strategy.shape),
  };
}

const statusOnly = resetFieldsOf(["status"]);
const specOnly = resetFieldsOf(["spec"]);

function resetFields(definition: ResourceDefinition, subresource: string): FieldSet | undefined {
  const { strategy, subresources } = definition;
  if (subresource === "")
    return strategy.resetFields ?? (subresources.has("status") ? statusOnly : undefined);
  return (
    subresources.get(subresource)?.resetFields ?? (subresource === "status" ? specOnly : undefined)
  );
}
