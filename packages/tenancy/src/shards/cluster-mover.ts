/**
 * Moves logical clusters of this shard to others.
 *
 *     copy the state ─ copy changes, round by round ─ writes wait, and are fenced ─ the last changes
 *     ─ seal and read there ─ the route is stored here: the switch ─ write there ─ clean up here
 *
 * The record in the store, and the stored route, are the state of a move: a mover that starts
 * again goes on from them. Until the switch a move can be cancelled; from then on it only goes
 * forward. Whatever fails is tried again, or cancelled before the switch; reads are served by
 * exactly one of two complete copies at any time, and writes by at most one.
 */
import {
  clusterPrefix,
  type ExportRecord,
  exportChanges,
  exportState,
  type MoveRecord,
  type ResourceKey,
  type Revision,
  type Storage,
  storedResources,
} from "@kcp-ts/apiserver/storage";
import type { WatchCache } from "@kcp-ts/apiserver/watch-cache";
import { type Clock, sleep } from "@kcp-ts/machinery/base";
import { parseJson } from "@kcp-ts/machinery/json";
import { type ClusterName, rootCluster } from "@kcp-ts/machinery/names";
import { isStatusError, statusError } from "@kcp-ts/machinery/status";
import type { MoveDestination } from "./move-destination.ts";
import type { MoveGate } from "./move-gate.ts";
import { recordBytes } from "./move-wire.ts";
import type { ShardRoutes } from "./shard-connections.ts";

export interface ClusterMoverOptions {
  readonly storage: Storage;
  readonly watchCache: Pick<WatchCache, "hub" | "releaseCluster">;
  readonly routes: ShardRoutes;
  readonly gate: MoveGate;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The names of the other shards. */
  readonly shards: () => readonly string[];
  readonly destination: (shard: string) => MoveDestination;
  /** The shard that a cluster's name carries. */
  readonly firstShardOf: (cluster: ClusterName) => string;
  readonly onError: (error: unknown, cluster: ClusterName) => void;
  /** The time for reads that began here before the switch. */
  readonly readsEndMs?: number | undefined;
}

export type MoveStage =
  | "Copying"
  | "CatchingUp"
  | "Switching"
  | "Cleaning"
  | "Done"
  | "Cancelling"
  | "Cancelled";

export interface MoveStatus {
  readonly cluster: ClusterName;
  readonly to: string;
  readonly stage: MoveStage;
  readonly objects: number;
  readonly changes: number;
  /** How long writes waited. */
  readonly pauseMs: number | undefined;
  readonly message: string | undefined;
}

/** What the record of a move says beside its phase. */
interface Note {
  readonly to: string;
  readonly version: number;
  readonly cancelled?: true;
}

interface Running {
  status: MoveStatus;
  cancel: AbortController;
  readonly done: Promise<void>;
}

const batchRecordsMax = 500;
const batchBytesMax = 512 << 10;
/** The changes of a round after which writes are held: they are copied in some milliseconds. */
const lastRoundChanges = 200;
const roundsMax = 50;
/** Writes in flight are waited for this long, before the fence rejects them. */
const inFlightWaitMs = 200;
/** A switch that takes longer is given up, and tried again. */
const retryMs = 500;
const readsEndDefaultMs = 5_000;
const statusesMax = 1000;

export class ClusterMover {
  readonly #options: ClusterMoverOptions;
  readonly #running = new Map<ClusterName, Running>();
  /** Moves that have ended, the newest last. */
  readonly #ended = new Map<ClusterName, MoveStatus>();

  constructor(options: ClusterMoverOptions) {
    this.#options = options;
  }

  /** Goes on with the moves that a process before has begun. */
  resume(): void {
    for (const { cluster, phase, note } of this.#options.storage.moves?.records() ?? []) {
      if (phase !== "copying" && phase !== "fenced" && phase !== "left") continue;
      this.#run(cluster, parseJson(note).value as unknown as Note);
    }
  }

