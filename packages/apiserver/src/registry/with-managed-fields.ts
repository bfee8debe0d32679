/**
 * The object for the store: with its managedFields and its cluster. A write that changes only
 * timestamps is no change.
 */
import { ignoreTimestampChanges } from "@kcp-ts/machinery/apply";
import { yieldToEventLoop } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { clusterAnnotation } from "../stored-object/index.ts";
import {
  type FieldManager,
  recordFieldManager,
  recordFieldManagerYielding,
} from "./managed-fields.ts";
import { addClusterAnnotation, type PreparedObject } from "./prepare.ts";
import type { ResourceDefinition } from "./resource-definition.ts";
import type { Draft } from "./strategy.ts";

export interface FieldOwnership {
  readonly definition: ResourceDefinition;
  readonly cluster: ClusterName;
  /** Absent for deletions, which change no ownership. */
  readonly fieldManager: FieldManager | undefined;
  readonly prepared: PreparedObject;
  readonly live: JsonObject | undefined;
  /** RFC 3339. */
  readonly now: string;
}

export function withManagedFields(ownership: FieldOwnership): JsonObject {
  const { definition, fieldManager, prepared, live, now } = ownership;
  const { sent } = prepared;
  if (fieldManager === undefined) return finished(ownership, sent);
  return finished(
    ownership,
    recordFieldManager(definition, fieldManager, sent, withoutClusterAnnotation(live, sent), now),
  );
}

/** Adds managedFields to a large object while yielding to the event loop. */
export async function withManagedFieldsYielding(ownership: FieldOwnership): Promise<JsonObject> {
  const { definition, fieldManager, prepared, live, now } = ownership;
  const { sent } = prepared;
  if (fieldManager === undefined) return finished(ownership, sent);
  const before = withoutClusterAnnotation(live, sent);
  const recorded = await recordFieldManagerYielding(definition, fieldManager, sent, before, now);
  await yieldToEventLoop();
  return finished(ownership, recorded);
}

function finished({ prepared, cluster, live }: FieldOwnership, recorded: JsonObject): JsonObject {
  const { object, sent } = prepared;
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
function withoutClusterAnnotation(
  live: JsonObject | undefined,
  sent: JsonObject,
): JsonObject | undefined {
  if (live === undefined || (sent["metadata"] as Draft)["annotations"] === undefined) return live;
  const { annotations, ...metadata } = live["metadata"] as JsonObject;
  const isOurs =
    isJsonObject(annotations) &&
    Object.hasOwn(annotations, clusterAnnotation) &&
    Object.keys(annotations).length === 1;
  return isOurs ? { ...live, metadata } : live;
}
