/**
 * The drain controller: while a SyncTarget has `spec.drain`, the objects that are assigned to its
 * cluster leave within the drain's budget, and `status.drain` reports the progress. The
 * coordinators make the moves: they read `spec.drain` themselves. This controller selects objects
 * for eviction, reports progress, and finally deletes the SyncTarget if the drain requests it.
 *
 * All state is on the objects; removing `spec.drain` cancels the drain.
 */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  type Clusters,
  Controller,
  EventRecorder,
  findCondition,
  isBeingDeleted,
  isConditionTrue,
  type ObjectKey,
  type ReconcileContext,
  type ReconcileResult,
  setCondition,
} from "@kcp-ts/sdk";
import {
  type DrainStatus,
  drainedCondition,
  drainFieldManager,
  evictAnnotation,
  type SeverityCondition,
  type SyncTarget,
  syncTargets,
  writeSyncTargetStatus,
} from "../api/index.ts";
import { type DrainStep, drainStep } from "./drain-step.ts";
import { drainedObjectsOf, type FoundDrainedObject } from "./drained-objects.ts";

export interface DrainControllerOptions {
  readonly clusters: Clusters;
  /**
   * The name of an object of the SyncTarget that is still in the cluster though nothing is assigned
   * to it, for messages.
   */
  readonly describeHeldObjectIn: (
    client: Client,
    target: SyncTarget,
    cluster: string,
    signal: AbortSignal,
  ) => Promise<string | undefined>;
  /** The interval of reconciles while a drain is in progress. */
  readonly pollMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly onError: (error: unknown, key?: ObjectKey) => void;
}

export const drainPollMsDefault = 1000;
/** The slowest polls, of a drain that waits and of a drained cluster: each lists every kind. */
const factorMax = 60;
/** The polls of an unchanged drain before they become rarer. */
const promptPolls = 4;
const concurrency = 4;

export class DrainController {
  readonly controller: Controller;
  readonly #options: DrainControllerOptions;
  readonly #clock: Clock;
  readonly #events: EventRecorder;
  /** By SyncTarget: how many reconciles in a row found the drain unchanged. */
  readonly #unchanged = new Map<string, number>();

