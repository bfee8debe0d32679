/**
 * Fencing: the time at which StopBeforeStart workloads in an Unreachable cluster have certainly
 * stopped.
 *
 *     agent:  renews, sent at s ── lease, by its own clock ──▶ stops ── Pods end ──▶ stopped
 *     server: received ──▶ heartbeat missed ── lease + margin +
 *             termination time, by the server's clock ──▶ fenced
 *
 * Every heartbeat that counts was sent before its cluster's heartbeat was missed, so the agent's
 * lease ends at most its duration after that. The margin covers clock drift, the agent's check once
 * a second and its requests; the termination time covers the Pods. docs/adr/0028 has the argument.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Client } from "@kcp-ts/sdk";
import { isSharedTargetName, syncTargets, targetNameIn } from "../api/index.ts";
import { type ClusterInfo, clusterInfoOf } from "./cluster-state.ts";
import { podTemplateOf } from "./pod-template.ts";
import type { Workload } from "./workload.ts";

/**
 * The margin covers the agent's check once a second, its requests, and clocks whose rates differ by
 * up to a tenth.
 */
export function fenceMarginMs(leaseMs: number): number {
  return 9000 + leaseMs / 10;
}

/** Kubernetes' default of a Pod's terminationGracePeriodSeconds. */
const terminationSecondsDefault = 30;

/**
 * The time at which fencing is complete; undefined while it is unknown: heartbeats still arrive, or
 * no agent in the cluster stops workloads.
 */
export function fencedAtMs(
  target: ClusterInfo | undefined,
  workload: Workload,
  of: { readonly kind: string },
): number | undefined {
  const { durationMs, silentSinceMs } = target?.lease ?? {};
  if (durationMs === undefined || silentSinceMs === undefined) return undefined;
  return silentSinceMs + durationMs + fenceMarginMs(durationMs) + terminationMs(workload, of);
}

/**
 * The termination grace period of the workload's Pods; the default of Pods for a workload without a
 * known Pod template.
 */
function terminationMs(workload: Workload, of: { readonly kind: string }): number {
  const spec = member(podTemplateOf(of, workload), "spec");
  const seconds = member(spec, "terminationGracePeriodSeconds");
  return (typeof seconds === "number" ? seconds : terminationSecondsDefault) * 1000;
}

function member(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) ? value[name] : undefined;
}

export interface FencingScope {
  readonly client: (cluster: ClusterName) => Client;
  /** The logical cluster of the workload. */
  readonly cluster: ClusterName;
  readonly computeWorkspaces?: Iterable<ClusterName> | undefined;
}

/**
 * SyncTargets for decisions about StopBeforeStart workloads: read from the server, not from a watch
 * that may lag. A heartbeat counts as missed only since this process observed it, so a restart
 * waits longer, never shorter.
 */
export class FencedClusters {
  readonly #clock: Clock;
  readonly #firstSeen = new Map<
    string,
    { readonly silentSinceMs: number; readonly atMs: number }
  >();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The current state of the `known` clusters. `homes` are the compute workspaces whose clusters
   * this logical cluster may use: a known cluster that is in none of them any more is not read, and
   * never counts as fenced.
   */
  async read(
    { client, cluster, computeWorkspaces = [] }: FencingScope,
    known: readonly ClusterInfo[],
    signal: AbortSignal,
  ): Promise<readonly ClusterInfo[]> {
    const live = new Map<string, ClusterInfo>();
    const isShared = known.some(({ name }) => isSharedTargetName(name));
    for (const computeWorkspace of [cluster, ...(isShared ? computeWorkspaces : [])])
      for await (const { items } of client(computeWorkspace)
        .resource(syncTargets)
        .pages({ signal }))
        for (const item of items) {
          const { name, uid } = item.metadata;
          const observed = this.#seen(`${cluster} ${computeWorkspace} ${uid}`, clusterInfoOf(item));
          live.set(targetNameIn(cluster, { name, cluster: computeWorkspace }), observed);
        }
    return known.map((target) => {
      const found = live.get(target.name);
      if (found === undefined) return { ...target, lease: undefined };
      const { isReady, changedAtMs, isDeleting, lease } = found;
      return { ...target, isReady, changedAtMs, isDeleting, lease };
    });
  }

  #seen(key: string, target: ClusterInfo): ClusterInfo {
    const { lease } = target;
    if (lease?.silentSinceMs === undefined) {
      this.#firstSeen.delete(key);
      return target;
    }
    const known = this.#firstSeen.get(key);
    const isKnown = known?.silentSinceMs === lease.silentSinceMs;
    const atMs = isKnown ? known.atMs : this.#clock.monotonic();
    if (!isKnown) this.#firstSeen.set(key, { silentSinceMs: lease.silentSinceMs, atMs });
    const silentSinceMs = this.#clock.now() - (this.#clock.monotonic() - atMs);
    return { ...target, lease: { ...lease, silentSinceMs } };
  }
}
