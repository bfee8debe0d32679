/**
 * What watches hold for clients that have not read it yet: one account for each watch, one sum for each tenant, one for all.
 *
 *     watch ──hold──► tenant (bytesPerTenantMax) ──► all (bytesMax)
 *
 * Memory is counted, not bytes: events are shared by their watches, and what ten thousand of a tenant wait for is there once. Whoever is
 * over a bound loses the watches that have made no progress for longest: first they end, so that their clients list anew; where that
 * is not enough, because what waits is already on its way to a client that does not read, their streams are cut.
 */

export interface UnreadLimits {
  readonly bytesPerTenantMax: number;
  readonly bytesMax: number;
}

export const unreadLimits: UnreadLimits = {
  bytesPerTenantMax: 32 << 20,
  bytesMax: 256 << 20,
};

export class UnreadBudget {
  readonly limits: UnreadLimits;
  readonly #tenants = new Map<string, Tenant>();
  #isEvicting = false;
  /** Grows with every bit of progress that any watch makes. */
  progress = 0;
  bytes = 0;

  constructor(limits: Partial<UnreadLimits> = {}) {
    this.limits = { ...unreadLimits, ...limits };
  }

  account(tenant: string): UnreadAccount {
    return new UnreadAccount(this, tenant);
  }

  /** Tenants that hold something. */
  get size(): number {
    return this.#tenants.size;
  }

  bytesOf(tenant: string): number {
    return this.#tenants.get(tenant)?.bytes ?? 0;
  }

  // What follows is for accounts.

  enter(account: UnreadAccount): Tenant {
    let tenant = this.#tenants.get(account.tenant);
    if (tenant === undefined) {
      tenant = new Tenant(this);
      this.#tenants.set(account.tenant, tenant);
    }
    tenant.accounts.add(account);
    return tenant;
  }

  leave(account: UnreadAccount, tenant: Tenant): void {
    tenant.accounts.delete(account);
    if (tenant.accounts.size === 0) this.#tenants.delete(account.tenant);
  }

  keepBounds(tenant: Tenant): void {
    const { bytesPerTenantMax, bytesMax } = this.limits;
    if ((tenant.bytes <= bytesPerTenantMax && this.bytes <= bytesMax) || this.#isEvicting) return;
    this.#isEvicting = true;
    try {
      // A little more than needed, so that it is not done for every event.
      if (tenant.bytes > bytesPerTenantMax)
        evict(tenant, () => tenant.bytes <= bytesPerTenantMax * 0.75);
      while (this.bytes > bytesMax) if (!this.#evictLargest(bytesMax)) return;
    } finally {
      this.#isEvicting = false;
    }
  }

  /** Whether that helped. */
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

/** Those that stand still longest go first. */
function evict(tenant: Tenant, isEnough: () => boolean): void {
  const accounts = [...tenant.accounts].sort((a, b) => a.progressAt - b.progressAt);
  for (const how of ["onEvict", "onCut"] as const)
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

/** What one watch holds, wherever it is on its way. */
export class UnreadAccount {
  readonly tenant: string;
  readonly #budget: UnreadBudget;
  /** While it holds something. */
  #in: Tenant | undefined;
  #held = 0;
  progressAt = 0;
  /** Ends the watch cleanly; what it has not handed on is forgotten. */
  onEvict: (() => void) | undefined;
  /** Gives up what is on its way. */
  onCut: (() => void) | undefined;

  constructor(budget: UnreadBudget, tenant: string) {
    this.#budget = budget;
    this.tenant = tenant;
  }

  /** The memory that a part stands on is held, once more if it is already. */
  hold(part: Uint8Array): void {
    const tenant = this.#enter();
    tenant.hold(part.buffer);
    this.#budget.keepBounds(tenant);
  }

  /** What was held is not any more: it was sent, or given up. */
  release(part: Uint8Array): void {
    this.#in?.release(part.buffer);
    this.#leave();
  }

  /** The same of memory that nobody shares: copies below. */
  holdCopy(bytes: number): void {
    const tenant = this.#enter();
    tenant.add(bytes);
    this.#budget.keepBounds(tenant);
  }

  releaseCopy(bytes: number): void {
    this.#in?.add(-bytes);
    this.#leave();
  }

  #enter(): Tenant {
    if (this.#held++ === 0) {
      this.progressAt = this.#budget.progress;
      this.#in = this.#budget.enter(this);
    }
    return this.#in as Tenant;
  }

  #leave(): void {
    this.progressAt = ++this.#budget.progress;
    if (--this.#held > 0) return;
    this.#budget.leave(this, this.#in as Tenant);
    this.#in = undefined;
  }
}