  statusOf(cluster: ClusterName): MoveStatus | undefined {
    return this.#running.get(cluster)?.status ?? this.#ended.get(cluster);
  }

  statuses(): readonly MoveStatus[] {
    return [...this.#ended.values(), ...[...this.#running.values()].map(({ status }) => status)];
  }

  /** Begins a move; throws a StatusError where it cannot begin. */
  async move(cluster: ClusterName, to: string): Promise<MoveStatus> {
    const { routes, storage, signal } = this.#options;
    const running = this.#running.get(cluster);
    if (running !== undefined) {
      if (running.status.to === to && running.status.stage !== "Cancelling") return running.status;
      throw statusError.badRequest(`${cluster} is moving to ${running.status.to} already`);
    }
    if (routes.shardOf(cluster) !== undefined)
      throw statusError.badRequest(`${cluster} is not on this shard`);
    const { moves } = storage;
    if (moves === undefined)
      throw statusError.badRequest("the store of this shard cannot give clusters to others");
    if (to === routes.ownName) return { ...newStatus(cluster, to), stage: "Done" };
    if (!this.#options.shards().includes(to))
      throw statusError.badRequest(`there is no shard ${to}`);
    await this.#checkMovable(cluster);
    const version = (routes.routeOf(cluster)?.version ?? 0) + 1;
    const note: Note = { to, version };
    await moves.startExport(cluster, JSON.stringify(note), { signal });
    try {
      await this.#options.destination(to).start(cluster, JSON.stringify(note));
    } catch (error) {
      // A destination that is away is waited for.
      if (isRefusal(error)) {
        await moves.cancelExport(cluster, { signal });
        throw error;
      }
    }
    return this.#run(cluster, note).status;
  }

  /** Throws for what other clusters of this shard, or agents outside, depend on. */
  async #checkMovable(cluster: ClusterName): Promise<void> {
    const { storage, signal } = this.#options;
    if (cluster === rootCluster || cluster.startsWith("system:"))
      throw statusError.badRequest(`${cluster} belongs to its shard`);
    for await (const resource of storedResources(storage, undefined, signal)) {
      const reason = notMovable(resource);
      if (reason === undefined) continue;
      const count = await storage.count(clusterPrefix({ ...resource, cluster }), { signal });
      if (count > 0)
        throw statusError.badRequest(
          `${cluster} has ${count} ${resource.resource}.${resource.group}: ${reason}`,
        );
    }
  }

  /** Cancels a move before its switch. */
  cancel(cluster: ClusterName): MoveStatus {
    const running = this.#running.get(cluster);
    if (running === undefined) throw statusError.badRequest(`${cluster} is not moving`);
    const { stage } = running.status;
    if (stage !== "Copying" && stage !== "CatchingUp" && stage !== "Cancelling")
      throw statusError.badRequest(`${cluster} is at ${stage}: move it back instead`);
    running.cancel.abort();
    this.#say(running, { stage: "Cancelling" });
    return running.status;
  }

  /** Resolves when a move has ended, or the process ends. */
  async ended(cluster: ClusterName): Promise<MoveStatus | undefined> {
    await this.#running.get(cluster)?.done;
    return this.statusOf(cluster);
  }

  #run(cluster: ClusterName, note: Note): Running {
    const stage = note.cancelled === true ? "Cancelling" : "Copying";
    const running: Running = {
      status: { ...newStatus(cluster, note.to), stage },
      cancel: new AbortController(),
      done: Promise.resolve().then(() => this.#untilEnded(running, note)),
    };
    if (note.cancelled === true) running.cancel.abort();
    this.#running.set(cluster, running);
    return running;
  }

  async #untilEnded(running: Running, note: Note): Promise<void> {
    const { clock, signal, onError } = this.#options;
    const { cluster } = running.status;
    while (!signal.aborted) {
      try {
        const stage = await this.#attempt(running, note);
        this.#say(running, { stage });
        this.#running.delete(cluster);
        this.#ended.delete(cluster);
        this.#ended.set(cluster, running.status);
        const [oldest] = this.#ended.keys();
        if (this.#ended.size > statusesMax && oldest !== undefined) this.#ended.delete(oldest);
        return;
      } catch (error) {
        if (signal.aborted) return;
        const message = error instanceof Error ? error.message : String(error);
        this.#say(running, { message });
        if (isRefusal(error)) running.cancel.abort();
        if (!running.cancel.signal.aborted) onError(error, cluster);
        await sleep(clock, retryMs, signal).catch(() => undefined);
      }
    }
  }

  /** One attempt to bring a move to its end, from whatever state it is in. */
  async #attempt(running: Running, note: Note): Promise<MoveStage> {
    const { routes } = this.#options;
    const { cluster } = running.status;
    const isSwitched = routes.routeOf(cluster)?.shard === note.to;
    if (!isSwitched && running.cancel.signal.aborted) return await this.#cancel(cluster, note);
    if (!isSwitched) {
      const isDone = await this.#copyAndSwitch(running, note);
      if (!isDone) return await this.#cancel(cluster, note);
      this.#say(running, { message: undefined });
    }
    await this.#finish(running, note);
    return "Done";
  }