  constructor(options: DrainControllerOptions) {
    const { clusters, onError, clock = systemClock } = options;
    this.#options = options;
    this.#clock = clock;
    this.#events = new EventRecorder({
      component: drainFieldManager,
      client: (cluster) => clusters.client(cluster),
      clock,
      onError: (error) => onError(error),
    });
    this.controller = new Controller({
      name: "drains",
      clusters,
      concurrency,
      clock,
      onError,
      reconcile: (key, context) => this.#reconcile(key, context),
    }).watch(syncTargets, {
      map: ({ spec, status }, key) =>
        spec?.drain === undefined && status?.drain === undefined ? [] : [key],
    });
  }

  async close(): Promise<void> {
    await this.#events.flush();
  }

  async #reconcile(key: ObjectKey, { client, signal }: ReconcileContext): Promise<ReconcileResult> {
    const { name, cluster } = key;
    const id = `${cluster}/${name}`;
    const target = await client.resource(syncTargets).find({ name }, { signal });
    if (target === undefined || isBeingDeleted(target)) {
      this.#unchanged.delete(id);
      return;
    }
    const { spec = {}, status = {} } = target;
    if (spec.drain === undefined) {
      this.#unchanged.delete(id);
      if (status.drain !== undefined) await this.#takeBack(key, target, client, signal);
      return;
    }
    const nowMs = this.#clock.now();
    const objects = await drainedObjectsOf(client, target, cluster, { nowMs, signal });
    const heldObject =
      objects.length > 0
        ? undefined
        : await this.#options.describeHeldObjectIn(client, target, cluster, signal);
    const step = drainStep({
      target: name,
      spec: spec.drain,
      previousStatus: status.drain,
      objects,
      heldObject,
      wasDrained: isConditionTrue(status.conditions, drainedCondition),
      nowMs,
    });
    for (const one of step.toEvict as readonly FoundDrainedObject[]) await mark(one, true, signal);
    const isSaid = await this.#say(target, step, client, signal);
    for (const event of step.events) this.#events.record(cluster, target, event);
    if (step.isDrained && spec.drain.deleteAfterDrain === true) {
      await deleteSyncTarget(target, client, signal);
      this.#unchanged.delete(id);
      return;
    }
    const unchanged = isSaid ? (this.#unchanged.get(id) ?? 0) + 1 : 0;
    this.#unchanged.set(id, unchanged);
    // A drain that waits is observed less and less often, after a few seconds. A drained cluster
    // stays empty unless a user assigns an object to it.
    const waited = Math.max(0, unchanged - promptPolls);
    const factor = step.isDrained ? factorMax : Math.min(2 ** waited, factorMax);
    const pollMs = (this.#options.pollMs ?? drainPollMsDefault) * factor;
    const stallsInMs = Math.max(0, (step.stallsAtMs ?? Number.POSITIVE_INFINITY) - nowMs);
    return { requeueAfterMs: Math.min(pollMs, stallsInMs) };
  }

  /** Returns whether the status said so before. */
  async #say(
    target: SyncTarget,
    { status: drain, condition }: DrainStep,
    client: Client,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { status = {} } = target;
    const before = findCondition(status.conditions, drainedCondition);
    const [shown] = setCondition(
      before === undefined ? [] : [before],
      condition,
      this.#clock.now(),
    );
    const isSaid =
      same(status.drain, drain) &&
      before?.status === condition.status &&
      before.reason === condition.reason &&
      before.message === condition.message;
    if (isSaid || shown === undefined) return true;
    const severity = condition.status === "True" ? {} : { severity: "Info" as const };
    await applyOwn(client, target, { drain, conditions: [{ ...shown, ...severity }] }, signal);
    return false;
  }

  /** Cancels a drain: removes the selection for eviction and the drain status. */
  async #takeBack(
    { cluster, name }: ObjectKey,
    target: SyncTarget,
    client: Client,
    signal: AbortSignal,
  ): Promise<void> {
    const listing = { nowMs: this.#clock.now(), signal };
    for (const one of await drainedObjectsOf(client, target, cluster, listing))
      if (one.isEvicting) await mark(one, false, signal);
    await applyOwn(client, target, {}, signal);
    const message = `${name} is no longer drained: what is in the cluster stays`;
    this.#events.record(cluster, target, { type: "Normal", reason: "DrainCancelled", message });
  }
}

async function mark(
  { client, resource, object }: FoundDrainedObject,
  isMarked: boolean,
  signal: AbortSignal,
): Promise<void> {
  const annotations = { [evictAnnotation]: isMarked ? "true" : null };
  try {
    await client
      .resource(resource)
      .sameObject(object)
      .mergePatch({ metadata: { annotations } }, { signal });
  } catch (error) {
    // The object has left, or another object has its name, since it was listed.
    if (!isStatusError(error, "NotFound") && !isStatusError(error, "Conflict")) throw error;
  }
}

/** Applies the drain's status fields only; omitted fields are removed. */
async function applyOwn(
  client: Client,
  target: SyncTarget,
  status: { readonly drain?: DrainStatus; readonly conditions?: readonly SeverityCondition[] },
  signal: AbortSignal,
): Promise<void> {
  await writeSyncTargetStatus({ client, target, signal }, "drain", status);
}

async function deleteSyncTarget(
  { metadata: { name, uid } }: SyncTarget,
  client: Client,
  signal: AbortSignal,
): Promise<void> {
  // Deletes only the version that was read: a user who cancels the drain at this moment keeps the
  // SyncTarget.
  const current = await client.resource(syncTargets).find({ name }, { signal });
  if (current === undefined || current.metadata.uid !== uid) return;
  if (current.spec?.drain?.deleteAfterDrain !== true) return;
  try {
    await client.resource(syncTargets).sameVersion(current).remove({ signal });
  } catch (error) {
    if (!isStatusError(error, "NotFound")) throw error;
  }
}

function same(a: unknown, b: unknown): boolean {
  return jsonEqual((a ?? null) as JsonValue, (b ?? null) as JsonValue);
}
