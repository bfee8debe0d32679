/**
 * Keeps the history of a whole where the logical cluster serves ReplicaSets. Where it does not, there is none, and nothing else changes:
 * `kubectl rollout undo` then says that ReplicaSets cannot be found.
 */
import { isStatusError, type StatusReason } from "@kcp-ts/machinery/status";
import type { Client, Happening, ResourceClient } from "@kcp-ts/sdk";
import { ownedByLabel } from "../api/index.ts";
import { type Deployment, deployments } from "./deployment.ts";
import { ownerLabelValue } from "./part.ts";
import {
  type HistoryPlan,
  planHistory,
  type Revision,
  revisionAnnotation,
  revisions,
} from "./revisions.ts";

/** Undefined where ReplicaSets are not served. `client` is of the logical cluster. */
export async function readHistory(
  client: Client,
  { namespace, name }: { readonly namespace?: string | undefined; readonly name: string },
  signal: AbortSignal,
): Promise<readonly Revision[] | undefined> {
  const labelSelector = `${ownedByLabel}=${ownerLabelValue(name)}`;
  try {
    const at = namespace === undefined ? {} : { namespace };
    return (await client.resource(revisions).list({ ...at, labelSelector, signal })).items;
  } catch (error) {
    if (isStatusError(error, "NotFound")) return undefined;
    throw error;
  }
}

export interface KeptHistory {
  /** The whole with its newest resourceVersion. */
  readonly parent: Deployment;
  readonly happenings: readonly Happening[];
}

export async function keepHistory(
  client: Client,
  parent: Deployment,
  found: readonly Revision[] | undefined,
  signal: AbortSignal,
): Promise<KeptHistory> {
  const plan = found === undefined ? undefined : planHistory(parent, found);
  if (plan === undefined) return { parent, happenings: [] };
  try {
    await writeRevisions(client.resource(revisions), parent, plan, signal);
  } catch (error) {
    const reason = refusals.find((one) => isStatusError(error, one));
    if (reason === undefined) throw error;
    // No history is no reason to stop the work itself.
    const message = `revision ${plan.number} is not recorded, and cannot be undone to: ${(error as Error).message}`;
    return { parent, happenings: [{ type: "Warning", reason: "RevisionNotRecorded", message }] };
  }
  return { parent: await numbered(client, parent, plan.number, signal), happenings: [] };
}

/** What trying again does not change. */
const refusals: readonly StatusReason[] = [
  "Invalid",
  "Forbidden",
  "BadRequest",
  "AlreadyExists",
  "RequestEntityTooLarge",
];

/** The newest first: whoever reads meanwhile finds too many, not too few. */
async function writeRevisions(
  resource: ResourceClient<Revision>,
  { metadata: { namespace } }: Deployment,
  { creation, update, removals }: HistoryPlan,
  signal: AbortSignal,
): Promise<void> {
  if (creation !== undefined) await resource.create(creation, { signal });
  if (update !== undefined) await resource.update(update, { signal });
  for (const { metadata } of removals) {
    const preconditions = metadata.uid === undefined ? {} : { uid: metadata.uid };
    try {
      await resource.delete({ namespace, name: metadata.name }, { preconditions, signal });
    } catch (error) {
      if (!isStatusError(error, "NotFound")) throw error;
    }
  }
}

async function numbered(
  client: Client,
  parent: Deployment,
  number: number,
  signal: AbortSignal,
): Promise<Deployment> {
  const { namespace, name, resourceVersion = "", annotations } = parent.metadata;
  const text = String(number);
  if (annotations?.[revisionAnnotation] === text) return parent;
  const metadata = { annotations: { [revisionAnnotation]: text }, resourceVersion };
  const patch = { type: "merge" as const, patch: { metadata } };
  return await client.resource(deployments).patch({ namespace, name }, patch, { signal });
}
