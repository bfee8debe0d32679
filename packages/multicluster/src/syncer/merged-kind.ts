/**
 * One kind in the logical cluster of the SyncTarget and in all other logical clusters that use it,
 * merged. There are two informers, because the two have different endpoints.
 */
import type { InformerHealth, ObjectKey } from "@kcp-ts/sdk";
import type { CachedObject } from "./cached-object.ts";
import type { UpstreamKind } from "./upstream-informers.ts";

export interface MergedKindOptions {
  /** The logical cluster of the SyncTarget. */
  readonly ownCluster: string;
  readonly own: UpstreamKind;
  readonly shared: UpstreamKind;
}

export class MergedKind implements UpstreamKind {
  readonly #options: MergedKindOptions;

  constructor(options: MergedKindOptions) {
    this.#options = options;
  }

  get(key: ObjectKey): CachedObject | undefined {
    const { ownCluster, own, shared } = this.#options;
    return (key.cluster === ownCluster ? own : shared).get(key);
  }

  keys(): readonly ObjectKey[] {
    const { ownCluster, own, shared } = this.#options;
    return [...own.keys(), ...shared.keys().filter(({ cluster }) => cluster !== ownCluster)];
  }

  get hasSynced(): boolean {
    return this.#options.own.hasSynced && this.#options.shared.hasSynced;
  }

  /** The health of the less healthy informer. */
  get health(): InformerHealth {
    const { own, shared } = this.#options;
    return shared.health.state === "watching" ? own.health : shared.health;
  }

  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#options.own.synced(signal), this.#options.shared.synced(signal)]);
  }

  resync(): void {
    this.#options.own.resync();
    this.#options.shared.resync();
  }

  close(): void {
    this.#options.own.close();
    this.#options.shared.close();
  }
}
