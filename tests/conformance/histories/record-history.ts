/**
 * One history: clients and watchers at work on keys of their own while faults happen, then peace,
 * in which everybody must come to the same end.
 */
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import {
  type ListMode,
  type ObjectKey,
  type Scope,
  SeededRandom,
  selects,
  type Violation,
} from "@kcp-ts/testkit";
import { Connection } from "./connection.ts";
import type { HistoryEnvironment } from "./environment.ts";
import { configMaps, widgets } from "./recorded-kind.ts";
import { Recorder } from "./recorder.ts";
import { positionText, Watcher } from "./watch-recorder.ts";
import { type LastSeen, runClient } from "./workload.ts";

export const clusters = ["one", "two"] as const;
const clientsCount = 4;

export interface RecordOptions {
  readonly environment: HistoryEnvironment;
  readonly seed: number;
  /** No other history of the stage has it. */
  readonly name: string;
  /** Called when clients are at work; the fault is over when it resolves. */
  readonly whenReady: () => Promise<void>;
  /** When every fault is over: who has not heard, or does not answer by then, never will. */
  readonly timeoutMs?: number | undefined;
}

export async function recordHistory(options: RecordOptions): Promise<Recorder> {
  const { environment, seed, name, timeoutMs = patienceDefaultMs } = options;
  const random = new SeededRandom(seed);
  const recorder = new Recorder(random.chance(0.5) ? configMaps : widgets);
  const protocol = random.chance(0.2) ? "http1" : "negotiate";
  const connections = environment.servers.map((server) => new Connection(server, protocol));
  const keys = clusters.flatMap((cluster) =>
    ["a", "b"].map((key): ObjectKey => ({ cluster, namespace: name, name: key })),
  );
  const common = { recorder, connections, historyName: name };
  let watchers: readonly Watcher[] = [];
  try {
    await begin(recorder, connections, name);
    watchers = startWatchers({ ...common, random: random.fork() });
    const lastSeen = new Map<string, LastSeen>();
    let isOver = false;
    const clients = Array.from({ length: clientsCount }, (_, index) =>
      runClient(
        { ...common, client: `${name}-c${index}`, random: random.fork(), keys, lastSeen },
        () => isOver,
      ),
    );
    await options.whenReady();
    isOver = true;
    await Promise.all(clients);
    await finish(recorder, connections, keys, name);
    const late = startLateWatchers({ ...common, random: random.fork() });
    watchers = [...watchers, ...late];
    await untilArrived(recorder, watchers, name, timeoutMs);
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    const message = `no write is taken in peace, for ${patienceDefaultMs} ms: ${error.message}`;
    recorder.anomalies.push({ guarantee: "available", message, excerpt: [] });
  } finally {
    await Promise.all(watchers.map((watcher) => watcher.stop()));
    await Promise.all(connections.map((connection) => connection.close()));
  }
  return recorder;
}

/** Its namespaces, and the revision at which they are empty. */
async function begin(
  recorder: Recorder,
  connections: readonly Connection[],
  name: string,
): Promise<void> {
  const [first] = connections as readonly [Connection];
  for (const cluster of clusters) {
    const path = `/clusters/${cluster}/api/v1/namespaces`;
    await retryUntilAvailable(async () => {
      const body = { metadata: { name } };
      const answer = await first.sendRecorded({ method: "POST", path, body });
      const isThere = answer.kind === "answer" && (answer.status === 201 || answer.status === 409);
      return isThere ? undefined : JSON.stringify(answer);
    });
  }
  const scope = { cluster: clusters[0], namespace: name };
  await retryUntilAvailable(async () => {
    const list = await recorder.list(first, "begin", scope, { mode: { kind: "quorum" } });
    recorder.startRevision = list?.revision ?? 0;
    return list === undefined ? "no list" : undefined;
  });
}

interface WatchersOptions {
  readonly recorder: Recorder;
  readonly connections: readonly Connection[];
  readonly random: SeededRandom;
  readonly historyName: string;
}

/**
 * Of all kinds: plain and selecting, from a revision, from the state, of one cluster and of all.
 */
