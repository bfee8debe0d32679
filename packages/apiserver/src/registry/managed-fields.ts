/** Maintains managedFields on every write. */
import {
  type FieldSet,
  resetFieldsOf,
  updateManagedFields,
  updateResumable,
} from "@kcp-ts/machinery/apply";
import { runYielding } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { applyTypeOf, unownedFieldsOf } from "@kcp-ts/machinery/shape";
import { apiVersionOf, type ResourceDefinition } from "./resource-definition.ts";

/** The manager of a write, its endpoint, and whether an apply has set the ownership already. */
export interface FieldManager {
  readonly manager: string;
  /** Empty for the main endpoint. */
  readonly subresource: string;
  readonly isApply: boolean;
}

/** The object with its managedFields. */
export function recordFieldManager(
  definition: ResourceDefinition,
  owner: FieldManager,
  updated: JsonObject,
  live: JsonObject | undefined,
  now: string,
): JsonObject {
  if (owner.isApply || definition.strategy.recordsFieldManager?.(owner.manager) === false)
    return updated;
  return updateManagedFields({ updated, ...managedFieldsInput(definition, owner, live, now) });
}

/** Records the manager of a large object while yielding to the event loop. */
export async function recordFieldManagerYielding(
  definition: ResourceDefinition,
  owner: FieldManager,
  updated: JsonObject,
  live: JsonObject | undefined,
  now: string,
): Promise<JsonObject> {
  if (owner.isApply || definition.strategy.recordsFieldManager?.(owner.manager) === false)
    return updated;
  return runYielding(
    updateResumable({ updated, ...managedFieldsInput(definition, owner, live, now) }),
  );
}

/** The common input of apply and update. */
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
