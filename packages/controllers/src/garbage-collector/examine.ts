/**
 * Reconciles one object: does what the states of its owners, or its own deletion, require.
 *
 * It may begin from any state and be repeated: a decision by the graph leads to a write that is
 * rejected if the graph was outdated.
 */
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Client } from "@kcp-ts/sdk";
import type { YieldTimer } from "../pace/index.ts";
import { decide } from "./decision.ts";
import {
  foregroundFinalizer,
  type GraphNode,
  isBlocking,
  isDeletingDependents,
  isOrphaning,
  orphanFinalizer,
} from "./graph-node.ts";
import { orphanDependents } from "./orphan-dependents.ts";
import type { OwnerLookup } from "./owner-lookup.ts";
import type { OwnershipGraph } from "./ownership-graph.ts";
import { deleteNode, removeFinalizer, type WriteContext, writeOwners } from "./writes.ts";

export interface ExamineContext {
  readonly client: Client;
  readonly graph: OwnershipGraph;
  readonly owners: OwnerLookup;
  readonly pace: YieldTimer;
  readonly signal: AbortSignal;
}

/**
 * `retry`: the state of an owner is unknown, or the object's own type is not served at the moment.
 */
export type Examined = "done" | "retry";

export async function examine(found: GraphNode, context: ExamineContext): Promise<Examined> {
  const node = await context.owners.resolved(found, context.signal);
  if (node === undefined) return "retry";
  const write = { client: context.client.inCluster(node.cluster), signal: context.signal };
  try {
    if (isOrphaning(node)) await orphan(node, context, write);
    else if (isDeletingDependents(node)) await deleteInForeground(node, context, write);
    else if (!node.isDeleting) return await examineOwners(node, context, write);
  } catch (error) {
    // Already deleted: the watch will deliver the deletion.
    if (!isStatusError(error, "NotFound")) throw error;
  }
  return "done";
}

async function examineOwners(
  node: GraphNode,
  { graph, owners, signal }: ExamineContext,
  write: WriteContext,
): Promise<Examined> {
  const state = await owners.standing(node, signal);
  const dependents = graph.dependentsOf(node);
  const decision = decide(node, state, {
    count: dependents.length,
    someDeletingDependents: dependents.some(isDeletingDependents),
  });
  switch (decision.do) {
    case "nothing":
      return state.some((one) => one.standing === "unknown") ? "retry" : "done";
    case "release":
      await writeOwners(node, decision.owners, write);
      return "done";
    case "delete": {
      const released = decision.unblock ? await unblock(node, write) : node;
      await deleteNode(released, decision.policy, write);
      return "done";
    }
  }
}

/** The object, which no longer blocks the deletion of its owners. */
async function unblock(node: GraphNode, write: WriteContext): Promise<GraphNode> {
  if (!node.owners.some((one) => one.blockOwnerDeletion === true)) return node;
  const owners = node.owners.map((one) => ({ ...one, blockOwnerDeletion: false }));
  return { ...node, owners, resourceVersion: await writeOwners(node, owners, write) };
}

async function orphan(
  node: GraphNode,
  { pace, signal }: ExamineContext,
  write: WriteContext,
): Promise<void> {
  await orphanDependents(node, { client: write.client, pace, signal });
  await removeFinalizer(node, orphanFinalizer, write);
}

/**
 * Its dependents were enqueued when its deletion began, and are deleted because of it; the owner is
 * deleted when none is left that blocks it.
 */
async function deleteInForeground(
  node: GraphNode,
  { graph }: ExamineContext,
  write: WriteContext,
): Promise<void> {
  if (graph.dependentsOf(node).some((one) => isBlocking(one, node.uid))) return;
  await removeFinalizer(node, foregroundFinalizer, write);
}
