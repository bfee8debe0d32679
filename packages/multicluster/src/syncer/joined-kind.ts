/** One kind in the logical cluster of the SyncTarget and in all others that use it, as one. Two informers: the way to either is another one. */
import type { InformerHealth, ObjectKey } from "@kcp-ts/sdk";
import type { CachedObject } from "./cached-object.ts";
import type { UpstreamKind } from "./upstream-informers.ts";

export interface MergedKindOptions {
  /** The logical cluster of the SyncTarget. */
  readonly home: string;
  readonly own: UpstreamKind;
  readonly shared: UpstreamKind;
}

export class MergedKind implements UpstreamKind {
  readonly #options: MergedKindOptions;

  constructor(options: MergedKindOptions) {
    this.#options = options;
  }

  get(key: ObjectKey): CachedObject | undefined {
    const { home, own, shared } = this.#options;
    return (key.cluster === home ? own : shared).get(key);
  }

  keys(): readonly ObjectKey[] {
    const { home, own, shared } = this.#options;
    return [...own.keys(), ...shared.keys().filter(({ cluster }) => cluster !== home)];
  }

  get hasSynced(): boolean {
    return this.#options.own.hasSynced && this.#options.shared.hasSynced;
  }

  /** Of the one that is worse off. */
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
