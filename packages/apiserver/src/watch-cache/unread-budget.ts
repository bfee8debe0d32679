/**
 * Accounts for the memory that watches hold for clients that have not read it yet: one account per
 * watch, one sum per tenant, one for all.
 *
 *     watch ──hold──► tenant (bytesPerTenantMax) ──► all (bytesMax)
 *
 * Memory is counted, not bytes: watches share events, and the unread events of a tenant's ten
 * thousand watches exist once. Beyond a limit, the watches without progress for longest are
 * evicted: first they end, so that their clients relist; where that does not suffice, because the
 * bytes are already queued for a client that does not read, their streams are reset.
 */

export interface UnreadLimits {
  readonly bytesPerTenantMax: number;
  readonly bytesMax: number;
}

export const unreadLimits: UnreadLimits = { bytesPerTenantMax: 32 << 20, bytesMax: 256 << 20 };

export class UnreadBudget {
  readonly limits: UnreadLimits;
  readonly #tenants = new Map<string, Tenant>();
  #isEvicting = false;
  /** Grows with every progress of any watch. */
  progress = 0;
  bytes = 0;

  constructor(limits: Partial<UnreadLimits> = {}) {
    this.limits = { ...unreadLimits, ...limits };
  }

  account(tenant: string): UnreadAccount {
    return new UnreadAccount(this, tenant);
  }

  /** The number of tenants with held memory. */
  get size(): number {
    return this.#tenants.size;
  }

  bytesOf(tenant: string): number {
    return this.#tenants.get(tenant)?.bytes ?? 0;
  }

  // The following members are for accounts.

  addAccount(account: UnreadAccount): Tenant {
    let tenant = this.#tenants.get(account.tenant);
    if (tenant === undefined) {
      tenant = new Tenant(this);
      this.#tenants.set(account.tenant, tenant);
    }
    tenant.accounts.add(account);
    return tenant;
  }

  removeAccount(account: UnreadAccount, tenant: Tenant): void {
    tenant.accounts.delete(account);
    if (tenant.accounts.size === 0) this.#tenants.delete(account.tenant);
  }

  enforceLimits(tenant: Tenant): void {
    const { bytesPerTenantMax, bytesMax } = this.limits;
    if ((tenant.bytes <= bytesPerTenantMax && this.bytes <= bytesMax) || this.#isEvicting) return;
    this.#isEvicting = true;
    try {
      // Evicts slightly more than needed, so that not every event evicts.
      if (tenant.bytes > bytesPerTenantMax)
        evict(tenant, () => tenant.bytes <= bytesPerTenantMax * 0.75);
      while (this.bytes > bytesMax) if (!this.#evictLargest(bytesMax)) return;
    } finally {
      this.#isEvicting = false;
    }
  }

  /** Returns whether memory was released. */
  #evictLargest(bytesMax: number): boolean {
    let largest: Tenant | undefined;
    for (const tenant of this.#tenants.values())
      if (tenant.bytes > (largest?.bytes ?? 0)) largest = tenant;
    if (largest === undefined) return false;
    const before = this.bytes;
    const { bytes } = largest;
    evict(largest, () => this.bytes <= bytesMax * 0.9 || (largest as Tenant).bytes <= bytes / 2);
    return this.bytes < before;
  }
}

/** Evicts the watches without progress for longest first. */
function evict(tenant: Tenant, isEnough: () => boolean): void {
  const accounts = [...tenant.accounts].sort((a, b) => a.progressAt - b.progressAt);
  for (const how of ["onEvict", "onReset"] as const)
    for (const account of accounts) {
      if (isEnough()) return;
      account[how]?.();
    }
}

class Tenant {
  readonly accounts = new Set<UnreadAccount>();
  readonly #budget: UnreadBudget;
  readonly #holders = new Map<ArrayBufferLike, number>();
  bytes = 0;

  constructor(budget: UnreadBudget) {
    this.#budget = budget;
  }

  hold(memory: ArrayBufferLike): void {
    const holders = this.#holders.get(memory) ?? 0;
    this.#holders.set(memory, holders + 1);
    if (holders === 0) this.add(memory.byteLength);
  }

  release(memory: ArrayBufferLike): void {
    const holders = this.#holders.get(memory) ?? 0;
    if (holders > 1) {
      this.#holders.set(memory, holders - 1);
      return;
    }
    this.#holders.delete(memory);
    this.add(-memory.byteLength);
  }

  add(bytes: number): void {
    this.bytes += bytes;
    this.#budget.bytes += bytes;
  }
}

/** The memory that one watch holds, at every stage of its delivery. */
export class UnreadAccount {
  readonly tenant: string;
  readonly #budget: UnreadBudget;
  /** Set while the account holds memory. */
  #in: Tenant | undefined;
  #held = 0;
  progressAt = 0;
  /** Ends the watch cleanly; its undelivered events are dropped. */
  onEvict: (() => void) | undefined;
  /** Resets the stream with its queued bytes. */
  onReset: (() => void) | undefined;

  constructor(budget: UnreadBudget, tenant: string) {
    this.#budget = budget;
    this.tenant = tenant;
  }

  /** Holds the backing memory of a part, once more if it is held already. */
  hold(part: Uint8Array): void {
    const tenant = this.#enter();
    tenant.hold(part.buffer);
    this.#budget.enforceLimits(tenant);
  }

  /** Releases a hold after the part was sent, or dropped. */
  release(part: Uint8Array): void {
    this.#in?.release(part.buffer);
    this.#leave();
  }

  /** Holds memory that is not shared: copies below this layer. */
  holdCopy(bytes: number): void {
    const tenant = this.#enter();
    tenant.add(bytes);
    this.#budget.enforceLimits(tenant);
  }

  releaseCopy(bytes: number): void {
    this.#in?.add(-bytes);
    this.#leave();
  }

  #enter(): Tenant {
    if (this.#held++ === 0) {
      this.progressAt = this.#budget.progress;
      this.#in = this.#budget.addAccount(this);
    }
    return this.#in as Tenant;
  }

  #leave(): void {
    this.progressAt = ++this.#budget.progress;
    if (--this.#held > 0) return;
    this.#budget.removeAccount(this, this.#in as Tenant);
    this.#in = undefined;
  }
}
