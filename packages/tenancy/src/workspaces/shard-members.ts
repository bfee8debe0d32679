/**
 * The shards of an installation: their Shard objects in root, how they do, and how much they have.
 *
 * Every shard reports to root, which answers with the list: so a shard places workspaces by a list
 * that is some seconds old, also while root does not answer.
 */
import { collectionKeyOf, type Draft, type Registry } from "@kcp-ts/apiserver/registry";
import {
  type Entry,
  parseObjectKey,
  resourcePrefix,
  type Storage,
} from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import type { WatchCache } from "@kcp-ts/apiserver/watch-cache";
import { type Clock, type Supervisor, sleep } from "@kcp-ts/machinery/base";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { rootCluster } from "@kcp-ts/machinery/names";
import { listEntries, replicaPrefix } from "../replicas/index.ts";
import { rootShard, type Shards } from "../shards/index.ts";
import {
  type ChosenShard,
  clusterScoped,
  createIfAbsent,
  systemWriteOptions,
  uncancelled,
  type WantedShard,
} from "./dependencies.ts";
import { conditionsOf, setCondition } from "./kinds/conditions.ts";
import { logicalClusters, shards as shardKind, systemWrite } from "./kinds/definitions.ts";
import { member } from "./records.ts";
import { isSchedulable, readShard } from "./shard.ts";

export interface ShardMembersOptions {
  readonly shards: Shards;
  readonly watchCache: WatchCache;
  readonly storage: Storage;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly supervisor: Supervisor;
  readonly externalUrl: () => string;
  /** Called when shards were added, or changed so that workspaces may fit that did not. */
  readonly onChange: () => void;
  readonly onError: (error: unknown) => void;
}

export interface ShardMember extends ChosenShard {
  readonly isReady: boolean;
  readonly workspaces: number;
}

interface Report {
  readonly at: number;
  readonly workspaces: number;
}

const reportEveryMs = 10_000;
/** A shard without a report for this time gets no new workspaces. */
const lostAfterMs = 30_000;

export class ShardMembers {
  readonly #options: ShardMembersOptions;
  readonly #stopping = new AbortController();
  /** What shards have told root, since root has started. */
  readonly #reports = new Map<string, Report>();
  readonly #startedAt: number;
  #members: readonly ShardMember[] = [];
  #changes = "";
  #isStarted = false;

  constructor(options: ShardMembersOptions) {
    this.#options = options;
    this.#startedAt = options.clock.monotonic();
    options.shards.provide({
      report: async (_cluster, report, from) => this.#receive(from, report as JsonObject),
    });
  }

  /** Resolves when root knows this shard, or could not be told yet. */
  async start(): Promise<void> {
    await this.#tryReport();
    if (this.#isStarted) return;
    this.#isStarted = true;
    const { supervisor, clock } = this.#options;
    const { signal } = this.#stopping;
    void supervisor.runLoop("shards", signal, async () => {
      while (!signal.aborted) {
        await sleep(clock, reportEveryMs, signal).catch(() => undefined);
        if (!signal.aborted) await this.#tryReport();
      }
    });
  }

  async #tryReport(): Promise<void> {
    try {
      await this.#report();
    } catch (error) {
      this.#options.onError(error);
    }
  }

  /** The URLs of all shards' virtual workspaces; none until they are known. */
  get serviceUrls(): readonly string[] {
    const { externalUrl } = this.#options;
    return this.#members.map((one) => one.virtualWorkspaceUrl || externalUrl());
  }

  stop(): void {
    this.#stopping.abort();
  }

  /**
   * A workspace in root goes where the fewest are; others stay with their parent, so that paths
   * below an organization are resolved in one place.
   */
  async choose({ parent, selector }: WantedShard): Promise<ChosenShard | undefined> {
    const { ownName } = this.#options.shards.routes;
    if (ownName === rootShard) await this.#refresh();
    else if (this.#members.length === 0)
      await this.#report().catch((error: unknown) => this.#recall(error));
    const fit = this.#members.filter((one) => one.isReady && isSchedulable(one, selector));
    const own = fit.find(({ name }) => name === ownName);
    if (parent !== rootCluster && own !== undefined) return own;
    const chosen = fit.reduce<ShardMember | undefined>(
      (best, one) => (best === undefined || one.workspaces < best.workspaces ? one : best),
      undefined,
    );
    // The next one of a burst goes elsewhere, before the counts are told again.
    if (chosen !== undefined) this.#count(chosen);
    return chosen;
  }

  /** After a start without root: this shard alone is well as far as anybody knows. */
  async #recall(error: unknown): Promise<void> {
    const { storage, shards } = this.#options;
    const members: ShardMember[] = [];
    for await (const entry of listEntries(storage, replicaPrefix(shardKind))) {
      const { name } = parseObjectKey(entry.key);
      const isReady = name === shards.routes.ownName;
      members.push({ ...readShard(decodeObject(entry)), name, isReady, workspaces: 0 });
    }
    if (members.length === 0) throw error;
    this.#members = members;
  }

