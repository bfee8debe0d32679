/** The object as it is to be stored: with its owners and its cluster. What changes nothing but times is no change. */

import { ignoreTimestampChanges } from "@kcp-ts/machinery/apply";
import { yieldToEventLoop } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { clusterAnnotation } from "../stored-object/index.ts";
import type { ResourceDefinition } from "./definition.ts";
import { type FieldOwner, recordOwner, recordOwnerInPieces } from "./managed-fields.ts";
import { markCluster, type Prepared } from "./prepare.ts";
import type { Draft } from "./strategy.ts";

export interface Ownership {
  readonly definition: ResourceDefinition;
  readonly cluster: ClusterName;
  /** Absent for deletions, which nobody comes to own anything by. */
  readonly owner: FieldOwner | undefined;
  readonly prepared: Prepared;
  readonly live: JsonObject | undefined;
  /** RFC 3339. */
  readonly now: string;
}

export function ownedObject(ownership: Ownership): JsonObject {
  const { definition, owner, prepared, live, now } = ownership;
  const { sent } = prepared;
  if (owner === undefined) return finished(ownership, sent);
  return finished(ownership, recordOwner(definition, owner, sent, unmarked(live, sent), now));
}

/** The same for a large object, with rests. */
export async function ownedInPieces(ownership: Ownership): Promise<JsonObject> {
  const { definition, owner, prepared, live, now } = ownership;
  const { sent } = prepared;
  if (owner === undefined) return finished(ownership, sent);
  const before = unmarked(live, sent);
  const recorded = await recordOwnerInPieces(definition, owner, sent, before, now);
  await yieldToEventLoop();
  return finished(ownership, recorded);
}

function finished({ prepared, cluster, live }: Ownership, recorded: JsonObject): JsonObject {
  const { object, sent } = prepared;
  const owned = sent === object ? recorded : withOwnersOf(object, recorded);
  const marked = markCluster(owned, cluster);
  return live === undefined ? marked : ignoreTimestampChanges(live, marked);
}

/** The object with the owners that another form of it has. */
function withOwnersOf(object: JsonObject, recorded: JsonObject): JsonObject {
  const { managedFields } = recorded["metadata"] as JsonObject;
  if (managedFields === undefined) return object;
  return { ...object, metadata: { ...(object["metadata"] as JsonObject), managedFields } };
}

/** The first annotation is one where only ours was: who sets it owns the annotations, too. */
function unmarked(live: JsonObject | undefined, sent: JsonObject): JsonObject | undefined {
  if (live === undefined || (sent["metadata"] as Draft)["annotations"] === undefined) return live;
  const { annotations, ...metadata } = live["metadata"] as JsonObject;
  const isOurs =
    isJsonObject(annotations) &&
    Object.hasOwn(annotations, clusterAnnotation) &&
    Object.keys(annotations).length === 1;
  return isOurs ? { ...live, metadata } : live;
}
