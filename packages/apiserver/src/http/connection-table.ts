/**
 * Every open connection of a listener, and which of them go when there are too many.
 *
 * Connections cost file descriptors, and the store needs some as well. At the limit those go first that have never shown who they are, then those
 * that nothing is open on, each time of whoever has most; a connection at work goes only for somebody who has far fewer. Who
 * shows nothing for a while goes without that.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";

export interface ConnectionTableLimits {
  readonly connectionsMax: number;
  /** A connection that has not shown who it is and asks nothing goes after this long. */
  readonly unauthenticatedTimeoutMs: number;
  /** A connection that asks nothing goes after this long, whatever else comes on it. */
  readonly idleTimeoutMs: number;
  readonly checkIntervalMs: number;
}

/** The part of all connections that those of one address may be which have not shown who they are. */
const strangersPerAddress = 0.25;
/** So many go at once, so that not every new connection looks at all others. */
const evictedPart = 1 / 64;
/** Of somebody who has more than so many times what another has, connections at work go as well. */
const unfairFactor = 4;

export class TrackedConnection {
  readonly address: string;
  destroy: () => void;
  /** The user, once somebody has shown who they are; till then the address. */
  owner: string;
  isKnown = false;
  /** Whether something is open on it. */
  isBusy: () => boolean = () => false;
  /** Looks in a row at which nothing had been asked since the last one. */
  quietLooks = 0;

  constructor(address: string, destroy: () => void) {
    this.address = address;
    this.owner = address;
    this.destroy = destroy;
  }
}

export class ConnectionTable {
  readonly #limits: ConnectionTableLimits;
  readonly #clock: Clock;
  /** The oldest first. */
  readonly #connections = new Set<TrackedConnection>();
  readonly #ofOwners = new Map<string, number>();
  readonly #strangers = new Map<string, number>();
  #timer: Timer | undefined;

  constructor(clock: Clock, limits: ConnectionTableLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  get size(): number {
    return this.#connections.size;
  }

  /** Undefined when there is no room for it. */
  add(address: string, destroy: () => void): TrackedConnection | undefined {
    const { connectionsMax } = this.#limits;
    const strangersMax = Math.max(1, connectionsMax * strangersPerAddress);
    if ((this.#strangers.get(address) ?? 0) >= strangersMax)
      this.#evict(strangersMax, (each) => !each.isKnown && each.address === address);
    if (this.#connections.size >= connectionsMax && !this.#makeRoom(address)) return undefined;
    const connection = new TrackedConnection(address, destroy);
    this.#connections.add(connection);
    count(this.#ofOwners, connection.owner, 1);
    count(this.#strangers, address, 1);
    this.#timer ??= this.#schedule();
    return connection;
  }

  delete(connection: TrackedConnection): void {
    if (!this.#connections.delete(connection)) return;
    count(this.#ofOwners, connection.owner, -1);
    if (!connection.isKnown) count(this.#strangers, connection.address, -1);
    if (this.#connections.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Somebody has shown who they are. */
  recognize(connection: TrackedConnection, username: string): void {
    if (connection.isKnown || !this.#connections.has(connection)) return;
    connection.isKnown = true;
    count(this.#strangers, connection.address, -1);
    count(this.#ofOwners, connection.owner, -1);
    connection.owner = `user ${username}`;
    count(this.#ofOwners, connection.owner, 1);
  }

  #makeRoom(address: string): boolean {
    const { connectionsMax } = this.#limits;
    if (this.#evict(connectionsMax, (each) => !each.isKnown && !each.isBusy())) return true;
    if (this.#evict(connectionsMax, (each) => !each.isKnown)) return true;
    if (this.#evict(connectionsMax, (each) => !each.isBusy())) return true;
    const fair = unfairFactor * ((this.#ofOwners.get(address) ?? 0) + 1);
    return this.#evict(connectionsMax, (each) => (this.#ofOwners.get(each.owner) ?? 0) > fair);
  }

  /** Of those that may go, the oldest of the owner who has most; whether there was one. */
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
        connection.quietLooks = connection.isBusy() ? 0 : connection.quietLooks + 1;
        const quietMs = (connection.quietLooks - 1) * checkIntervalMs;
        const timeoutMs = connection.isKnown ? 2 * idleTimeoutMs : unauthenticatedTimeoutMs;
        if (quietMs >= timeoutMs) this.#end(connection);
      }
      if (this.#connections.size > 0) return;
      this.#timer.cancel();
      this.#timer = undefined;
    });
  }
}

function count(counts: Map<string, number>, key: string, by: 1 | -1): void {
  const now = (counts.get(key) ?? 0) + by;
  if (now === 0) counts.delete(key);
  else counts.set(key, now);
}
