/**
 * TargetLink: the connection to one cluster, and what is known of its health.
 *
 * It is asked from time to time; the answer decides when it is asked again. One failure is no news: a cluster that was well counts as well until
 * several in a row say otherwise. A cluster that has never answered is unknown until then.
 */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import { type Connection, type StringMap, startDeadline } from "@kcp-ts/sdk";
import { missingAccess } from "./access.ts";
import { readCapacity } from "./capacity.ts";
import { diagnose } from "./diagnose.ts";
import { otherSyncTargets } from "./other-claims.ts";
import { probe } from "./probe.ts";
import type { TargetConnection } from "./targets.ts";
import type { Problem } from "./verdict.ts";

export interface LinkSettings {
  /** Between questions to a cluster that is well; a fifth more or less, so that clusters are not asked all at once. */
  readonly probeMs: number;
  readonly probeTimeoutMs: number;
  /** Failures in a row that make a cluster not ready. */
  readonly failuresMax: number;
  /** Capacity is read and access reviewed less often. */
  readonly inventoryMs: number;
}

export const linkDefaults: LinkSettings = {
  probeMs: 10_000,
  probeTimeoutMs: 5000,
  failuresMax: 3,
  inventoryMs: 60_000,
};

/** A cluster that does not answer is asked after this long, then after twice as long, and so on. */
const retryFirstMs = 1000;
const retryMaxMs = 60_000;

export interface LinkReport {
  readonly health: "True" | "False" | "Unknown";
  /** The last one, also while it does not count yet. */
  readonly problem: Problem | undefined;
  readonly version: string | undefined;
  readonly capacity: StringMap | undefined;
  readonly allocatable: StringMap | undefined;
  /** Undefined while it is not known. */
  readonly missingAccess: readonly string[] | undefined;
  /** Other SyncTargets that work in the cluster. */
  readonly otherClaims: readonly string[] | undefined;
  /** How far the cluster's clock is ahead of ours. */
  readonly skewMs: number | undefined;
}

export interface LinkOptions {
  readonly connection: Connection;
  readonly target: Omit<TargetConnection, "client" | "signal">;
  /** What syncing needs access to; empty when nothing is synced from here. */
  readonly resources: () => readonly string[];
  readonly settings: LinkSettings;
  readonly clock: Clock;
  readonly random: Random;
  /** Something is to be reported, or the next question is due earlier. */
  readonly onChange: () => void;
  /** Work that belongs to taking stock, and takes longer; it reports by itself and does not fail. */
  readonly upkeep?: ((connection: TargetConnection) => Promise<void>) | undefined;
  /** The first good answer: from now on others may work with the cluster. */
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
    missingAccess: undefined,
    otherClaims: undefined,
    skewMs: undefined,
  };
  #failures = 0;
  #isConnected = false;
  #probing: Promise<void> | undefined;
  #dueAtMs = Number.NEGATIVE_INFINITY;
  #inventoryAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: LinkOptions) {
    this.#options = options;
    const { client } = options.connection;
    this.connection = { ...options.target, client, signal: this.#closing.signal };
  }

  get report(): LinkReport {
    return this.#report;
  }

  /** Asks if it is time to, without waiting for the answer. Returns when to look again. */
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

  /** What it may not do is looked at anew. */
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
    if (clock.monotonic() < this.#inventoryAtMs) return;
    await this.#takeInventory();
    if (!signal.aborted) await this.#options.upkeep?.(this.connection);
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

  /** Nice to know: who may not see nodes gets no capacity, and the cluster is none the worse for it. */
  async #takeInventory(): Promise<void> {
    const { clock, settings } = this.#options;
    const { probeTimeoutMs: timeoutMs } = settings;
    const what = "taking stock of the cluster";
    const deadline = startDeadline({ clock, timeoutMs, signal: this.#closing.signal, what });
    const { client } = this.connection;
    try {
      const resources = this.#options.resources();
      if (resources.length > 0) {
        const missing = await missingAccess(client, resources, deadline.signal);
        this.#report = { ...this.#report, missingAccess: missing };
      }
      const claims = await otherSyncTargets(client, this.connection, deadline.signal);
      this.#report = { ...this.#report, otherClaims: claims };
      const found = await readCapacity(client, deadline.signal);
      this.#report = { ...this.#report, ...found };
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      if (diagnose(error).reason === "Forbidden")
        this.#report = { ...this.#report, capacity: undefined, allocatable: undefined };
    } finally {
      deadline.cancel();
      this.#inventoryAtMs = clock.monotonic() + this.#jittered(settings.inventoryMs);
    }
  }

  #jittered(ms: number): number {
    return ms * (0.8 + 0.4 * this.#options.random.next());
  }
}
