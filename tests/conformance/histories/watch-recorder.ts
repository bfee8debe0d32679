/**
 * A client that watches, comes back where it was when the stream ends, at any of the servers, and
 * begins anew when it was away for too long.
 */
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import {
  type KeyedState,
  type ListMode,
  revisionOf,
  type Scope,
  type SeededRandom,
  type WatchEvent,
  type WatchSegment,
} from "@kcp-ts/testkit";
import type { Connection } from "./connection.ts";
import { collectionPath, type RecordedObject, readObject } from "./recorded-kind.ts";
import type { Recorder } from "./recorder.ts";

export interface WatcherOptions {
  readonly name: string;
  readonly recorder: Recorder;
  readonly connections: readonly Connection[];
  readonly random: SeededRandom;
  readonly scope: Scope;
  /** A revision to begin behind, or how its initial state is chosen. */
  readonly begin: number | ListMode;
}

interface Line {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: RecordedObject & { readonly code?: number; readonly message?: string };
}

/** How a stream went: it may be gone on with, or its history is forgotten. */
type End = "ended" | "expired";

export class Watcher {
  readonly #options: WatcherOptions;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;
  #generation = 0;
  #begin: number | ListMode;
  #isResumed = false;
  /** Whether the last answer was a stream; who is refused waits longer. */
  #wasServed = false;
  /**
   * The revision up to which everything was heard; undefined before the first state is complete.
   */
  position: number | undefined;
  lastError = "";

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.#begin = options.begin;
    this.#done = this.#run();
  }

  get text(): string {
    const { name, scope } = this.#options;
    return `${name} of ${JSON.stringify(scope)}`;
  }

  get scope(): Scope {
    return this.#options.scope;
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("the history is over"));
    await this.#done;
  }

  async #run(): Promise<void> {
    const { random } = this.#options;
    while (!this.#stop.signal.aborted) {
      const end = await this.#once().catch((error): End => {
        this.lastError = String(error);
        return "ended";
      });
      if (end === "expired") {
        this.#generation++;
        this.#begin = { kind: "quorum" };
        this.#isResumed = false;
      } else if (this.position !== undefined) {
        this.#begin = this.position;
        this.#isResumed = true;
      }
      const waitMs = (this.#wasServed ? 5 : 60) + random.integer(25);
      await sleep(systemClock, waitMs, this.#stop.signal).catch(() => {});
    }
  }

  async #once(): Promise<End> {
    const { recorder, connections, scope, random, name } = this.#options;
    const connection = connections[random.integer(connections.length)] as Connection;
    const openedAt = systemClock.monotonic();
    const leaving = new AbortController();
    // Some leave by themselves; others stay until something happens to them.
    const timer = random.chance(0.3)
      ? systemClock.schedule(20 + random.integer(300), () => leaving.abort(new Error("left")))
      : undefined;
    const path = collectionPath(recorder.kind, scope, watchQuery(this.#begin, random));
    const segment = new Segment(
      `${name}.${this.#generation}`,
      scope,
      openedAt,
      this.#begin,
      this.#isResumed,
    );
    try {
      const signal = AbortSignal.any([this.#stop.signal, leaving.signal]);
      this.#wasServed = false;
      const response = await connection.send({ method: "GET", path }, signal);
      if (response.status !== 200) {
        this.lastError = `${response.status} ${await response.body.text()}`;
        return response.status === 410 ? "expired" : "ended";
      }
      this.#wasServed = true;
      for await (const line of lines(response.body)) {
        if (line.type === "ERROR") {
          this.lastError = line.object.message ?? "";
          return line.object.code === 410 ? "expired" : "ended";
        }
        segment.take(line);
        this.position = segment.position ?? this.position;
      }
      return "ended";
    } finally {
      timer?.cancel();
      if (this.#wasServed) this.#keep(segment);
    }
  }

  #keep(segment: Segment): void {
    const { recorder } = this.#options;
    recorder.watches.push(segment.record());
    // An initial state that was cut off is no state; what was in it is true nevertheless.
    for (const { key, state } of segment.unfinished()) {
      recorder.staleGets.push({
        client: `watch ${segment.watcher}`,
        key,
        invokedAt: segment.openedAt,
        returnedAt: systemClock.monotonic(),
        state,
      });
    }
  }
}

/** One answer, as it comes in. */
class Segment {
  readonly watcher: string;
  readonly openedAt: number;
  readonly #scope: Scope;
  readonly #begin: number | ListMode;
  readonly #isResumed: boolean;
  readonly #items: KeyedState[] = [];
  readonly #events: WatchEvent[] = [];
  #initialEnd: { readonly revision: number; readonly at: number } | undefined;

  constructor(
    watcher: string,
    scope: Scope,
    openedAt: number,
    begin: number | ListMode,
    isResumed: boolean,
  ) {
    this.watcher = watcher;
    this.openedAt = openedAt;
    this.#scope = scope;
    this.#begin = begin;
    this.#isResumed = isResumed;
  }

  get position(): number | undefined {
    const last = this.#events.at(-1);
    if (last !== undefined) return revisionOf(last);
    return typeof this.#begin === "number" ? this.#begin : this.#initialEnd?.revision;
  }

  take({ type, object }: Line): void {
    const receivedAt = systemClock.monotonic();
    const isInitial = typeof this.#begin !== "number" && this.#initialEnd === undefined;
    if (type === "BOOKMARK") {
      const { resourceVersion, annotations } = object.metadata;
      const revision = Number(resourceVersion);
      if (!isInitial) this.#events.push({ type, revision, receivedAt });
      else if (annotations?.["k8s.io/initial-events-end"] === "true") {
        this.#initialEnd = { revision, at: receivedAt };
      }
      return;
    }
    const { key, state } = readObject(object);
    if (isInitial) this.#items.push({ key, state });
    else if (type !== "ERROR") this.#events.push({ type, key, state, receivedAt });
  }

  unfinished(): readonly KeyedState[] {
    return this.#initialEnd === undefined && typeof this.#begin !== "number" ? this.#items : [];
  }

  record(): WatchSegment {
    const begin = this.#begin;
    const end = this.#initialEnd;
    return {
      watcher: this.watcher,
      scope: this.#scope,
      openedAt: this.openedAt,
      start:
        typeof begin === "number"
          ? { kind: "after", revision: begin, isResumed: this.#isResumed }
          : { kind: "initial", mode: begin },
      initial: end === undefined ? undefined : { ...end, items: this.#items },
      events: this.#events,
    };
  }
}

/** In seconds of a server whose minutes are short. */
function watchQuery(begin: number | ListMode, random: SeededRandom): Record<string, string> {
  const base = { watch: "true", allowWatchBookmarks: "true" };
  const timed = random.chance(0.5)
    ? { ...base, timeoutSeconds: String(2 + random.integer(10)) }
    : base;
  if (typeof begin === "number") return { ...timed, resourceVersion: String(begin) };
  const revision = begin.kind === "any" ? "0" : "revision" in begin ? String(begin.revision) : "";
  // The older way to begin with the state is as good as the newer one, where it can say the same.
  if (begin.kind !== "notOlderThan" && random.chance(0.5)) {
    return revision === "" ? timed : { ...timed, resourceVersion: revision };
  }
  const initial = { sendInitialEvents: "true", resourceVersionMatch: "NotOlderThan" };
  return { ...timed, ...initial, ...(revision === "" ? {} : { resourceVersion: revision }) };
}

async function* lines(body: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of body) {
    rest += decoder.decode(bytes, { stream: true });
    for (;;) {
      const end = rest.indexOf("\n");
      if (end < 0) break;
      yield JSON.parse(rest.slice(0, end)) as Line;
      rest = rest.slice(end + 1);
    }
  }
}

export function positionText(watcher: Watcher): string {
  return `${watcher.text} is at ${watcher.position}, last error: ${watcher.lastError}`;
}
