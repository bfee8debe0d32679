/** The object as it is to be stored: with its owners and its cluster. What changes nothing but times is no change. */

import { ignoreTimestampChanges } from "@kcp-ts/machinery/apply";
import { yieldToEventLoop } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { clusterAnnotation } from "../stored-object/index.ts";
import type { ResourceDefinition } from "./definition.ts";
import {
  type FieldManager,
  recordFieldManager,
  recordFieldManagerYielding,
} from "./managed-fields.ts";
import { addClusterAnnotation, type PreparedObject } from "./prepare.ts";
import type { Draft } from "./strategy.ts";

export interface FieldOwnership {
  readonly definition: ResourceDefinition;
  readonly cluster: ClusterName;
  /** Absent for deletions, which nobody comes to own anything by. */
  readonly owner: FieldManager | undefined;
  readonly prepared: PreparedObject;
  readonly live: JsonObject | undefined;
  /** RFC 3339. */
  readonly now: string;
}

export function withManagedFields(ownership: FieldOwnership): JsonObject {
  const { definition, owner, prepared, live, now } = ownership;
  const { sent } = prepared;
  if (owner === undefined) return finished(ownership, sent);
  return finished(
    ownership,
    recordFieldManager(definition, owner, sent, withoutClusterAnnotation(live, sent), now),
  );
}

/** The same for a large object, with rests. */
export async function withManagedFieldsYielding(ownership: FieldOwnership): Promise<JsonObject> {
  const { definition, owner, prepared, live, now } = ownership;
  const { sent } = prepared;
  if (owner === undefined) return finished(ownership, sent);
  const before = withoutClusterAnnotation(live, sent);
  const recorded = await recordFieldManagerYielding(definition, owner, sent, before, now);
  await yieldToEventLoop();
  return finished(ownership, recorded);
}

function finished({ prepared, cluster, live }: FieldOwnership, recorded: JsonObject): JsonObject {
  const { object, sent } = prepared;
  const owned = sent === object ? recorded : withOwnersOf(object, recorded);
  const marked = addClusterAnnotation(owned, cluster);
  return live === undefined ? marked : ignoreTimestampChanges(live, marked);
}

/** The object with the owners that another form of it has. */
function withOwnersOf(object: JsonObject, recorded: JsonObject): JsonObject {
  const { managedFields } = recorded["metadata"] as JsonObject;
  if (managedFields === undefined) return object;
  return { ...object, metadata: { ...(object["metadata"] as JsonObject), managedFields } };
}

/** The first annotation is one where only ours was: who sets it owns the annotations, too. */
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