  #count(chosen: ShardMember): void {
    const report = this.#reports.get(chosen.name);
    if (report !== undefined)
      this.#reports.set(chosen.name, { ...report, workspaces: report.workspaces + 1 });
    this.#members = this.#members.map((one) =>
      one === chosen ? { ...one, workspaces: one.workspaces + 1 } : one,
    );
  }

  async #report(): Promise<void> {
    const { shards, storage, externalUrl, onChange } = this.#options;
    const workspaces = await storage.count(resourcePrefix(collectionKeyOf(logicalClusters)), {
      signal: uncancelled,
    });
    const baseUrl = shards.options.baseUrl?.() ?? externalUrl();
    const members = await shards.ask(rootCluster, "report", { baseUrl, workspaces });
    this.#members = members as unknown as readonly ShardMember[];
    shards.options.onMembers?.(this.#members);
    const changes = JSON.stringify(this.#members.map((one) => ({ ...one, workspaces: 0 })));
    if (changes === this.#changes) return;
    this.#changes = changes;
    onChange();
  }

  /** Served by root: keeps the report of a shard, and answers with all of them. */
  async #receive(from: string, { baseUrl, workspaces }: JsonObject): Promise<JsonValue> {
    const { clock } = this.#options;
    this.#reports.set(from, { at: clock.monotonic(), workspaces: Number(workspaces) });
    if (from !== rootShard) await this.#ensureShard(from, String(baseUrl));
    await this.#refresh();
    return this.#members as unknown as JsonValue;
  }

  /** Reads the Shard objects, which only root has. */
  async #refresh(): Promise<void> {
    const { clock } = this.#options;
    const members: ShardMember[] = [];
    for (const entry of await this.#stored()) {
      const { name } = parseObjectKey(entry.key);
      const report = this.#reports.get(name);
      const since = report?.at ?? this.#startedAt;
      const isReady = name === rootShard || clock.monotonic() - since <= lostAfterMs;
      await this.#noteHealth(entry, isReady);
      const record = readShard(decodeObject(entry));
      members.push({ ...record, name, isReady, workspaces: report?.workspaces ?? 0 });
    }
    this.#members = members;
    this.#options.shards.options.onMembers?.(members);
  }

  async #stored(): Promise<readonly Entry[]> {
    const { storage } = this.#options;
    const prefix = resourcePrefix(collectionKeyOf(shardKind));
    const { entries } = await storage.list(prefix, { signal: uncancelled, entriesMax: shardsMax });
    return entries.filter(({ key }) => parseObjectKey(key).cluster === rootCluster);
  }

  /** The Shard object of a shard that reports follows its address. */
  async #ensureShard(name: string, baseURL: string): Promise<void> {
    const { registry, externalUrl } = this.#options;
    const spec = {
      baseURL,
      externalURL: externalUrl(),
      virtualWorkspaceURL: `${externalUrl()}/shards/${name}`,
    };
    const address = clusterScoped(rootCluster, name);
    const found = (await this.#stored()).find(({ key }) => parseObjectKey(key).name === name);
    if (found === undefined) {
      const metadata = { labels: { name } };
      await createIfAbsent({ registry }, shardKind, address, { metadata, spec });
    } else if (JSON.stringify(decodeObject(found)["spec"]) !== JSON.stringify(spec))
      await this.#update(name, (draft) => {
        draft["spec"] = spec;
      });
  }

  /** Written when it changes: a shard that is well writes nothing. */
  async #noteHealth(entry: Entry, isReady: boolean): Promise<void> {
    const { clock } = this.#options;
    const status = isReady ? "True" : "False";
    const before = conditionsOf(member(decodeObject(entry), "status"));
    if (before.some((one) => one.type === "Ready" && one.status === status)) return;
    const condition = isReady ? ready : notReady;
    await this.#update(parseObjectKey(entry.key).name, (draft) => {
      const old = member(draft, "status");
      const conditions = setCondition(conditionsOf(old), condition, clock.now());
      draft["status"] = { ...old, conditions };
    });
  }

  async #update(name: string, change: (draft: Draft) => void): Promise<void> {
    const rules = { ...systemWriteOptions, subresource: systemWrite, isDerivedFromLive: true };
    const build = async (old: JsonObject | undefined) => {
      const draft: Draft = { ...old };
      change(draft);
      return draft;
    };
    const address = clusterScoped(rootCluster, name);
    await this.#options.registry.update(shardKind, address, build, rules);
  }
}

/** More shards than that need another kind of list. */
const shardsMax = 1000;
const ready = { type: "Ready", status: "True" } as const;
const notReady = {
  type: "Ready",
  status: "False",
  severity: "Error",
  reason: "NoReport",
  message: "The shard has not reported for 30 seconds",
} as const;
