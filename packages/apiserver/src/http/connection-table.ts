/**
 * Tracks every open connection of a listener, and selects the connections to close when there are
 * too many.
 *
 * Connections cost file descriptors, and the store needs some as well. At the limit connections
 * without an authenticated request close first, then idle ones, each time of the owner with the
 * most; a busy connection closes only in favour of an owner with far fewer. Unauthenticated
 * connections also close after a timeout.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";

export interface ConnectionTableLimits {
  readonly connectionsMax: number;
  /** An idle connection without an authenticated request closes after this time. */
  readonly unauthenticatedTimeoutMs: number;
  /** An idle connection closes after this time, even if it receives other frames. */
  readonly idleTimeoutMs: number;
  readonly checkIntervalMs: number;
}

/** The part of all connections that unauthenticated connections of one address may be. */
const strangersPerAddress = 0.25;
/**
 * The part of connections that closes at once, so that not every new connection scans all others.
 */
const evictedPart = 1 / 64;
/**
 * An owner with more than this multiple of another owner's connections loses busy connections as
 * well.
 */
const unfairFactor = 4;

export class TrackedConnection {
  readonly address: string;
  destroy: () => void;
  /** The user name after an authenticated request; before, the address. */
  owner: string;
  isAuthenticated = false;
  /** Whether a request is in flight on the connection. */
  isBusy: () => boolean = () => false;
  /** Consecutive checks without a new request. */
  idleChecks = 0;

  constructor(address: string, destroy: () => void) {
    this.address = address;
    this.owner = address;
    this.destroy = destroy;
  }
}

export class ConnectionTable {
  readonly #limits: ConnectionTableLimits;
  readonly #clock: Clock;
  /** In order of creation, oldest first. */
  readonly #connections = new Set<TrackedConnection>();
  readonly #ofOwners = new Map<string, number>();
  readonly #unauthenticated = new Map<string, number>();
  #timer: Timer | undefined;

  constructor(clock: Clock, limits: ConnectionTableLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  get size(): number {
    return this.#connections.size;
  }

  /** Undefined when the limit is reached and no connection can be closed. */
  add(address: string, destroy: () => void): TrackedConnection | undefined {
    const { connectionsMax } = this.#limits;
    const strangersMax = Math.max(1, connectionsMax * strangersPerAddress);
    if ((this.#unauthenticated.get(address) ?? 0) >= strangersMax)
      this.#evict(strangersMax, (each) => !each.isAuthenticated && each.address === address);
    if (this.#connections.size >= connectionsMax && !this.#evictForNew(address)) return undefined;
    const connection = new TrackedConnection(address, destroy);
    this.#connections.add(connection);
    count(this.#ofOwners, connection.owner, 1);
    count(this.#unauthenticated, address, 1);
    this.#timer ??= this.#schedule();
    return connection;
  }

  delete(connection: TrackedConnection): void {
    if (!this.#connections.delete(connection)) return;
    count(this.#ofOwners, connection.owner, -1);
    if (!connection.isAuthenticated) count(this.#unauthenticated, connection.address, -1);
    if (this.#connections.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Called after an authenticated request. */
  markAuthenticated(connection: TrackedConnection, username: string): void {
    if (connection.isAuthenticated || !this.#connections.has(connection)) return;
    connection.isAuthenticated = true;
    count(this.#unauthenticated, connection.address, -1);
    count(this.#ofOwners, connection.owner, -1);
    connection.owner = `user ${username}`;
    count(this.#ofOwners, connection.owner, 1);
  }

  #evictForNew(address: string): boolean {
    const { connectionsMax } = this.#limits;
    if (this.#evict(connectionsMax, (each) => !each.isAuthenticated && !each.isBusy())) return true;
    if (this.#evict(connectionsMax, (each) => !each.isAuthenticated)) return true;
    if (this.#evict(connectionsMax, (each) => !each.isBusy())) return true;
    const fair = unfairFactor * ((this.#ofOwners.get(address) ?? 0) + 1);
    return this.#evict(connectionsMax, (each) => (this.#ofOwners.get(each.owner) ?? 0) > fair);
  }

  /**
   * Closes the oldest evictable connections of the owner with the most; returns whether there was
   * one.
   */
  #evict(of: number, mayGo: (connection: TrackedConnection) => boolean): boolean {
    const candidates = [...this.#connections].filter(mayGo);
    let owner: string | undefined;
    let most = 0;
    for (const candidate of candidates) {
      const has = this.#ofOwners.get(candidate.owner) ?? 0;
      if (has > most) [owner, most] = [candidate.owner, has];
    }
    let left = Math.max(1, Math.floor(of * evictedPart));
    for (const candidate of candidates) {
      if (left === 0) break;
      if (candidate.owner !== owner) continue;
      left--;
      this.#end(candidate);
    }
    return owner !== undefined;
  }

  #end(connection: TrackedConnection): void {
    this.delete(connection);
    connection.destroy();
  }

  #schedule(): Timer {
    const { checkIntervalMs, unauthenticatedTimeoutMs, idleTimeoutMs } = this.#limits;
    return this.#clock.schedule(checkIntervalMs, () => {
      this.#timer = this.#schedule();
      for (const connection of [...this.#connections]) {
        connection.idleChecks = connection.isBusy() ? 0 : connection.idleChecks + 1;
        const quietMs = (connection.idleChecks - 1) * checkIntervalMs;
        const timeoutMs = connection.isAuthenticated ? 2 * idleTimeoutMs : unauthenticatedTimeoutMs;
        if (quietMs >= timeoutMs) this.#end(connection);
      }
    });
  }
}

function count(counts: Map<string, number>, key: string, by: 1 | -1): void {
  const now = (counts.get(key) ?? 0) + by;
  if (now === 0) counts.delete(key);
  else counts.set(key, now);
}
