/**
 * A TCP proxy that misbehaves on request: slow, dead, half-open, refusing.
 *
 * It knows bytes and no protocol, so the same faults can be put in front of etcd, an API server or
 * a physical cluster.
 */
import { createServer, connect as dial, type Server, type Socket } from "node:net";
import { type Clock, systemClock } from "@kcp-ts/machinery/base";

export interface FaultProxyOptions {
  readonly host: string;
  readonly port: number;
  readonly clock?: Clock;
  /** Who dialled, by the first bytes that it sent; for faults that concern some of them only. */
  readonly originOf?: (first: Buffer) => string | undefined;
}

/** Undefined while a connection has sent nothing, or when its first bytes do not say. */
export type AppliesTo = (origin: string | undefined) => boolean;

/**
 * What happens to bytes and connections from now on; connections that are already open are
 * affected, too.
 */
export interface Faults {
  /** Each piece of data is passed on this much later, in both directions. */
  readonly latencyMs?: number;
  /** Each connection passes at most this much per second and direction. */
  readonly bytesPerSecond?: number;
  /** Half-open: connections stay up, new ones are taken, and no byte gets through. */
  readonly blackhole?: boolean;
  /** New connections are reset at once. */
  readonly refuse?: boolean;
}

export class FaultProxy {
  readonly #options: FaultProxyOptions;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #faults: Faults = {};
  #appliesTo: AppliesTo = () => true;
  #accepted = 0;

  private constructor(options: FaultProxyOptions) {
    this.#options = options;
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket));
  }

  static async start(options: FaultProxyOptions): Promise<FaultProxy> {
    const proxy = new FaultProxy(options);
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once("error", reject);
      proxy.#server.listen(0, "127.0.0.1", resolve);
    });
    return proxy;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("the proxy is closed");
    return address.port;
  }

  get openConnections(): number {
    return this.#pairs.size;
  }

  /** How many connections were taken since the start. */
  get acceptedConnections(): number {
    return this.#accepted;
  }

  /** Replaces the faults; an empty object is a healthy network. */
  setFaults(faults: Faults, isConcerned: AppliesTo = () => true): void {
    this.#faults = faults;
    this.#appliesTo = isConcerned;
  }

  /** Resets open connections. */
  dropConnections(isConcerned: AppliesTo = () => true): void {
    for (const pair of this.#pairs) if (isConcerned(pair.origin)) pair.reset();
  }

  /**
   * Open connections pass no byte any more and are never closed: their other end has gone without a
   * word. New ones are well.
   */
  stallConnections(): void {
    for (const pair of this.#pairs) pair.stall();
  }

  async dispose(): Promise<void> {
    this.dropConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #accept(near: Socket): void {
    this.#accepted++;
    if (this.#faults.refuse === true) {
      near.on("error", () => near.destroy());
      near.resetAndDestroy();
      return;
    }
    const { host, port, clock = systemClock, originOf = () => undefined } = this.#options;
    const far = dial({ host, port, allowHalfOpen: true });
    const pair: Pair = new Pair(near, far, {
      clock,
      originOf,
      faults: () => (this.#appliesTo(pair.origin) ? this.#faults : {}),
      onEnd: () => this.#pairs.delete(pair),
    });
    this.#pairs.add(pair);
  }
}

interface PairOptions {
  readonly clock: Clock;
  readonly originOf: (first: Buffer) => string | undefined;
  readonly faults: () => Faults;
  readonly onEnd: () => void;
}

class Pair {
  readonly #near: Socket;
  readonly #far: Socket;
  readonly #options: PairOptions;
  #isStalled = false;
  origin: string | undefined;

  constructor(near: Socket, far: Socket, options: PairOptions) {
    this.#near = near;
    this.#far = far;
    this.#options = options;
    near.once("data", (first: Buffer) => {
      this.origin = options.originOf(first);
    });
    this.#pump(near, far);
    this.#pump(far, near);
    for (const socket of [near, far]) {
      socket.setNoDelay(true);
      // Either end going away takes the other along; the reset is what the peer gets to see.
      socket.on("error", () => this.#ended());
      socket.on("close", () => this.#ended());
    }
  }

  stall(): void {
    this.#isStalled = true;
  }

  reset(): void {
    this.#options.onEnd();
    for (const socket of [this.#near, this.#far]) if (!socket.destroyed) socket.resetAndDestroy();
  }

  /** What one end of a stalled pair does stays unknown to the other. */
  #ended(): void {
    if (!this.#isStalled || (this.#near.destroyed && this.#far.destroyed)) this.reset();
  }

  #pump(from: Socket, to: Socket): void {
    let busyUntilMs = 0;
    let waiting = 0;
    const pass = (delayMs: number, action: () => void) => {
      const now = this.#options.clock.monotonic();
      busyUntilMs = Math.max(busyUntilMs, now) + delayMs;
      if (busyUntilMs <= now && waiting === 0) return action();
      waiting++;
      this.#options.clock.schedule(Math.max(0, busyUntilMs - now), () => {
        waiting--;
        if (!to.destroyed) action();
      });
    };
    from.on("data", (bytes: Buffer) => {
      const { latencyMs = 0, bytesPerSecond, blackhole } = this.#options.faults();
      if (blackhole === true || this.#isStalled) return;
      const transferMs = bytesPerSecond === undefined ? 0 : (bytes.length / bytesPerSecond) * 1000;
      from.pause();
      pass(latencyMs + transferMs, () => {
        to.write(bytes);
        from.resume();
      });
    });
    from.on("end", () => {
      if (this.#options.faults().blackhole !== true && !this.#isStalled) pass(0, () => to.end());
    });
  }
}
