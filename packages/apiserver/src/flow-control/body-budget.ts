/**
 * BodyBudget: the bytes of request bodies that are held in memory, from their arrival until the
 * response to their request.
 */
import { BytesInFlight, bytesInFlight } from "@kcp-ts/machinery/bounds";
import { tooBusy } from "../event-loop/index.ts";

export interface BodyLimits {
  readonly bodyBytesMax: number;
  /** The part of `bodyBytesMax` that one logical cluster may use. */
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

  get heldBytes(): number {
    return this.#bytes.held;
  }

  /** The number of clusters with a body in memory. */
  get clusterCount(): number {
    return this.#bytes.tenantCount;
  }

  /** Throws a 429 when the budget is exhausted; the rest of the body stays with the sender. */
  reserve(cluster: string, bytes: number): void {
    if (!this.#bytes.tryTake(cluster, bytes)) throw tooBusy;
  }

  release(cluster: string, bytes: number): void {
    this.#bytes.release(cluster, bytes);
  }
}
