/** Bytes of untrusted inputs in memory at a time: of one tenant, and of all tenants together. */

export interface BytesInFlightLimits {
  readonly bytesMax: number;
  readonly bytesPerTenantMax: number;
}

export class BytesInFlight {
  readonly #limits: BytesInFlightLimits;
  readonly #ofTenants = new Map<string, number>();
  #held = 0;

  constructor(limits: BytesInFlightLimits) {
    this.#limits = limits;
  }

  get held(): number {
    return this.#held;
  }

  /** Tenants with inputs in memory: an idle tenant has no entry. */
  get tenantCount(): number {
    return this.#ofTenants.size;
  }

  /** Reserves bytes; false, without a reservation, when a limit is reached. */
  tryTake(tenant: string, bytes: number): boolean {
    const ofTenant = (this.#ofTenants.get(tenant) ?? 0) + bytes;
    const { bytesMax, bytesPerTenantMax } = this.#limits;
    if (this.#held + bytes > bytesMax || ofTenant > bytesPerTenantMax) return false;
    this.#held += bytes;
    this.#ofTenants.set(tenant, ofTenant);
    return true;
  }

  release(tenant: string, bytes: number): void {
    const left = (this.#ofTenants.get(tenant) ?? 0) - bytes;
    this.#held -= bytes;
    if (left <= 0) this.#ofTenants.delete(tenant);
    else this.#ofTenants.set(tenant, left);
  }
}
