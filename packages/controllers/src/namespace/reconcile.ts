/**
 * Deletes the content of a terminating namespace, reports progress in its conditions, and finalizes
 * it when it is empty.
 *
 * A pass can begin from any state and be interrupted anywhere: it lists the content, and nothing is
 * kept between passes.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, discover, type ReconcileResult } from "@kcp-ts/sdk";
import { type Namespace, namespaces } from "../api/index.ts";
import { type Findings, isEmptied, withFindings } from "./conditions.ts";
import {
  DeletionBudget,
  deletableResources,
  deleteContent,
  displayName,
  isPods,
} from "./content.ts";

/** The finalizer that stands for the content of a namespace. */
const contentFinalizer = "kubernetes";

export interface NamespaceContext {
  readonly client: Client;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly objectsPerTurnMax: number;
}

export async function reconcileNamespace(
  name: string,
  context: NamespaceContext,
): Promise<ReconcileResult> {
  const { client, clock, signal } = context;
  const found = await client.resource(namespaces).find({ name }, { signal });
  if (found?.metadata.deletionTimestamp === undefined) return undefined;
  if (!holdsContent(found)) return undefined;

  const namespace = await written(found, context);
  const pass = await empty(name, context);
  if (pass.isCutShort) return { requeueAfterMs: 0 };
  const { findings } = pass;
  const nowMs = clock.now();
  const isDone = isEmptied(findings);
  // The namespace is about to be removed, so its conditions are not written.
  const told =
    isDone && isLastFinalizer(namespace) ? namespace : await tell(namespace, findings, context);
  if (isDone) {
    await finalize(told, context);
    return undefined;
  }
  for (const failure of findings.contentFailures.values()) throw failure;
  for (const failure of findings.discoveryFailures.values()) throw failure;
  return { requeueAfterMs: recheckMs(found.metadata.deletionTimestamp, nowMs) };
}

const nothingFound: Findings = {
  discoveryFailures: new Map(),
  contentFailures: new Map(),
  remaining: new Map(),
  finalizers: new Map(),
};

/**
 * The namespace after a write that follows its deletion timestamp. A create that was admitted
 * before the deletion may still be on its way to the storage, but it is stored before this write;
 * so a list after it misses none. A condition records that this was done.
 */
async function written(namespace: Namespace, context: NamespaceContext): Promise<Namespace> {
  const isWritten = namespace.status?.conditions?.some(
    ({ type }) => type === "NamespaceDeletionContentFailure",
  );
  return isWritten === true ? namespace : tell(namespace, nothingFound, context);
}

interface Pass {
  readonly findings: Findings;
  /** The limit of the pass is reached: more objects have to be deleted, and the rest is unknown. */
  readonly isCutShort: boolean;
}

async function empty(
  namespace: string,
  { client, clock, signal, objectsPerTurnMax }: NamespaceContext,
): Promise<Pass> {
  const discovery = await discover(client, { signal });
  const contentFailures = new Map<string, unknown>();
  const remaining = new Map<string, number>();
  const finalizers = new Map<string, number>();
  const allowance = new DeletionBudget(objectsPerTurnMax);
  for (const resource of deletableResources(discovery)) {
    try {
      const left = await deleteContent(resource, { client, namespace, clock, signal, allowance });
      if (left.count > 0) remaining.set(displayName(resource), left.count);
      for (const [name, count] of left.finalizers) {
        finalizers.set(name, (finalizers.get(name) ?? 0) + count);
      }
    } catch (error) {
      signal.throwIfAborted();
      contentFailures.set(displayName(resource), error);
    }
    if (allowance.isUsedUp) break;
    // No other resource is deleted while there are Pods.
    if (isPods(resource) && remaining.size + contentFailures.size > 0) break;
  }
  const findings = {
    discoveryFailures: discovery.failures,
    contentFailures,
    remaining,
    finalizers,
  };
  return { findings, isCutShort: allowance.isUsedUp && contentFailures.size === 0 };
}

/** Writes the conditions if they have changed. */
async function tell(
  namespace: Namespace,
  findings: Findings,
  { client, clock, signal }: NamespaceContext,
): Promise<Namespace> {
  const before = namespace.status?.conditions;
  const conditions = withFindings(before, findings, clock.now());
  if (conditions === before) return namespace;
  const status = { ...namespace.status, conditions };
  return client.resource(namespaces).updateStatus({ ...namespace, status }, { signal });
}

/**
 * The object's version is the precondition of the write: if another client changed the namespace
 * since it was read, the next pass reads it again.
 */
async function finalize(namespace: Namespace, { client, signal }: NamespaceContext): Promise<void> {
  const finalizers = finalizersOf(namespace).filter((one) => one !== contentFinalizer);
  const { name } = namespace.metadata;
  try {
    await client
      .resource(namespaces)
      .subresource<Namespace>("finalize")
      .update({ name }, { ...namespace, spec: { ...namespace.spec, finalizers } }, { signal });
  } catch (error) {
    if (!isStatusError(error, "NotFound")) throw error;
  }
}

function finalizersOf({ spec }: Namespace): readonly string[] {
  return spec?.finalizers ?? [];
}

function holdsContent(namespace: Namespace): boolean {
  return finalizersOf(namespace).includes(contentFinalizer);
}

function isLastFinalizer(namespace: Namespace): boolean {
  return finalizersOf(namespace).length === 1 && !namespace.metadata.finalizers?.length;
}

const recheckMsMin = 500;
const recheckMsMax = 15_000;

/**
 * When to retry content with finalizers of other controllers: the longer the deletion has taken,
 * the later. A delay that grows with the age needs no memory, and survives a restart.
 */
export function recheckMs(deletionTimestamp: string, nowMs: number): number {
  const ageMs = nowMs - Date.parse(deletionTimestamp);
  const wanted = Number.isFinite(ageMs) ? ageMs / 4 : recheckMsMax;
  return Math.min(recheckMsMax, Math.max(recheckMsMin, wanted));
}
