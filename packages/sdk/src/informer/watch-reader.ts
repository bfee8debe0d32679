/**
 * WatchReader: reads the watches of one resource under timeouts, since a connection may die
 * silently. It knows neither the meaning of the events nor the reaction to the end of a watch.
 */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import {
  initialEventsEndAnnotation,
  isTransportError,
  type KubernetesObject,
  type MemberTree,
  type SelectorOptions,
  stringMember,
  type WatchEvent,
  type WatchOptions,
} from "../client/index.ts";
import { isWatchListUnsupported, WatchListUnsupportedError } from "./failure.ts";
import { ReadLimit } from "./read-limit.ts";
import type { ListWatch } from "./wildcard-resource.ts";

export interface WatchReaderOptions<Object extends KubernetesObject> {
  readonly resource: Pick<ListWatch<Object>, "watchBatches">;
  readonly selector?: SelectorOptions | undefined;
  /** All members that are read; all members of the object if omitted. */
  readonly members?: MemberTree | undefined;
  /** Called for an object that cannot be parsed, which does not end the watch. */
  readonly onUnreadable: (error: unknown) => void;
  readonly clock: Clock;
  readonly random: Random;
}

/** The consumer of a watch that begins with the complete state. */
export interface StateReader<Object extends KubernetesObject> {
  readonly signal: AbortSignal;
  /** The events of the state, without bookmarks. */
  readonly state: (events: readonly StateEvent<Object>[]) => void | Promise<void>;
  /** The state is complete. */
  readonly synced: (resourceVersion: string) => void | Promise<void>;
  readonly changes: (events: readonly WatchEvent<Object>[]) => void | Promise<void>;
}

export type StateEvent<Object extends KubernetesObject> = Exclude<
  WatchEvent<Object>,
  { readonly type: "BOOKMARK" }
>;

/** How long a server may take to accept a watch. */
const openTimeoutMs = 30_000;
/**
 * How long the initial events may pause before the server counts as one that does not end them with
 * a bookmark.
 */
const initialEventsPauseMs = 60_000;
/**
 * The client requests that the server ends a watch after five to ten minutes; a watch that is still
 * open a little later is dead.
 */
const watchSecondsMin = 300;
const watchGraceMs = 30_000;

export class WatchReader<Object extends KubernetesObject> {
  readonly #options: WatchReaderOptions<Object>;

  constructor(options: WatchReaderOptions<Object>) {
    this.#options = options;
  }

  /** Reads the state, then the changes, on one stream until it ends. */
  async stream(reader: StateReader<Object>): Promise<void> {
    let isInitial = true;
    let isOpen = false;
    const onOpen = () => {
      isOpen = true;
    };
    const take = async (batch: readonly WatchEvent<Object>[]) => {
      if (!isInitial) return reader.changes(batch);
      const end = batch.findIndex(isInitialEventsEnd);
      const before = end === -1 ? batch : batch.slice(0, end);
      const state = before.filter(
        (event): event is StateEvent<Object> => event.type !== "BOOKMARK",
      );
      if (state.length > 0) await reader.state(state);
      if (end === -1) return;
      await reader.synced(batch[end]?.object.metadata.resourceVersion ?? "");
      isInitial = false;
      if (end + 1 < batch.length) await reader.changes(batch.slice(end + 1));
    };
    try {
      const pauseMs = () => (isInitial ? initialEventsPauseMs : undefined);
      const { signal } = reader;
      await this.#read({ signal, sendInitialEvents: true, onOpen }, { take, pauseMs });
    } catch (error) {
      const isEndless = isOpen && isTransportError(error, "timeout");
      if (isInitial && (isEndless || isWatchListUnsupported(error, { isOpen }))) {
        throw new WatchListUnsupportedError("the server does not send initial events", {
          cause: error,
        });
      }
      throw error;
    }
  }

  /** Reads the changes after a version until the stream ends. */
  async watch({
    changes,
    ...options
  }: Pick<StateReader<Object>, "signal" | "changes"> & {
    readonly resourceVersion: string;
    /** The server has accepted the watch. */
    readonly onOpen?: () => void;
  }): Promise<void> {
    await this.#read(options, { take: changes, pauseMs: () => undefined });
  }

  /**
   * Three timeouts: for the opening of a watch, for its lifetime, and for pauses while `pauseMs` is
   * set.
   */
  async #read(
    options: WatchOptions & { readonly signal: AbortSignal },
    reader: {
      readonly take: (batch: readonly WatchEvent<Object>[]) => void | Promise<void>;
      readonly pauseMs: () => number | undefined;
    },
  ): Promise<void> {
    const { resource, clock, random, selector, members, onUnreadable } = this.#options;
    const timeoutSeconds = Math.floor(watchSecondsMin * (1 + random.next()));
    const limit = new ReadLimit(clock, options.signal);
    limit.set(openTimeoutMs, "the server has not answered a watch");
    const untilEnd = timeoutSeconds * 1000 + watchGraceMs;
    const diesAtMs = clock.monotonic() + untilEnd;
    const setLimit = () => {
      const pauseMs = reader.pauseMs();
      if (pauseMs !== undefined) limit.set(pauseMs, "the initial events have not ended");
      else limit.set(diesAtMs - clock.monotonic(), "the server has not ended a watch");
    };
    try {
      const batches = resource.watchBatches({
        ...selector,
        ...options,
        members,
        onUnreadable,
        signal: limit.signal,
        retriesMax: 0,
        allowWatchBookmarks: true,
        timeoutSeconds,
        onOpen: () => {
          setLimit();
          options.onOpen?.();
        },
      });
      for await (const batch of batches) {
        const pausedMs = reader.pauseMs();
        await reader.take(batch);
        const pauseMs = reader.pauseMs();
        if (pauseMs !== undefined) limit.extend(pauseMs);
        else if (pausedMs !== undefined) setLimit();
      }
      limit.throwIfExceeded();
    } finally {
      limit.cancel();
    }
  }
}

function isInitialEventsEnd(event: WatchEvent): boolean {
  return (
    event.type === "BOOKMARK" &&
    stringMember(event.object.metadata.annotations, initialEventsEndAnnotation) === "true"
  );
}
