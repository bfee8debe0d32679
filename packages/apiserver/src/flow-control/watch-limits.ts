/**
 * WatchLimiter: the number of watches that one logical cluster, and one user, may have open.
 * Clusters and users without open watches have no state here.
 *
 * A watch holds its slot from the request on, so that concurrent requests cannot exceed the limit
 * together, and releases it when the watch is rejected or over, or its client has disconnected.
 */
import { tooBusy } from "../event-loop/index.ts";
import { type ApiResponse, cancelBody, isObservable } from "../request/api-request.ts";

export interface WatchLimits {
  /** 0 is no limit, here and below. */
  readonly watchesPerClusterMax: number;
  readonly watchesPerUserMax: number;
}

export interface WatchSlot {
  /** Releases the slot; idempotent. */
  release(): void;
}

export class WatchLimiter {
  readonly #limits: WatchLimits;
  readonly #ofClusters = new Map<string, number>();
  readonly #ofUsers = new Map<string, number>();

  constructor(limits: WatchLimits) {
    this.#limits = limits;
  }

  /** Throws a 429 when the limit is reached. */
  acquire(cluster: string, username: string): WatchSlot {
    const { watchesPerClusterMax: cMax, watchesPerUserMax: uMax } = this.#limits;
    const user = keyOf(cluster, username);
    if (cMax > 0 && (this.#ofClusters.get(cluster) ?? 0) >= cMax) throw tooBusy;
    if (uMax > 0 && (this.#ofUsers.get(user) ?? 0) >= uMax) throw tooBusy;
    this.#add(cluster, user, 1);
    let isLeft = false;
    return {
      release: () => {
        if (isLeft) return;
        isLeft = true;
        this.#add(cluster, user, -1);
      },
    };
  }

  /** The number of clusters and users with open watches. */
  get size(): number {
    return this.#ofClusters.size + this.#ofUsers.size;
  }

  #add(cluster: string, user: string, by: 1 | -1): void {
    add(this.#ofClusters, cluster, by);
    add(this.#ofUsers, user, by);
  }
}

/**
 * The same response with a stream that holds the slot while it is open. Before the stream is read,
 * a disconnect of the client releases the slot.
 */
export function holdSlotWhileOpen(
  response: ApiResponse,
  slot: WatchSlot,
  signal: AbortSignal,
): ApiResponse {
  const leave = () => slot.release();
  const onBegin = () => signal.removeEventListener("abort", leave);
  const events = response.body as AsyncIterable<Uint8Array>;
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });
  if (!isObservable(events)) return { ...response, body: observeStream(events, onBegin, leave) };
  events.observe({ onBegin, onEnd: leave, onUnread: leave });
  return response;
}

/**
 * Calls `onEnd` when the stream ends, also when the stream is left before its first read: a
 * generator that has not started runs no finally block.
 */
function observeStream(
  events: AsyncIterable<Uint8Array>,
  onBegin: () => void,
  onEnd: () => void,
): AsyncIterable<Uint8Array> {
  return {
    [Symbol.asyncIterator]() {
      let source: AsyncIterator<Uint8Array> | undefined;
      const ending = (result: IteratorResult<Uint8Array>) => {
        if (result.done === true) onEnd();
        return result;
      };
      return {
        async next() {
          onBegin();
          source ??= events[Symbol.asyncIterator]();
          try {
            return ending(await source.next());
          } catch (error) {
            onEnd();
            throw error;
          }
        },
        async return() {
          onEnd();
          if (source === undefined) cancelBody(events);
          else await source.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
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
