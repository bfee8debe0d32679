/**
 * The resources that the control plane serves natively: ConfigMaps, Secrets, roles. Such an API is
 * not negotiated, whatever clusters serve.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { type Client, discover } from "@kcp-ts/sdk";
import { nameOf } from "../api-import/index.ts";

/** No definitions exist in this logical cluster: it serves built-in resources only. */
const systemCluster = "system:admin";
const rereadMs = 600_000;

export class NativeResources {
  readonly #client: Client;
  readonly #clock: Clock;
  #names: ReadonlySet<string> | undefined;
  #readAtMs = 0;

  constructor(client: Client, clock: Clock) {
    this.#client = client.inCluster(systemCluster);
    this.#clock = clock;
  }

  async names(signal: AbortSignal): Promise<ReadonlySet<string>> {
    const nowMs = this.#clock.monotonic();
    if (this.#names !== undefined && nowMs - this.#readAtMs < rereadMs) return this.#names;
    const { groups } = await discover(this.#client, { signal });
    const names = new Set<string>();
    for (const { versions } of groups) {
      for (const { resources } of versions) for (const one of resources) names.add(nameOf(one));
    }
    this.#names = names;
    this.#readAtMs = nowMs;
    return names;
  }
}
