/**
 * The destination of a move: its steps, here, and how a source asks for them over the connection
 * between shards. Only other shards reach them.
 */
import { jsonResponse, statusResponse, toStatusError } from "@kcp-ts/apiserver/content";
import type { ApiRequest, ApiResponse } from "@kcp-ts/apiserver/request/api-request";
import {
  type ExportRecord,
  isStorageError,
  type MoveRecord,
  type Revision,
  type Storage,
} from "@kcp-ts/apiserver/storage";
import type { WatchCache } from "@kcp-ts/apiserver/watch-cache";
import { isJsonObject, parseJson } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import type { MoveGate } from "./move-gate.ts";
import { decodeRecords, encodeRecords } from "./move-wire.ts";
import type { ShardConnections, ShardRoutes } from "./shard-connections.ts";
import { operationPrefix, textOf } from "./shard-operations.ts";

/** Below what the front proxy keeps from clients. */
export const movesPrefix = `${operationPrefix}moves/`;

/** The steps in their order; each may be repeated. */
export interface MoveDestination {
  /** How far the import is; undefined where there is none. */
  start(cluster: ClusterName, note: string): Promise<MoveProgress>;
  import(cluster: ClusterName, records: readonly ExportRecord[]): Promise<MoveProgress>;
  /** The cluster is complete and can be read here, and its writes wait. */
  seal(cluster: ClusterName, final: Revision): Promise<void>;
  /** The cluster is this shard's: the source has stored that. */
  open(cluster: ClusterName, version: number): Promise<void>;
  discard(cluster: ClusterName): Promise<void>;
  /** Stores a route, at the shard that the cluster's name carries. */
  route(cluster: ClusterName, shard: string, version: number): Promise<void>;
}

export type MoveProgress = Pick<MoveRecord, "hasState" | "upTo">;

export interface DestinationOptions {
  readonly storage: Storage;
  readonly watchCache: Pick<WatchCache, "hub" | "releaseCluster">;
  readonly routes: ShardRoutes;
  readonly gate: MoveGate;
  readonly signal: AbortSignal;
  /** The announcement of the other objects goes on after the move. */
  readonly onError: (error: unknown) => void;
}

export class LocalDestination implements MoveDestination {
  readonly #options: DestinationOptions;

  constructor(options: DestinationOptions) {
    this.#options = options;
  }

  async start(cluster: ClusterName, note: string): Promise<MoveProgress> {
    // Sealed before, and not switched: the source has been written since.
    const phase = this.#moves.recordOf(cluster)?.phase;
    if (phase === "sealed" || phase === "discarding") await this.discard(cluster);
    await this.#moves.startImport(cluster, note, this.#options);
    return progressOf(this.#moves.recordOf(cluster));
  }

  async import(cluster: ClusterName, records: readonly ExportRecord[]): Promise<MoveProgress> {
    return progressOf(await this.#moves.import(cluster, records, this.#options));
  }

  async seal(cluster: ClusterName, final: Revision): Promise<void> {
    const { watchCache, gate, signal } = this.#options;
    await gate.close(cluster, 0, signal);
    await this.#moves.seal(cluster, final, { signal });
    // Nothing that was known of the cluster before is true; reads begin with the arrival.
    watchCache.releaseCluster(cluster);
    await this.#moves.announce(cluster, { signal, onlyFirst: true });
    const revision = await this.#options.storage.currentRevision({ signal });
    await watchCache.hub.waitUntilSeen(revision, signal);
  }

  async open(cluster: ClusterName, version: number): Promise<void> {
    const { routes } = this.#options;
    await routes.setRoute(cluster, { shard: routes.ownName, version });
    await this.#moves.open(cluster, this.#options);
    this.#options.gate.open(cluster);
    this.#announceRest(cluster);
  }

  #announceRest(cluster: ClusterName): void {
    this.#moves.announce(cluster, this.#options).catch((error: unknown) => {
      if (!this.#options.signal.aborted) this.#options.onError(error);
    });
  }

  async discard(cluster: ClusterName): Promise<void> {
    await this.#moves.discardImport(cluster, this.#options);
    this.#options.gate.open(cluster);
  }

  async route(cluster: ClusterName, shard: string, version: number): Promise<void> {
    await this.#options.routes.setRoute(cluster, { shard, version });
  }

