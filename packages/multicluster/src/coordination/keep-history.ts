/**
 * Keeps the history of a whole where the logical cluster serves what it is kept in, ReplicaSets or ControllerRevisions. Where it does not, there is none, and nothing
 * else changes: `kubectl rollout undo` then says what it cannot find.
 */
import { isStatusError, type StatusReason } from "@kcp-ts/machinery/status";
import type { Client, EventInput, KubernetesObject, ResourceClient } from "@kcp-ts/sdk";
import { ownedByLabel } from "../api/index.ts";
import { deployments } from "./deployment.ts";
import { ownerLabelValue } from "./part.ts";
import {
  deploymentRevisions,
  planRevisions,
  type RevisionKind,
  type RevisionPlan,
  revisionAnnotation,
} from "./revisions.ts";
import type { Workload } from "./workload.ts";

/** Of whatever kind they are: who reads them writes them back. */
type AnyRevisionKind = RevisionKind<KubernetesObject>;

/** Undefined where what it is kept in is not served. `client` is of the logical cluster. */
export async function readRevisions(
  client: Client,
  { namespace, name }: { readonly namespace?: string | undefined; readonly name: string },
  form: AnyRevisionKind,
  signal: AbortSignal,
): Promise<readonly KubernetesObject[] | undefined> {
  const labelSelector = `${ownedByLabel}=${ownerLabelValue(name)}`;
  const resource = client.resource(form.resource);
  try {
    const at = namespace === undefined ? {} : { namespace };
    return (await resource.list({ ...at, labelSelector, signal })).items;
  } catch (error) {
    if (isStatusError(error, "NotFound")) return undefined;
    throw error;
  }
}

export interface RevisionUpdate {
  /** The whole with its newest resourceVersion. */
  readonly parent: Workload;
  readonly happenings: readonly EventInput[];
}

export async function writeRevisionHistory(
  client: Client,
  parent: Workload,
  found: readonly KubernetesObject[] | undefined,
  form: AnyRevisionKind,
  signal: AbortSignal,
): Promise<RevisionUpdate> {
  const plan = found === undefined ? undefined : planRevisions(parent, found, form);
  if (plan === undefined) return { parent, happenings: [] };
  try {
    await writeRevisions(client.resource(form.resource), parent, plan, signal);
  } catch (error) {
    const reason = refusals.find((one) => isStatusError(error, one));
    if (reason === undefined) throw error;
    // No history is no reason to stop the work itself.
    const message = `revision ${plan.number} is not recorded, and cannot be undone to: ${(error as Error).message}`;
    return { parent, happenings: [{ type: "Warning", reason: "RevisionNotRecorded", message }] };
  }
  if (form !== deploymentRevisions) return { parent, happenings: [] };
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
  resource: ResourceClient<KubernetesObject>,
  { metadata: { namespace } }: Workload,
  { creation, update, removals }: RevisionPlan<KubernetesObject>,
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

/** The number is told on Deployments; sets have no place for it. */
async function numbered(
  client: Client,
  parent: Workload,
  number: number,
  signal: AbortSignal,
): Promise<Workload> {
  const { namespace, name, resourceVersion = "", annotations } = parent.metadata;
  const text = String(number);
  if (annotations?.[revisionAnnotation] === text) return parent;
  const metadata = { annotations: { [revisionAnnotation]: text }, resourceVersion };
  const patch = { type: "merge" as const, patch: { metadata } };
  return await client.resource(deployments).patch({ namespace, name }, patch, { signal });
}
