/**
 * TargetLink: the connection to one cluster, and its health.
 *
 * The link probes the cluster at intervals; each result decides the time of the next probe. A
 * single failure does not change the health: a healthy cluster counts as healthy until several
 * probes in a row have failed. A cluster that has never responded is Unknown until then.
 */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import { type Connection, type StringMap, startDeadline } from "@kcp-ts/sdk";
import { missingAccess } from "./access.ts";
import { type NodeCounts, nodesIntervalMs, readInventory } from "./capacity.ts";
import { diagnose } from "./diagnose.ts";
import { otherSyncTargets, readClusterID } from "./other-sync-targets.ts";
import { probe } from "./probe.ts";
import type { Problem } from "./problem.ts";
import type { TargetConnection } from "./targets.ts";

export interface LinkSettings {
  /**
   * The interval between probes of a healthy cluster; a jitter of a fifth spreads the probes of
   * many clusters.
   */
  readonly probeMs: number;
  readonly probeTimeoutMs: number;
  /** The number of consecutive failures that make a cluster not ready. */
  readonly failuresMax: number;
  /** Permissions, and the nodes of a large cluster, are read less often than health. */
  readonly inventoryMs: number;
}

export const linkDefaults: LinkSettings = {
  probeMs: 10_000,
  probeTimeoutMs: 5000,
  failuresMax: 3,
  inventoryMs: 60_000,
};

/** The first interval after a failure; it doubles with every further failure. */
const retryFirstMs = 1000;
/** A cluster that is back is Ready again within seconds. */
const retryMaxMs = 6000;

export interface LinkReport {
  readonly health: "True" | "False" | "Unknown";
  /** The last problem, also while it does not change the health yet. */
  readonly problem: Problem | undefined;
  readonly version: string | undefined;
  readonly capacity: StringMap | undefined;
  readonly allocatable: StringMap | undefined;
  readonly nodes: NodeCounts | undefined;
  /** Undefined while it is unknown. */
  readonly missingAccess: readonly string[] | undefined;
  readonly clusterID: string | undefined;
  /** Other SyncTargets that use the cluster. */
  readonly otherSyncTargets: readonly string[] | undefined;
  /** How far the cluster's clock is ahead of the local clock. */
  readonly skewMs: number | undefined;
}

export interface LinkOptions {
  readonly connection: Connection;
  readonly target: Omit<TargetConnection, "client" | "signal">;
  /** The resources that syncing needs access to; empty when this process does not sync. */
  readonly resources: () => readonly string[];
  readonly settings: LinkSettings;
  readonly clock: Clock;
  readonly random: Random;
  /** The report has changed, or the next probe is due earlier. */
  readonly onChange: () => void;
  /** Slow work that follows an inventory; it reports its errors itself and does not fail. */
  readonly onInventory?: ((connection: TargetConnection) => Promise<void>) | undefined;
  /**
   * Called after the first successful probe: from now on other controllers may use the connection.
   */
  readonly onConnected: (connection: TargetConnection) => void;
}

