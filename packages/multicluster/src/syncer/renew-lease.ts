/**
 * Renews the Lease of the SyncTarget: the syncer is alive (docs/adr/0076). A SyncTarget with
 * another uid is another SyncTarget: the syncer then stops syncing.
 *
 * An agent has a tunnel, or renews its Lease every two seconds:
 *
 *                     the tunnel is up, and a renewal that says so was accepted
 *     every two seconds ──────────────────────────────────────────▶ every third of the Lease
 *             ▲                                                                │
 *             └────────── the tunnel breaks: a renewal follows immediately ────┘
 */
import { kcpVersion } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, microTime, onAbort, pause } from "@kcp-ts/sdk";
import { type Lease as LeaseObject, leases } from "@kcp-ts/sdk/kinds";
import {
  acceptedLeaseSeconds,
  isLeaseOf,
  leaseMsDefault,
  renewIntervalAnnotation,
  stopsAtExpiryAnnotation,
  syncerFieldManager,
  syncerLeaseName,
  syncerLeaseNamespace,
  syncerVersionAnnotation,
  syncTargets,
  tunnellessRenewMs,
} from "../api/index.ts";
import type { SyncContext } from "./context.ts";
import { renewalsPerLease } from "./lease.ts";
import type { TunnelState } from "./tunnel-state.ts";

export interface LeaseRenewalOptions {
  readonly context: SyncContext;
  /** A client of the SyncTarget's logical cluster. */
  readonly client: Client;
  /** The tunnel of an agent. A syncer without one announces no interval. */
  readonly tunnel?: TunnelState | undefined;
  /** The SyncTarget was deleted, or replaced by another one of the same name. */
  readonly onLost: (message: string) => void;
}

const retryMs = 1000;
/** The minimal pause between two renewals, however long the first one took. */
const pauseMsMin = 200;

export async function runLeaseRenewal(options: LeaseRenewalOptions): Promise<void> {
  const { context, tunnel } = options;
  const { clock, random, signal, lease } = context;
  const longMs = (lease?.durationMs ?? leaseMsDefault) / renewalsPerLease;
  const renewer = new LeaseRenewer(options);
  while (!signal.aborted) {
    const beganAtMs = clock.monotonic();
    const isUp = tunnel?.isUp ?? true;
    const periodMs = isUp ? longMs : Math.min(tunnellessRenewMs, longMs);
    let isAccepted = false;
    try {
      // The renewal is not accepted while the control plane considers the agent lost, which ends
      // soon after the control plane has observed a renewal.
      isAccepted = await renewer.renew(periodMs);
    } catch (error) {
      if (signal.aborted) return;
      lease?.refused();
      context.onError(error);
    }
    const leftMs = beganAtMs + periodMs - clock.monotonic();
    const waitMs = isAccepted ? Math.max(leftMs, pauseMsMin) : retryMs * (1 + random.next());
    // An interval that no longer holds is updated immediately; a renewal that was not accepted is
    // repeated soon anyway.
    const was = isAccepted && tunnel !== undefined ? { tunnel, isUp } : undefined;
    await waited(context, waitMs, was);
  }
}

/** Waits until the time has passed, or the state of the tunnel changes. */
async function waited(
  { clock, signal }: SyncContext,
  waitMs: number,
  was: { readonly tunnel: TunnelState; readonly isUp: boolean } | undefined,
): Promise<void> {
  const early = new AbortController();
  const wake = () => early.abort();
  const stops = [onAbort(signal, wake), was?.tunnel.subscribe(wake) ?? (() => {})];
  if (was !== undefined && was.tunnel.isUp !== was.isUp) wake();
  try {
    await pause(clock, waitMs, early.signal);
  } catch (error) {
    if (!early.signal.aborted) throw error;
  } finally {
    for (const stop of stops) stop();
  }
}

class LeaseRenewer {
  readonly #options: LeaseRenewalOptions;
  /** Tells this process apart from another syncer of the same SyncTarget. */
  readonly #holderIdentity: string;
  /** The uid of the Lease; undefined before the Lease is found. */
  #uid: string | undefined;

  constructor(options: LeaseRenewalOptions) {
    this.#options = options;
    const { target, random } = options.context;
    const suffix = Math.floor(random.next() * 2 ** 32);
    this.#holderIdentity = `${target.name}_${suffix.toString(16).padStart(8, "0")}`;
  }

  /** Whether the renewal prolongs the Lease. */
  async renew(periodMs: number): Promise<boolean> {
    const { context } = this.#options;
    const { clock, lease } = context;
    const sentAtMs = clock.monotonic();
    const renewed = await this.#write(periodMs);
    // The control plane creates the Lease soon, unless the SyncTarget is deleted.
    if (renewed === undefined && (await this.#isTargetLost())) return true;
    if (lease === undefined) return renewed !== undefined;
    const isAccepted =
      renewed !== undefined && acceptedLeaseSeconds(renewed) === secondsOf(lease.durationMs);
    if (isAccepted) lease.renewed(sentAtMs);
    else lease.refused();
    return isAccepted;
  }

  /** The renewed Lease; undefined when the SyncTarget has none. */
  async #write(periodMs: number): Promise<LeaseObject | undefined> {
    const { client, context, tunnel } = this.#options;
    const { target, clock, signal, lease } = context;
    const resource = client.resource(leases);
    const at = { namespace: syncerLeaseNamespace, name: syncerLeaseName(target.name) };
    this.#uid ??= uidOf(await resource.find(at, { signal }), target.uid);
    if (this.#uid === undefined) return undefined;
    const annotations = {
      [renewIntervalAnnotation]: tunnel === undefined ? null : String(secondsOf(periodMs)),
      [stopsAtExpiryAnnotation]: lease === undefined ? null : "true",
      [syncerVersionAnnotation]: kcpVersion,
    };
    const spec = {
      holderIdentity: this.#holderIdentity,
      leaseDurationSeconds: secondsOf(lease?.durationMs ?? leaseMsDefault),
      renewTime: microTime(clock.now()),
    };
    try {
      return await resource
        .sameObject({ metadata: { ...at, uid: this.#uid } })
        .mergePatch(
          { metadata: { annotations }, spec },
          { fieldManager: syncerFieldManager, signal },
        );
    } catch (error) {
      const isGone = isStatusError(error, "NotFound") || isStatusError(error, "Conflict");
      if (!isGone) throw error;
      this.#uid = undefined;
      return undefined;
    }
  }

  async #isTargetLost(): Promise<boolean> {
    const { client, context, onLost } = this.#options;
    const { name, uid } = context.target;
    const { signal } = context;
    try {
      const { metadata } = await client.resource(syncTargets).get({ name }, { signal });
      if (metadata.uid === uid) return false;
      onLost(`unexpected SyncTarget UID ${metadata.uid}, expected ${uid}, refusing to sync`);
    } catch (error) {
      // A path that leads nowhere is not found either.
      if (!isStatusError(error, "NotFound") || error.status.details?.name !== name) throw error;
      onLost(`there is no SyncTarget ${name} any more, refusing to sync`);
    }
    return true;
  }
}

function uidOf(lease: LeaseObject | undefined, target: string): string | undefined {
  return lease !== undefined && isLeaseOf(lease, target) ? lease.metadata.uid : undefined;
}

function secondsOf(ms: number): number {
  return Math.ceil(ms / 1000);
}
