/**
 * The network between the members of an etcd cluster, which can be cut.
 *
 * A member advertises one address to all others, so each has one proxy in front of it; who dialled
 * it says in the head of its requests.
 */
import { memberStatus } from "./etcd-gateway.ts";
import { type AppliesTo, FaultProxy } from "./fault-proxy.ts";

export class EtcdPeers {
  readonly #proxies: readonly FaultProxy[];
  #memberIds: readonly string[] = [];

  private constructor(proxies: readonly FaultProxy[]) {
    this.#proxies = proxies;
  }

  static async start(peerPorts: readonly number[]): Promise<EtcdPeers> {
    const originOf = (first: Buffer) => fromHeader.exec(first.toString("latin1"))?.[1];
    return new EtcdPeers(
      await Promise.all(
        peerPorts.map((port) => FaultProxy.start({ host: "127.0.0.1", port, originOf })),
      ),
    );
  }

  get ports(): readonly number[] {
    return this.#proxies.map((proxy) => proxy.port);
  }

  /** Learns who is who, once the members run. */
  async learn(endpoints: readonly string[]): Promise<void> {
    const statuses = await Promise.all(endpoints.map(memberStatus));
    this.#memberIds = statuses.map((status) => BigInt(status?.memberId ?? 0).toString(16));
  }

  /** No byte goes between this member and the others, in either direction, until `heal`. */
  isolate(index: number): void {
    for (const [other, proxy] of this.#proxies.entries()) {
      proxy.setFaults({ blackhole: true }, this.#isCut(index, other));
    }
  }

  /** What was swallowed is missing from connections, so they are made anew. */
  heal(): void {
    for (const proxy of this.#proxies) {
      proxy.setFaults({});
      proxy.dropConnections();
    }
  }

  async dispose(): Promise<void> {
    await Promise.all(this.#proxies.map((proxy) => proxy.dispose()));
  }

  #isCut(isolated: number, destination: number): AppliesTo {
    return (origin) => destination === isolated || origin === this.#memberIds[isolated];
  }
}

/** etcd's own, in hexadecimal. */
const fromHeader = /^x-server-from: *([0-9a-f]+)/im;
