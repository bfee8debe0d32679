/**
 * Empties a namespace that is being deleted, says how it goes, and lets it go when nothing is left.
 *
 * It can begin anywhere and may be killed anywhere: every pass looks at what there is, and nothing is remembered between passes.
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
  // One that is about to vanish has nobody left to tell.
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
 * The namespace after something was written by one who has seen it go. A create that was let through before the deletion may still be on its way to
 * the store, but it is stored before this write; so a look behind it misses none. The conditions say that it was done.
 */
async function written(namespace: Namespace, context: NamespaceContext): Promise<Namespace> {
  const isWritten = namespace.status?.conditions?.some(
    ({ type }) => type === "NamespaceDeletionContentFailure",
  );
  return isWritten === true ? namespace : tell(namespace, nothingFound, context);
}

interface Pass {
  readonly findings: Findings;
  /** The turn was used up: there is more to delete, and nothing is known of the rest. */
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
    // Nothing else goes while there are pods.
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

/** Writes the conditions if they say something new. */
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

/** The version in the object guards the write: if anybody changed the namespace since it was read, the next pass looks again. */
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
 * When to look again at what somebody else's finalizers hold back: the longer it has taken so far, the later. What grows with the age
 * needs no memory, and survives a restart.
 */
export function recheckMs(deletionTimestamp: string, nowMs: number): number {
  const ageMs = nowMs - Date.parse(deletionTimestamp);
  const wanted = Number.isFinite(ageMs) ? ageMs / 4 : recheckMsMax;
  return Math.min(recheckMsMax, Math.max(recheckMsMin, wanted));
}
