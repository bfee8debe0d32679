/**
 * How many watches one logical cluster, and one user, may have open. Those that have none open are not known here.
 *
 * A watch counts from its first chunk to its end; those that begin in the same moment may pass the limit together, by as many as can be
 * at work at once.
 */
import { type ApiResponse, isNoted } from "../request/api-request.ts";
import { tooBusy } from "./too-busy.ts";

export interface WatchLimits {
  /** 0 is no limit, here and below. */
  readonly watchesPerClusterMax: number;
  readonly watchesPerUserMax: number;
}

export class WatchCounter {
  readonly #limits: WatchLimits;
  readonly #ofClusters = new Map<string, number>();
  readonly #ofUsers = new Map<string, number>();

  constructor(limits: WatchLimits) {
    this.#limits = limits;
  }

  /** Throws a 429 when there is no room for one more. */
  check(cluster: string, username: string): void {
    const { watchesPerClusterMax: cMax, watchesPerUserMax: uMax } = this.#limits;
    if (cMax > 0 && (this.#ofClusters.get(cluster) ?? 0) >= cMax) throw tooBusy;
    if (uMax > 0 && (this.#ofUsers.get(keyOf(cluster, username)) ?? 0) >= uMax) throw tooBusy;
  }

  /** The same answer, whose stream is counted while it is open. */
  counted(response: ApiResponse, cluster: string, username: string): ApiResponse {
    const events = response.body as AsyncIterable<Uint8Array>;
    const user = keyOf(cluster, username);
    if (!isNoted(events)) return { ...response, body: this.#count(events, cluster, user) };
    events.note({
      onBegin: () => this.#add(cluster, user, 1),
      onEnd: () => this.#add(cluster, user, -1),
    });
    return response;
  }

  /** Clusters and users with open watches. */
  get size(): number {
    return this.#ofClusters.size + this.#ofUsers.size;
  }

  async *#count(
    events: AsyncIterable<Uint8Array>,
    cluster: string,
    user: string,
  ): AsyncGenerator<Uint8Array> {
    this.#add(cluster, user, 1);
    try {
      yield* events;
    } finally {
      this.#add(cluster, user, -1);
    }
  }

  #add(cluster: string, user: string, by: 1 | -1): void {
    add(this.#ofClusters, cluster, by);
    add(this.#ofUsers, user, by);
  }
}

/** The same name in two clusters is two users. */
function keyOf(cluster: string, username: string): string {
  return `${cluster}\0${username}`;
}

function add(counts: Map<string, number>, key: string, by: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
