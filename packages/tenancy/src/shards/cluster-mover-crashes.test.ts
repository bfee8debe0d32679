/**
 * Goal: a move ends, and loses or doubles nothing, when processes of both shards crash at any step.
 * Method: seeded runs on two disks in memory; a process dies before or after a step of its store or
 * its routes, its calls never return, and another one starts from the disk. Clients write all the
 * time, where the routes lead them.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type ClusterMoves,
  clusterPrefix,
  clusterUnder,
  objectKey,
  type Revision,
  type Storage,
} from "@kcp-ts/apiserver/storage";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { FakeClock, SeededRandom } from "@kcp-ts/apiserver/testing";
import { neverAborted } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import { ClusterMover } from "./cluster-mover.ts";
import { LocalDestination, type MoveDestination } from "./move-destination.ts";
import { MoveGate } from "./move-gate.ts";
import type { ShardRoute, ShardRoutes } from "./shard-connections.ts";

const team = "team" as ClusterName;
const resource = { group: "", resource: "configmaps", identity: "" };
const inTeam = clusterPrefix({ ...resource, cluster: team });
const call = { signal: neverAborted };
const turnsMax = 4000;

describe("a move whose processes crash", () => {
  for (const [first, last] of [
    [1, 100],
    [101, 200],
    [201, 300],
  ] as const)
    it(`ends with every acknowledged write once, seeds ${first} to ${last}`, async () => {
      for (let seed = first; seed <= last; seed++) await new Run(seed).play();
    });
});

class Run {
  readonly #seed: number;
  readonly random: SeededRandom;
  readonly clock = new FakeClock();
  readonly sides: readonly [Side, Side];
  readonly #acknowledged: Revision[] = [];
  #names = 0;
  crashesLeft: number;

  constructor(seed: number) {
    this.#seed = seed;
    this.random = new SeededRandom(seed);
    this.sides = [new Side("root", this), new Side("b", this)];
    this.crashesLeft = 1 + Math.floor(this.random.next() * 6);
  }

  async play(): Promise<void> {
    const [root, b] = this.sides;
    for (const side of this.sides) side.start();
    await this.#writeSome(5);
    await b.storage.commit(put("other" as ClusterName, "x", "absent"), call);
    const isCancelled = this.random.next() < 0.25;
    let hasBegun = false;
    let asked: ClusterMover | undefined;
    for (let turn = 0; turn < turnsMax; turn++) {
      for (const side of this.sides) if (!side.isAlive && this.random.next() < 0.2) side.start();
      await this.#writeSome(1);
      this.#checkOne();
      const mover = root.isAlive ? root.mover : undefined;
      hasBegun ||= root.storage.moves.recordOf(team) !== undefined;
      if (mover !== undefined && mover !== asked && !hasBegun) {
        asked = mover;
        void mover.move(team, "b").catch(() => {});
      } else if (isCancelled && this.random.next() < 0.1) tryCancel(mover);
      await this.#pass();
      if (hasBegun && this.#isOver()) return await this.#checkEnd();
    }
    const phases = this.sides.map(({ storage }) => storage.moves.recordOf(team)?.phase);
    assert.fail(`seed ${this.#seed}: the move does not end: ${phases}`);
  }

  /** A process whose mover has nothing under way, and nothing half done on either disk. */
  #isOver(): boolean {
    const [root, b] = this.sides;
    const source = root.storage.moves.recordOf(team)?.phase;
    const record = b.storage.moves.recordOf(team);
    const destination = record?.phase;
    if (!root.isAlive || !b.isAlive) return false;
    if (source === undefined) return destination === undefined;
    return source === "removed" && destination === "open" && (record?.announcedAt ?? 0) > 0;
  }

  async #pass(): Promise<void> {
    this.clock.advance(60);
    for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
  }

  async #writeSome(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const side = this.sides.find((one) => one.isAlive && one.isOwn());
      if (side === undefined || side.gate.enter(team, "PUT") instanceof Promise) continue;
      const isNew = this.random.next() < 0.5 || this.#names === 0;
      const name = isNew ? this.#names++ : Math.floor(this.random.next() * this.#names);
      const key = put(team, `n${name}`, "absent").key;
      const known = await side.storage.get(key, call);
      try {
        const write = put(team, `n${name}`, known?.modifiedAt ?? "absent");
        const isDeleted = known !== undefined && this.random.next() < 0.2;
        const revision = await side.storage.commit(
          isDeleted ? { ...write, value: "delete" } : write,
          call,
        );
        this.#acknowledged.push(revision);
      } catch (error) {
        assert.equal((error as { code?: string }).code, "moving", `seed ${this.#seed}: ${error}`);
      }
    }
  }

  #checkOne(): void {
    const writable = this.sides.filter((side) => side.isOwn() && side.accepts());
    assert.ok(writable.length <= 1, `seed ${this.#seed}: two shards accept writes`);
  }

  async #checkEnd(): Promise<void> {
    const home = this.sides.find((side) => side.isOwn() && side.accepts());
    assert.ok(home !== undefined, `seed ${this.#seed}: no shard accepts writes`);
    const seen: Revision[] = [];
    const state = new Map<string, Revision>();
    const stop = new AbortController();
    const options = { signal: stop.signal, bufferedChangesMax: 10_000 };
    for await (const change of home.storage.watch(inTeam, 0 as Revision, options)) {
      if (change.kind === "progress") break;
      seen.push(change.revision);
      if (change.kind === "put") state.set(change.entry.key, change.entry.modifiedAt);
      else state.delete(change.previous.key);
    }
    stop.abort();
    assert.deepEqual(seen, this.#acknowledged, `seed ${this.#seed}`);
    const { entries } = await home.storage.list(inTeam, { ...call, entriesMax: 10_000 });
    const listed = entries.map((entry) => [entry.key, entry.modifiedAt]);
    assert.deepEqual(
      listed,
      [...state].sort(([x], [y]) => (x < y ? -1 : 1)),
    );
    const away = this.sides.find((side) => side !== home) as Side;
    const rest = await away.storage.list(inTeam, { ...call, entriesMax: 10 });
    assert.deepEqual(rest.entries, []);
    await this.#checkAnnounced(home, new Set(state.keys()));
  }

  /** Watches of all clusters know exactly what is there. */
  async #checkAnnounced(home: Side, expected: ReadonlySet<string>): Promise<void> {
    const known = new Set<string>();
    const stop = new AbortController();
    const options = { signal: stop.signal, bufferedChangesMax: 10_000 };
    const everywhere = "//configmaps//" as typeof inTeam;
    for await (const change of home.storage.watch(everywhere, 0 as Revision, options)) {
      if (change.kind === "progress") break;
      const { key } = change.kind === "put" ? change.entry : change.previous;
      if (clusterUnder(key) !== team) continue;
      if (change.relocation === true && change.kind === "put")
        assert.ok(!known.has(key), `seed ${this.#seed}: ${key} arrived twice`);
      if (change.kind === "put") known.add(key);
      else known.delete(key);
    }
    stop.abort();
    assert.deepEqual([...known].sort(), [...expected].sort(), `seed ${this.#seed}`);
  }
}