  /** False when the move was cancelled. */
  async #copyAndSwitch(running: Running, note: Note): Promise<boolean> {
    const { storage, gate, routes, clock, signal } = this.#options;
    const { cluster } = running.status;
    const to = this.#options.destination(note.to);
    const isCancelled = () => running.cancel.signal.aborted;
    if (this.#moves.recordOf(cluster)?.phase === "fenced") await this.#reopen(cluster, note);
    let progress = await to.start(cluster, JSON.stringify(note));
    this.#say(running, { stage: "Copying" });
    if (!progress.hasState) {
      for await (const batch of batches(exportState(storage, cluster, { signal }))) {
        if (isCancelled()) return false;
        progress = await to.import(cluster, batch);
        this.#say(running, { objects: running.status.objects + batch.length });
      }
    }
    this.#say(running, { stage: "CatchingUp" });
    gate.watch(cluster);
    for (let round = 0; round < roundsMax; round++) {
      if (isCancelled()) return false;
      const copied = await this.#copyChanges(running, to, progress.upTo, undefined);
      progress = copied;
      if (copied.count <= lastRoundChanges) break;
    }
    const held = clock.monotonic();
    await gate.close(cluster, inFlightWaitMs, signal);
    try {
      if (isCancelled()) return false;
      this.#say(running, { stage: "Switching" });
      const final = await this.#moves.fence(cluster, { signal });
      // What keeps a cluster where it is may have been created while it was copied.
      await this.#checkMovable(cluster);
      await this.#copyChanges(running, to, progress.upTo, final);
      await to.seal(cluster, final);
      await routes.setRoute(cluster, { shard: note.to, version: note.version });
      await to.open(cluster, note.version);
    } catch (error) {
      // Before the switch writes are accepted here again until the next attempt.
      if (routes.routeOf(cluster)?.shard !== note.to) await this.#reopen(cluster, note);
      throw error;
    }
    gate.open(cluster);
    this.#say(running, { pauseMs: clock.monotonic() - held });
    return true;
  }

