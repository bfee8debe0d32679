/** Bytes of request bodies that are held in memory, from the moment they arrive until their request is answered. */
import { BytesInFlight, bytesInFlight } from "@kcp-ts/machinery/bounds";
import { tooBusy } from "../event-loop/index.ts";

export interface BodyLimits {
  readonly bodyBytesMax: number;
  /** What one logical cluster may have of it. */
  readonly bodyBytesPerClusterMax: number;
}

export const bodyLimitDefaults: BodyLimits = {
  bodyBytesMax: bytesInFlight.requestBodies.bytesMax,
  bodyBytesPerClusterMax: bytesInFlight.requestBodies.bytesPerTenantMax,
};

export class BodyBudget {
  readonly #bytes: BytesInFlight;

  constructor(limits: BodyLimits = bodyLimitDefaults) {
    const { bodyBytesMax, bodyBytesPerClusterMax } = limits;
    this.#bytes = new BytesInFlight({
      bytesMax: bodyBytesMax,
      bytesPerTenantMax: bodyBytesPerClusterMax,
    });
  }

  get held(): number {
    return this.#bytes.held;
  }

  /** Clusters of which a body is held. */
  get clusterCount(): number {
    return this.#bytes.tenantCount;
  }

  /** Throws a 429 when there is no room; the sender keeps what it has not sent. */
  take(cluster: string, bytes: number): void {
    if (!this.#bytes.tryTake(cluster, bytes)) throw tooBusy;
  }

  release(cluster: string, bytes: number): void {
    this.#bytes.release(cluster, bytes);
  }
}
