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
  isOnlyHeartbeat,
  type SeverityCondition,
  type SyncTarget,
  syncTargets,
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
const concurrency = 4;

export class DrainController {
  readonly controller: Controller;
  readonly #options: DrainControllerOptions;
  readonly #clock: Clock;
  readonly #events: EventRecorder;

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
      predicate: (change) =>
        change.type !== "updated" || !isOnlyHeartbeat(change.object, change.previous),
      map: ({ spec, status }, key) =>
        spec?.drain === undefined && status?.drain === undefined ? [] : [key],
    });
  }

  async close(): Promise<void> {
    await this.#events.flush();
  }

  async #reconcile(key: ObjectKey, { client, signal }: ReconcileContext): Promise<ReconcileResult> {
    const { name, cluster } = key;
    const target = await client.resource(syncTargets).find({ name }, { signal });
    if (target === undefined || isBeingDeleted(target)) return;
    const { spec = {}, status = {} } = target;
    if (spec.drain === undefined) {
      if (status.drain !== undefined) await this.#takeBack(key, target, client, signal);
      return;
    }
    const { uid = "" } = target.metadata;
    const objects = await drainedObjectsOf(client, { cluster, name, uid }, signal);
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
      nowMs: this.#clock.now(),
    });
    for (const one of step.toEvict as readonly FoundDrainedObject[]) await mark(one, true, signal);
    await this.#say(target, step, client, signal);
    for (const event of step.events) this.#events.record(cluster, target, event);
    if (step.isDrained && spec.drain.deleteAfterDrain === true) {
      await deleteSyncTarget(target, client, signal);
      return;
    }
    // A drained cluster stays empty unless a user assigns an object to it.
    return {
      requeueAfterMs: (this.#options.pollMs ?? drainPollMsDefault) * (step.isDrained ? 10 : 1),
    };
  }

  async #say(
    target: SyncTarget,
    { status: drain, condition }: DrainStep,
    client: Client,
    signal: AbortSignal,
  ): Promise<void> {
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
    if (isSaid || shown === undefined) return;
    const severity = condition.status === "True" ? {} : { severity: "Info" as const };
    await applyOwn(client, target, { drain, conditions: [{ ...shown, ...severity }] }, signal);
  }

  /** Cancels a drain: removes the selection for eviction and the drain status. */
  async #takeBack(
    { cluster, name }: ObjectKey,
    target: SyncTarget,
    client: Client,
    signal: AbortSignal,
  ): Promise<void> {
    const { uid = "" } = target.metadata;
    for (const one of await drainedObjectsOf(client, { cluster, name, uid }, signal))
      if (one.isEvicting) await mark(one, false, signal);
    await applyOwn(client, target, {}, signal);
    const message = `${name} is no longer drained: what is in the cluster stays`;
    this.#events.record(cluster, target, { type: "Normal", reason: "DrainCancelled", message });
  }
}

async function mark(
  { client, resource, namespace, name, uid }: FoundDrainedObject,
  isMarked: boolean,
  signal: AbortSignal,
): Promise<void> {
  const annotations = { [evictAnnotation]: isMarked ? "true" : null };
  try {
    await client
      .resource(resource)
      .sameObject({ metadata: { name, namespace, uid } })
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
  const options = { fieldManager: drainFieldManager, force: true, signal };
  await client.resource(syncTargets).sameObject(target).applyStatusFields(status, options);
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