/** A disk, and the process that runs on it. */
class Side {
  readonly name: string;
  readonly storage = new MemoryStorage();
  readonly #routes = new Map<ClusterName, ShardRoute>();
  readonly #run: Run;
  #process: AbortController | undefined;
  mover!: ClusterMover;
  destination!: LocalDestination;
  gate!: MoveGate;

  constructor(name: string, run: Run) {
    this.name = name;
    this.#run = run;
  }

  get isAlive(): boolean {
    return this.#process !== undefined;
  }

  isOwn(): boolean {
    const shard = this.#routes.get(team)?.shard ?? "root";
    return shard === this.name || this.destination.hasArrived(team);
  }

  accepts(): boolean {
    const phase = this.storage.moves.recordOf(team)?.phase;
    return phase === undefined || phase === "copying" || phase === "open";
  }

  start(): void {
    const { clock } = this.#run;
    const ending = new AbortController();
    this.#process = ending;
    const { signal } = ending;
    const storage = this.#crashing(ending);
    const routes = this.#crashingRoutes(ending);
    this.gate = new MoveGate({ clock });
    const watchCache = {
      hub: { waitUntilSeen: async () => {} } as never,
      releaseCluster: () => {},
    };
    const common = { storage, watchCache, routes, gate: this.gate, signal };
    this.destination = new LocalDestination({ ...common, onError: () => {} });
    this.mover = new ClusterMover({
      ...common,
      clock,
      firstShardOf: () => "root",
      shards: () => ["root", "b"],
      destination: (shard) => this.#remote(shard, ending),
      onError: () => {},
      readsEndMs: 100,
    });
    void this.destination.resume();
    this.mover.resume();
  }