function startWatchers(options: WatchersOptions): readonly Watcher[] {
  const { recorder, random, historyName: namespace } = options;
  const start = recorder.startRevision;
  const one: Scope = { cluster: "one", namespace };
  const two: Scope = { cluster: "two", namespace };
  const modes: [ListMode, ...ListMode[]] = [
    { kind: "any" },
    { kind: "quorum" },
    { kind: "notOlderThan", revision: start },
  ];
  const beginnings: [number | ListMode, ...(number | ListMode)[]] = [start, ...modes];
  const { kind } = recorder;
  const scopes: [Scope, number | ListMode][] = [
    [one, start],
    [two, start],
    [random.pick([one, two]), random.pick(modes)],
    [{ ...random.pick([one, two]), label: ["color", "red"] }, random.pick(beginnings)],
    [
      {
        ...random.pick([one, two]),
        field: random.pick([
          ["metadata.name", "a"],
          kind.hasStatus ? ["spec.color", "red"] : ["metadata.name", "b"],
        ]),
      },
      random.pick(beginnings),
    ],
    ...(kind.isInAllClusters
      ? ([
          [{ cluster: "*", namespace, label: ["history", namespace] }, random.pick(beginnings)],
        ] as [Scope, number | ListMode][])
      : []),
  ];
  return scopes.map(
    ([scope, begin], index) =>
      new Watcher({ ...options, name: `w${index}`, random: random.fork(), scope, begin }),
  );
}

/** When all is over, the same can be heard again from any revision that is not forgotten. */
function startLateWatchers(options: WatchersOptions): readonly Watcher[] {
  const { recorder, random, historyName: namespace } = options;
  const revisions = recorder.operations.flatMap(({ outcome }) =>
    outcome.kind === "object" ? [outcome.state.revision] : [],
  );
  const begin = revisions[random.integer(revisions.length)] ?? recorder.startRevision;
  return clusters.map(
    (cluster, index) =>
      new Watcher({
        ...options,
        name: `late${index}`,
        random: random.fork(),
        scope: { cluster, namespace },
        begin: random.chance(0.5) ? begin : recorder.startRevision,
      }),
  );
}

/**
 * In peace each key is written once more, so that every watcher has something to wait for; then
 * everything is read.
 */
async function finish(
  recorder: Recorder,
  connections: readonly Connection[],
  keys: readonly ObjectKey[],
  history: string,
): Promise<void> {
  const client = `${history}-end`;
  for (const [index, key] of keys.entries()) {
    const connection = connections[index % connections.length] as Connection;
    let attempt = 0;
    await retryUntilAvailable(async () => {
      const value = `${key.cluster}/${client}.${index}.${attempt++}`;
      const outcome = await recorder.perform(connection, client, key, {
        verb: "apply",
        spec: { applied: value, ...(recorder.kind.hasStatus ? { color: "red" } : {}) },
        labels: { history, color: "red" },
      });
      return outcome?.kind === "object" ? undefined : JSON.stringify(outcome ?? "no connection");
    });
  }
  for (const connection of connections) {
    for (const key of keys) await recorder.perform(connection, client, key, { verb: "get" });
    for (const cluster of clusters) {
      const scope = { cluster, namespace: history };
      await recorder.list(connection, client, scope, { mode: { kind: "quorum" } });
      await recorder.list(connection, client, scope, { mode: { kind: "quorum" }, limit: 1 });
    }
  }
}

/** Every watcher hears of the last write that concerns it. */
async function untilArrived(
  recorder: Recorder,
  watchers: readonly Watcher[],
  history: string,
  patienceMs: number,
): Promise<void> {
  const last = recorder.operations.filter(
    ({ client, outcome }) => client === `${history}-end` && outcome.kind === "object",
  );
  const targetOf = ({ scope }: Watcher) =>
    Math.max(
      0,
      ...last.map(({ key, request, outcome }) =>
        outcome.kind === "object" && request.verb === "apply" && selects(scope, key, outcome.state)
          ? outcome.state.revision
          : 0,
      ),
    );
  const isThere = (watcher: Watcher) => (watcher.position ?? -1) >= targetOf(watcher);
  for (let waitedMs = 0; waitedMs < patienceMs; waitedMs += 10) {
    if (watchers.every(isThere)) return;
    await sleep(systemClock, 10);
  }
  const late = watchers.filter((watcher) => !isThere(watcher));
  const stuck = late.map(
    (watcher): Violation => ({
      guarantee: "reliable",
      message: `${positionText(watcher)}: it never hears of revision ${targetOf(watcher)}`,
      excerpt: [],
    }),
  );
  recorder.anomalies.push(...stuck);
}

const patienceDefaultMs = 60_000;

/** Until there is nothing left to say why not. */
async function retryUntilAvailable(attempt: () => Promise<string | undefined>): Promise<void> {
  const endsAt = systemClock.monotonic() + patienceDefaultMs;
  for (let why = await attempt(); why !== undefined; why = await attempt()) {
    if (systemClock.monotonic() > endsAt) throw new UnavailableError(why);
    await sleep(systemClock, 50);
  }
}

/** In peace, a server takes no write. */
class UnavailableError extends Error {
  override readonly name = "UnavailableError";
}