export class TargetLink {
  readonly connection: TargetConnection;
  readonly #options: LinkOptions;
  readonly #closing = new AbortController();
  #report: LinkReport = {
    health: "Unknown",
    problem: undefined,
    version: undefined,
    capacity: undefined,
    allocatable: undefined,
    nodes: undefined,
    missingAccess: undefined,
    clusterID: undefined,
    otherSyncTargets: undefined,
    skewMs: undefined,
  };
  #failures = 0;
  #isConnected = false;
  #probing: Promise<void> | undefined;
  #dueAtMs = Number.NEGATIVE_INFINITY;
  #inventoryAtMs = Number.NEGATIVE_INFINITY;
  #nodesAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: LinkOptions) {
    this.#options = options;
    const { client } = options.connection;
    this.connection = { ...options.target, client, signal: this.#closing.signal };
  }

  get report(): LinkReport {
    return this.#report;
  }

  /** Starts a probe if one is due, without waiting for it. Returns the time until the next call. */
  tick(): number {
    const { clock, settings } = this.#options;
    const waitMs = this.#dueAtMs - clock.monotonic();
    if (this.#probing === undefined && waitMs <= 0 && !this.#closing.signal.aborted) {
      this.#probing = this.#probe().finally(() => {
        this.#probing = undefined;
        if (!this.#closing.signal.aborted) this.#options.onChange();
      });
    }
    return this.#probing === undefined ? Math.max(waitMs, 1) : settings.probeTimeoutMs * 2;
  }

  /** Reviews the missing permissions again. */
  reviewAgain(): void {
    this.#inventoryAtMs = Number.NEGATIVE_INFINITY;
    this.#dueAtMs = Number.NEGATIVE_INFINITY;
  }

  async close(): Promise<void> {
    this.#closing.abort(new Error("the connection to the cluster was given up"));
    await this.#probing;
    await this.#options.connection.close();
  }

  async #probe(): Promise<void> {
    const { clock, settings } = this.#options;
    const { signal } = this.#closing;
    const { probeTimeoutMs: timeoutMs } = settings;
    const answer = await probe(this.connection.client, { timeoutMs, clock, signal });
    if (signal.aborted) return;
    if ("reason" in answer) {
      this.#fail(answer);
      return;
    }
    this.#failures = 0;
    this.#report = {
      ...this.#report,
      health: "True",
      problem: undefined,
      version: answer.version,
      skewMs: answer.skewMs,
    };
    this.#dueAtMs = clock.monotonic() + this.#jittered(settings.probeMs);
    if (!this.#isConnected) {
      this.#isConnected = true;
      this.#options.onConnected(this.connection);
    }
    const nowMs = clock.monotonic();
    const isInventoryDue = nowMs >= this.#inventoryAtMs;
    if (isInventoryDue) await this.#takeInventory();
    if (isInventoryDue || nowMs >= this.#nodesAtMs) await this.#readNodes();
    if (isInventoryDue && !signal.aborted) await this.#options.onInventory?.(this.connection);
  }

  #fail(found: Problem): void {
    const { clock, settings } = this.#options;
    this.#failures += 1;
    const isDown = this.#failures >= settings.failuresMax;
    const health = isDown ? "False" : this.#report.health;
    this.#report = { ...this.#report, health, problem: found };
    const waitMs = Math.min(retryFirstMs * 2 ** (this.#failures - 1), retryMaxMs);
    this.#dueAtMs = clock.monotonic() + this.#jittered(waitMs);
  }

  /** Permissions and other SyncTargets: the cluster's health does not depend on them. */
  async #takeInventory(): Promise<void> {
    const { clock, settings } = this.#options;
    const { client } = this.connection;
    await this.#review(async (signal) => {
      const resources = this.#options.resources();
      if (resources.length > 0) {
        const missing = await missingAccess(client, resources, signal);
        this.#report = { ...this.#report, missingAccess: missing };
      }
      const claims = await otherSyncTargets(client, this.connection, signal);
      const clusterID = await readClusterID(client, signal);
      this.#report = { ...this.#report, clusterID, otherSyncTargets: claims };
    });
    this.#inventoryAtMs = clock.monotonic() + this.#jittered(settings.inventoryMs);
  }

  /** Without permission to list nodes there is no capacity, and nodes make no cluster NotReady. */
  async #readNodes(): Promise<void> {
    const { clock, settings } = this.#options;
    const { client } = this.connection;
    const unknown = { capacity: undefined, allocatable: undefined, nodes: undefined };
    await this.#review(async (signal) => {
      try {
        const found = await readInventory(client, { nowMs: clock.now(), signal });
        this.#report = { ...this.#report, ...found };
      } catch (error) {
        if (diagnose(error).reason !== "Forbidden") throw error;
        this.#report = { ...this.#report, ...unknown };
      }
    });
    const intervalMs = nodesIntervalMs(this.#report.nodes, settings.inventoryMs);
    this.#nodesAtMs = clock.monotonic() + this.#jittered(intervalMs);
  }

  /** What is not read in time stays as it was: the next probe says what is wrong. */
  async #review(read: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { clock, settings } = this.#options;
    const { probeTimeoutMs: timeoutMs } = settings;
    const what = "taking stock of the cluster";
    const deadline = startDeadline({ clock, timeoutMs, signal: this.#closing.signal, what });
    try {
      await read(deadline.signal);
    } catch {
      // The report keeps what was read before.
    } finally {
      deadline.cancel();
    }
  }

  #jittered(ms: number): number {
    return ms * (0.8 + 0.4 * this.#options.random.next());
  }
}
