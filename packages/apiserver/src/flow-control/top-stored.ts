/**
 * The logical clusters that store the most, as far as their objects are counted: where a limit is
 * set, and once a write has asked for the count.
 */
import type { MetricSource } from "../metrics/index.ts";
import type { StoredUsage } from "./object-limits.ts";

const shownMax = 10;
const parts = [
  ["objects", "most counted objects"],
  ["bytes", "most counted bytes of objects, as stored"],
] as const;

export class TopStored implements MetricSource {
  readonly #counts: ReadonlyMap<string, StoredUsage>;

  constructor(counts: ReadonlyMap<string, StoredUsage>) {
    this.#counts = counts;
  }

  render(): string {
    return parts.map(([part, what]) => this.#rendered(part, what)).join("");
  }

  #rendered(part: keyof StoredUsage, what: string): string {
    const name = `kcp_top_tenant_stored_${part}`;
    const lines = [...this.#counts]
      .filter(([, count]) => count[part] > 0)
      .sort(([, a], [, b]) => b[part] - a[part])
      .slice(0, shownMax)
      .map(([cluster, count]) => `${name}{cluster="${cluster}"} ${count[part]}\n`);
    const help = `The ${shownMax} logical clusters with the ${what}; only where a limit has them counted.`;
    return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${lines.join("")}`;
  }
}