  /** Whether a cluster has arrived, whatever the routes say yet. */
  hasArrived(cluster: ClusterName): boolean {
    const phase = this.#options.storage.moves?.recordOf(cluster)?.phase;
    return phase === "sealed" || phase === "open";
  }

  /** After a restart: writes of arrived clusters wait, and objects are still to be announced. */
  async resume(): Promise<void> {
    const { storage, gate, signal } = this.#options;
    for (const { cluster, phase, announcedAt } of storage.moves?.records() ?? []) {
      if (phase === "sealed") await gate.close(cluster, 0, signal);
      else if (phase === "open" && announcedAt === 0) this.#announceRest(cluster);
    }
  }

  get #moves() {
    const { moves } = this.#options.storage;
    if (moves === undefined)
      throw statusError.badRequest("the store of that shard cannot take clusters of others");
    return moves;
  }
}

/** Serves the steps for a source on another shard. */
export async function serveDestination(
  request: ApiRequest,
  destination: MoveDestination,
): Promise<ApiResponse> {
  const [name = "", step = "", ...values] = request.target.slice(movesPrefix.length).split("/");
  const cluster = decodeURIComponent(name) as ClusterName;
  const body = await request.readBody(bodyBytesMax);
  try {
    return jsonResponse(200, (await takeStep(destination, cluster, { step, values, body })) ?? {});
  } catch (error) {
    const status = isStorageError(error, "conflict")
      ? statusError.badRequest(error.message)
      : toStatusError(error);
    return statusResponse(status);
  }
}

interface Step {
  readonly step: string;
  readonly values: readonly string[];
  readonly body: Uint8Array;
}

async function takeStep(
  destination: MoveDestination,
  cluster: ClusterName,
  { step, values, body }: Step,
): Promise<MoveProgress | undefined> {
  const [first = "", second = ""] = values;
  if (step === "start") return await destination.start(cluster, Buffer.from(body).toString());
  if (step === "import") return await destination.import(cluster, decodeRecords(body));
  if (step === "seal") await destination.seal(cluster, Number(first) as Revision);
  else if (step === "open") await destination.open(cluster, Number(first));
  else if (step === "discard") await destination.discard(cluster);
  else if (step === "route") await destination.route(cluster, first, Number(second));
  else throw statusError.pathNotFound();
  return undefined;
}

/** The steps on another shard. */
export class RemoteDestination implements MoveDestination {
  readonly #connections: ShardConnections;
  readonly #shard: string;
  readonly #signal: AbortSignal;

  constructor(connections: ShardConnections, shard: string, signal: AbortSignal) {
    this.#connections = connections;
    this.#shard = shard;
    this.#signal = signal;
  }

  start(cluster: ClusterName, note: string): Promise<MoveProgress> {
    return this.#ask(`${cluster}/start`, Buffer.from(note));
  }

  import(cluster: ClusterName, records: readonly ExportRecord[]): Promise<MoveProgress> {
    return this.#ask(`${cluster}/import`, encodeRecords(records));
  }

  async seal(cluster: ClusterName, final: Revision): Promise<void> {
    await this.#ask(`${cluster}/seal/${final}`);
  }

  async open(cluster: ClusterName, version: number): Promise<void> {
    await this.#ask(`${cluster}/open/${version}`);
  }

  async discard(cluster: ClusterName): Promise<void> {
    await this.#ask(`${cluster}/discard`);
  }

  async route(cluster: ClusterName, shard: string, version: number): Promise<void> {
    await this.#ask(`${cluster}/route/${shard}/${version}`);
  }

  async #ask(step: string, body: Uint8Array = new Uint8Array()): Promise<MoveProgress> {
    const target = `${movesPrefix}${step}`;
    const signal = this.#signal;
    const response = await this.#connections.request(this.#shard, {
      method: "POST",
      target,
      body,
      signal,
    });
    const text = await textOf(response);
    if (response.status !== 200)
      throw statusError.unavailable(`${this.#shard}: ${messageIn(text)}`);
    return parseJson(text).value as unknown as MoveProgress;
  }
}

function messageIn(text: string): string {
  const value = parseJson(text).value;
  return isJsonObject(value) ? String(value["message"]) : text;
}

function progressOf(record: MoveRecord | undefined): MoveProgress {
  if (record === undefined) throw statusError.unavailable("the import has ended");
  return { hasState: record.hasState, upTo: record.upTo };
}

const bodyBytesMax = 16 << 20;