  /** The destination's process at the time of each step; its crash breaks the connection. */
  #remote(shard: string, own: AbortController): MoveDestination {
    const side = this.#run.sides.find(({ name }) => name === shard) as Side;
    return new Proxy({} as MoveDestination, {
      get:
        (_, step: keyof MoveDestination) =>
        async (...values: unknown[]) => {
          const there = side.#process;
          if (there === undefined) throw statusError.unavailable("down");
          const broken = new Promise<never>((_resolve, reject) => {
            const onEnd = () => reject(statusError.unavailable("broken"));
            there.signal.addEventListener("abort", onEnd, { once: true });
          });
          const method = side.destination[step] as (...args: unknown[]) => Promise<unknown>;
          const result = await Promise.race([method.apply(side.destination, values), broken]);
          return own.signal.aborted ? never() : result;
        },
    });
  }

  #crashing(ending: AbortController): Storage {
    const moves = new Proxy(this.storage.moves, {
      get: (target, name: keyof ClusterMoves) => {
        const method = target[name] as (...args: unknown[]) => unknown;
        if (!steps.has(name)) return method.bind(target);
        return (...values: unknown[]) =>
          this.#step(ending, async () => await method.apply(target, values));
      },
    });
    return new Proxy(this.storage as Storage, {
      get: (target, name: keyof Storage) => {
        if (name === "moves") return moves;
        const member = target[name];
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
  }

  #crashingRoutes(ending: AbortController): ShardRoutes {
    return {
      ownName: this.name,
      shardOf: (cluster) => {
        const shard = this.#routes.get(cluster)?.shard ?? "root";
        return shard === this.name ? undefined : shard;
      },
      routeOf: (cluster) => this.#routes.get(cluster),
      setRoute: (cluster, route) =>
        this.#step(ending, async () => {
          const known = this.#routes.get(cluster);
          if (known === undefined || known.version < route.version)
            this.#routes.set(cluster, route);
        }),
    };
  }

  async #step<Result>(ending: AbortController, body: () => Promise<Result>): Promise<Result> {
    if (ending.signal.aborted) return never();
    const { random } = this.#run;
    const isLast = this.#run.crashesLeft > 0 && random.next() < 0.12;
    const isBefore = random.next() < 0.5;
    if (isLast && isBefore) return this.#crash(ending);
    const result = await body();
    if (isLast) return this.#crash(ending);
    return ending.signal.aborted ? never() : result;
  }

  #crash<Result>(ending: AbortController): Promise<Result> {
    this.#run.crashesLeft--;
    if (this.#process === ending) this.#process = undefined;
    ending.abort();
    return never();
  }
}

const steps: ReadonlySet<keyof ClusterMoves> = new Set([
  "startExport",
  "fence",
  "cancelExport",
  "release",
  "removeReleased",
  "startImport",
  "import",
  "seal",
  "announce",
  "open",
  "discardImport",
]);

function tryCancel(mover: ClusterMover | undefined): void {
  try {
    mover?.cancel(team);
  } catch (error) {
    // After the switch, and where nothing moves, there is nothing to cancel.
    assert.match(String(error), /is not moving|move it back/);
  }
}

function put(cluster: ClusterName, name: string, expected: Revision | "absent") {
  const key = objectKey({ ...resource, cluster, namespace: "default", name });
  return { key, value: new TextEncoder().encode(`${name} after ${expected}`), expected };
}

function never<Value>(): Promise<Value> {
  return new Promise(() => {});
}