  async #reopen(cluster: ClusterName, note: Note): Promise<void> {
    const { signal } = this.#options;
    // What was sealed is never opened without the switch: the next attempt begins with removing it.
    await this.#moves.startExport(cluster, JSON.stringify(note), { signal });
    this.#options.gate.open(cluster);
  }

  async #finish(running: Running, note: Note): Promise<void> {
    const { routes, gate, watchCache, clock, signal, storage } = this.#options;
    const { cluster } = running.status;
    const to = this.#options.destination(note.to);
    await to.open(cluster, note.version);
    gate.open(cluster);
    const record = this.#moves.recordOf(cluster);
    if (record?.phase === "fenced") {
      this.#say(running, { stage: "Cleaning" });
      // Watches get every event before they end, and resume at the destination.
      const revision = await storage.currentRevision({ signal });
      await watchCache.hub.waitUntilSeen(revision, signal);
      watchCache.releaseCluster(cluster);
      const first = this.#options.firstShardOf(cluster);
      if (first !== routes.ownName && first !== note.to)
        await this.#options.destination(first).route(cluster, note.to, note.version);
      await sleep(clock, this.#options.readsEndMs ?? readsEndDefaultMs, signal);
      watchCache.releaseCluster(cluster);
      await this.#moves.release(cluster, { signal });
    }
    this.#say(running, { stage: "Cleaning" });
    await this.#moves.removeReleased(cluster, { signal });
  }

  async #cancel(cluster: ClusterName, note: Note): Promise<MoveStage> {
    const { signal, gate } = this.#options;
    const cancelled = JSON.stringify({ ...note, cancelled: true });
    if (isUnderWay(this.#moves.recordOf(cluster)))
      await this.#moves.startExport(cluster, cancelled, { signal });
    gate.open(cluster);
    await this.#options.destination(note.to).discard(cluster);
    await this.#moves.cancelExport(cluster, { signal });
    return "Cancelled";
  }

  /** Copies the changes up to a revision, the present one if undefined. */
  async #copyChanges(
    running: Running,
    to: MoveDestination,
    from: Revision,
    final: Revision | undefined,
  ): Promise<{ readonly upTo: Revision; readonly hasState: boolean; readonly count: number }> {
    const { storage, signal } = this.#options;
    const { cluster } = running.status;
    const upTo = final ?? (await storage.currentRevision({ signal }));
    let progress = { upTo: from, hasState: true };
    let count = 0;
    while (progress.upTo < upTo) {
      const range = { after: progress.upTo, upTo, changesMax: 5000 };
      for await (const batch of batches(exportChanges(storage, cluster, range, { signal }))) {
        progress = await to.import(cluster, batch);
        count += batch.filter(({ kind }) => kind === "change").length;
      }
    }
    this.#say(running, { changes: running.status.changes + count });
    return { ...progress, count };
  }

  #say(running: Running, change: Partial<MoveStatus>): void {
    running.status = { ...running.status, ...change };
  }

  get #moves() {
    const { moves } = this.#options.storage;
    if (moves === undefined) throw statusError.unavailable("this store has no moves");
    return moves;
  }
}

function newStatus(cluster: ClusterName, to: string): MoveStatus {
  const [pauseMs, message] = [undefined, undefined];
  return { cluster, to, stage: "Copying", objects: 0, changes: 0, pauseMs, message };
}

/** Why clusters with objects of a kind stay where they are. */
function notMovable({ group, resource }: ResourceKey): string | undefined {
  if (group === "workload.kcp.io" || group === "scheduling.kcp.io")
    return "workloads on physical clusters do not move between shards yet";
  if (group === "apis.kcp.io" && providerKinds.has(resource))
    return "what other workspaces bind does not move between shards yet";
  return undefined;
}

const providerKinds: ReadonlySet<string> = new Set(["apiexports", "apiresourceschemas"]);

/** The destination will not take the cluster, however often it is asked. */
function isRefusal(error: unknown): boolean {
  return isStatusError(error, "BadRequest");
}

function isUnderWay(record: MoveRecord | undefined): boolean {
  return record?.phase === "copying" || record?.phase === "fenced";
}

async function* batches(
  records: AsyncIterable<ExportRecord>,
): AsyncGenerator<readonly ExportRecord[]> {
  let batch: ExportRecord[] = [];
  let bytes = 0;
  for await (const record of records) {
    batch.push(record);
    bytes += recordBytes(record);
    if (batch.length < batchRecordsMax && bytes < batchBytesMax) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}
