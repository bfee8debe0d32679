/**
 * The logical clusters with the most requests, without a series for each of them: the Space-Saving
 * algorithm (Metwally and others, 2005) over a sample of the requests. Of the tracked clusters, the
 * one with the fewest requests makes place for a new one, which inherits its count; so the largest
 * are never missed, and a count is too large by at most that of the smallest.
 */
import type { MetricSource } from "./metrics.ts";

const trackedMax = 256;
const shownMax = 10;
/** One request of so many is counted, as that many: a power of two. */
export const topTenantsSampling = 64;

export class TopTenants implements MetricSource {
  readonly #counts = new Map<string, number>();
  #requests = 0;

  /** On the way of every request: one addition for most of them. */
  record(cluster: string): void {
    if ((++this.#requests & (topTenantsSampling - 1)) !== 0) return;
    const known = this.#counts.get(cluster);
    if (known !== undefined || this.#counts.size < trackedMax) {
      this.#counts.set(cluster, (known ?? 0) + topTenantsSampling);
      return;
    }
    const [smallest, count] = this.#smallest();
    this.#counts.delete(smallest);
    this.#counts.set(cluster, count + topTenantsSampling);
  }

  #smallest(): readonly [string, number] {
    let found: readonly [string, number] = ["", Number.POSITIVE_INFINITY];
    for (const entry of this.#counts) if (entry[1] < found[1]) found = entry;
    return found;
  }

  /** Halves all counts after it is read: the list shows recent requests, and forgets old ones. */
  render(): string {
    const top = [...this.#counts].sort(([, a], [, b]) => b - a).slice(0, shownMax);
    for (const [cluster, count] of this.#counts) {
      if (count <= topTenantsSampling) this.#counts.delete(cluster);
      else this.#counts.set(cluster, count / 2);
    }
    const name = "kcp_top_tenant_requests";
    const help = `The ${shownMax} logical clusters with the most recent requests, sampled; halved at each scrape.`;
    const lines = top.map(([cluster, count]) => `${name}{cluster="${cluster}"} ${count}\n`);
    return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${lines.join("")}`;
  }
}
