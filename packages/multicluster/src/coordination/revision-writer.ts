/**
 * Writes the revision history of a workload where the logical cluster serves its kind, ReplicaSets
 * or ControllerRevisions. Elsewhere the workload has no history, and nothing else changes: `kubectl
 * rollout undo` then reports that it finds none.
 */
import { isStatusError, type StatusReason } from "@kcp-ts/machinery/status";
import {
  type Client,
  type EventInput,
  formatKey,
  type KubernetesObject,
  type ObjectKey,
  type ResourceClient,
} from "@kcp-ts/sdk";
import { hashDigits, ownedByLabel } from "../api/index.ts";
import { ownerLabelValue } from "./cluster-copy.ts";
import { deployments } from "./deployment.ts";
import {
  deploymentRevisions,
  planRevisions,
  type RevisionKind,
  type RevisionPlan,
  revisionAnnotation,
} from "./revisions.ts";
import type { Workload } from "./workload.ts";

/** Any kind of revision: the module that reads revisions writes them back. */
type AnyRevisionKind = RevisionKind<KubernetesObject>;

/**
 * The revisions of a workload; undefined where their kind is not served. `client` belongs to the
 * logical cluster.
 */
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
  /** The number of the newest revision, for kinds that carry it in an annotation. */
  readonly number?: number;
  readonly events: readonly EventInput[];
}

/**
 * The workloads whose newest template is in their history: it is neither read nor written again
 * until they change.
 */
export class RecordedRevisions {
  readonly #recorded = new Map<string, { readonly of: string; readonly update: RevisionUpdate }>();

  /** Undefined when the history has to be read. */
  of(key: ObjectKey, parent: Workload): RevisionUpdate | undefined {
    const known = this.#recorded.get(formatKey(key));
    return known?.of === digestOf(parent) ? known.update : undefined;
  }

  record(key: ObjectKey, parent: Workload, update: RevisionUpdate): void {
    this.#recorded.set(formatKey(key), { of: digestOf(parent), update });
  }

  forget(key: ObjectKey): void {
    this.#recorded.delete(formatKey(key));
  }
}

/** Revisions are made of the template, and of the annotations. */
function digestOf({ metadata: { uid = "", generation = 0, annotations = {} } }: Workload): string {
  const { [revisionAnnotation]: _, ...copied } = annotations;
  return hashDigits(JSON.stringify([uid, generation, copied]), 32);
}

export async function writeRevisionHistory(
  client: Client,
  parent: Workload,
  found: readonly KubernetesObject[] | undefined,
  form: AnyRevisionKind,
  signal: AbortSignal,
): Promise<RevisionUpdate> {
  const plan = found === undefined ? undefined : planRevisions(parent, found, form);
  if (plan === undefined) return { events: [] };
  try {
    await writeRevisions(client.resource(form.resource), plan, signal);
  } catch (error) {
    const reason = refusals.find((one) => isStatusError(error, one));
    if (reason === undefined) throw error;
    // A missing history does not stop the workload itself.
    const message = `revision ${plan.number} is not recorded, and cannot be undone to: ${(error as Error).message}`;
    return { events: [{ type: "Warning", reason: "RevisionNotRecorded", message }] };
  }
  // Deployments carry the revision number in an annotation; sets have no field for it.
  return form === deploymentRevisions ? { number: plan.number, events: [] } : { events: [] };
}

/** Errors that a retry does not change. */
const refusals: readonly StatusReason[] = [
  "Invalid",
  "Forbidden",
  "BadRequest",
  "AlreadyExists",
  "RequestEntityTooLarge",
];

/** Writes the newest revision first: a concurrent reader finds too many revisions, not too few. */
async function writeRevisions(
  resource: ResourceClient<KubernetesObject>,
  { creation, update, removals }: RevisionPlan<KubernetesObject>,
  signal: AbortSignal,
): Promise<void> {
  if (creation !== undefined) await resource.create(creation, { signal });
  if (update !== undefined) await resource.update(update, { signal });
  for (const revision of removals) {
    try {
      await resource.sameObject(revision).remove({ signal });
    } catch (error) {
      if (!isStatusError(error, "NotFound")) throw error;
    }
  }
}

export function hasRevisionNumber({ metadata }: Workload, number: number | undefined): boolean {
  return number === undefined || metadata.annotations?.[revisionAnnotation] === String(number);
}

export function withRevisionNumber(workload: Workload, number: number | undefined): Workload {
  if (number === undefined) return workload;
  const { metadata } = workload;
  const annotations = { ...metadata.annotations, [revisionAnnotation]: String(number) };
  return { ...workload, metadata: { ...metadata, annotations } };
}

/** A custom resource with the name of Deployments takes no annotations with its status. */
export async function writeRevisionNumber(
  client: Client,
  workload: Workload,
  number: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (hasRevisionNumber(workload, number)) return;
  const metadata = { annotations: { [revisionAnnotation]: String(number) } };
  await client.resource(deployments).sameVersion(workload).mergePatch({ metadata }, { signal });
}
