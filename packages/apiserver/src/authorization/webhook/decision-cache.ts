/**
 * DecisionCache: decisions that are cached for a while; the least recently used is evicted when
 * there are too many.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import type { Decision } from "../authorizer.ts";

/** As many as in kube-apiserver. */
export const decisionsMax = 8192;

export class DecisionCache {
  readonly #clock: Pick<Clock, "now">;
  readonly #entries = new Map<string, { readonly decision: Decision; readonly until: number }>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  get(key: string): Decision | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    if (entry.until <= this.#clock.now()) return undefined;
    this.#entries.set(key, entry);
    return entry.decision;
  }

  add(key: string, decision: Decision, ttlMs: number): void {
    if (ttlMs <= 0) return;
    this.#entries.delete(key);
    this.#entries.set(key, { decision, until: this.#clock.now() + ttlMs });
    if (this.#entries.size <= decisionsMax) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }
}
