/**
 * When what a lost cluster has has surely stopped, for what may run once at most.
 *
 *     agent     renews, sent at s ─────────── lease, by its own clock ───────────▶ stops ── Pods end ──▶ stopped
 *     here           received ──▶ silent: no heartbeat counts ── lease + margin + time to end, by our clock ──▶ fenced
 *
 * Every heartbeat that counts was sent before its cluster was called silent, so the agent's lease ends at most its duration after that. What is added
 * is for clocks that do not run alike, for the agent's look once a second and its requests, and for Pods to end. docs/adr/0028 has the argument.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Client } from "@kcp-ts/sdk";
import { isSharedTargetName, syncTargets, targetNameIn } from "../api/index.ts";
import { podTemplateOf } from "./pod-template.ts";
import { type ClusterInfo, clusterInfoOf } from "./standing.ts";
import type { Workload } from "./workload.ts";

/** For the agent's look once a second and its requests, and for clocks that run up to a tenth apart. */
export function fenceMarginMs(leaseMs: number): number {
  return 9000 + leaseMs / 10;
}

/** What Kubernetes gives a Pod to end, if it does not say. */
const terminationSecondsDefault = 30;

/** Undefined while it cannot be told: heartbeats still count, or nobody in the cluster stops anything. */
export function fencedAtMs(
  target: ClusterInfo | undefined,
  whole: Workload,
  of: { readonly kind: string },
): number | undefined {
  const { durationMs, silentSinceMs } = target?.lease ?? {};
  if (durationMs === undefined || silentSinceMs === undefined) return undefined;
  return silentSinceMs + durationMs + fenceMarginMs(durationMs) + terminationMs(whole, of);
}

/** As long as its Pods may take; what makes none that are known is given what Pods have that do not say. */
function terminationMs(whole: Workload, of: { readonly kind: string }): number {
  const spec = member(podTemplateOf(of, whole), "spec");
  const seconds = member(spec, "terminationGracePeriodSeconds");
  return (typeof seconds === "number" ? seconds : terminationSecondsDefault) * 1000;
}

function member(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) ? value[name] : undefined;
}

export interface FencingScope {
  readonly client: (cluster: ClusterName) => Client;
  /** Whose workload it is. */
  readonly cluster: ClusterName;
  readonly homes?: Iterable<ClusterName> | undefined;
}

/**
 * SyncTargets for what may run once at most: read now, not from a watch that may be late, and silent only since this process saw it. A restart waits longer, never
 * shorter.
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
   * `known` as they are now. `homes` are the other logical clusters whose clusters this one may use: of a cluster that is known and in none of them any more, nothing is read, and it is never
   * held for stopped.
   */
  async read(
    { client, cluster, homes = [] }: FencingScope,
    known: readonly ClusterInfo[],
    signal: AbortSignal,
  ): Promise<readonly ClusterInfo[]> {
    const live = new Map<string, ClusterInfo>();
    const isShared = known.some(({ name }) => isSharedTargetName(name));
    for (const home of [cluster, ...(isShared ? homes : [])])
      for await (const { items } of client(home).resource(syncTargets).pages({ signal }))
        for (const item of items) {
          const { name, uid } = item.metadata;
          const seen = this.#seen(`${cluster} ${home} ${uid}`, clusterInfoOf(item));
          live.set(targetNameIn(cluster, { name, cluster: home }), seen);
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
