/**
 * The object for the store: with its managedFields and its cluster. A write that changes only
 * timestamps is no change.
 */
import {
  type FieldSet,
  ignoreTimestampChanges,
  resetFieldsOf,
  updateManagedFields,
  updateResumable,
} from "@kcp-ts/machinery/apply";
import { runYielding, yieldToEventLoop } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { applyTypeOf, unownedFieldsOf } from "@kcp-ts/machinery/shape";
import { clusterAnnotation } from "../stored-object/index.ts";
import { addClusterAnnotation, type PreparedObject } from "./prepare.ts";
import { apiVersionOf, type ResourceDefinition } from "./resource-definition.ts";
import type { Draft } from "./strategy.ts";

/** The manager of a write, its endpoint, and whether an apply has set the ownership already. */
export interface FieldManager {
  readonly manager: string;
  /** Empty for the main endpoint. */
  readonly subresource: string;
  readonly isApply: boolean;
}

export interface FieldOwnership {
  readonly definition: ResourceDefinition;
  readonly cluster: ClusterName;
  /** Absent for deletions, which change no ownership. */
  readonly fieldManager: FieldManager | undefined;
  readonly prepared: PreparedObject;
  readonly live: JsonObject | undefined;
  /** RFC 3339. */
  readonly now: string;
  /** Managers of a large object are recorded while yielding to the event loop. */
  readonly isLarge: boolean;
}

export async function withManagedFields(ownership: FieldOwnership): Promise<JsonObject> {
  const { definition, cluster, fieldManager: owner, prepared, live, now, isLarge } = ownership;
  const { object, sent } = prepared;
  let recorded = sent;
  const { recordsFieldManager } = definition.strategy;
  if (owner?.isApply === false && recordsFieldManager?.(owner.manager) !== false) {
    const before = live && withoutClusterAnnotation(live, sent);
    const input = { updated: sent, ...managedFieldsInput(definition, owner, before, now) };
    recorded = isLarge ? await runYielding(updateResumable(input)) : updateManagedFields(input);
    if (isLarge) await yieldToEventLoop();
  }
  const owned = sent === object ? recorded : withOwnersOf(object, recorded);
  const marked = addClusterAnnotation(owned, cluster);
  return live === undefined ? marked : ignoreTimestampChanges(live, marked);
}

/** The object with the managedFields of its other version. */
function withOwnersOf(object: JsonObject, recorded: JsonObject): JsonObject {
  const { managedFields } = recorded["metadata"] as JsonObject;
  if (managedFields === undefined) return object;
  return { ...object, metadata: { ...(object["metadata"] as JsonObject), managedFields } };
}

/**
 * A client's first annotation creates the annotations where only the server's was: its manager owns
 * the map, too.
 */
function withoutClusterAnnotation(live: JsonObject, sent: JsonObject): JsonObject {
  if ((sent["metadata"] as Draft)["annotations"] === undefined) return live;
  const { annotations, ...metadata } = live["metadata"] as JsonObject;
  const isOurs =
    isJsonObject(annotations) &&
    Object.hasOwn(annotations, clusterAnnotation) &&
    Object.keys(annotations).length === 1;
  return isOurs ? { ...live, metadata } : live;
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
