/**
 * TenantShare: what the physical clusters of one logical cluster take of this process, in sum. A
 * tenant that may register clusters can register many, and each can be hostile.
 *
 * - Memory: buffered responses, cached objects, and a fixed amount for each connection. One long
 *   document is read and parsed at a time.
 * - Work: the bytes that are read in a second.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { BytesInFlight, bytesInFlight } from "@kcp-ts/machinery/bounds";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { ExclusiveLane, type MemoryAccount, type ResponseMemory } from "@kcp-ts/sdk";
import { ResponseRateLimiter, responseBytes } from "./paced-transport.ts";

/**
 * The memory of a connection without objects: its socket, its informers and their watches, its
 * queues. Measured with 300 clusters: 1.1 MB each.
 */
export const connectionBytes = 1 << 20;

export interface TenantShare {
  readonly memory: ResponseMemory;
  readonly rateLimiter: ResponseRateLimiter;
  /** Called when the connection ends. */
  release(): void;
}

interface OpenTenant {
  readonly longDocuments: ExclusiveLane;
  readonly rateLimiter: ResponseRateLimiter;
  connections: number;
}

export class TenantShares {
  readonly #clock: Clock;
  /** The connections of all tenants together: each takes a file descriptor. */
  readonly #connectionsMax: number;
  #connections = 0;
  readonly #buffers = new BytesInFlight(bytesInFlight.clusterAnswers);
  readonly #objects = new BytesInFlight(bytesInFlight.clusterObjects);
  /** A logical cluster without connections has no entry. */
  readonly #tenants = new Map<ClusterName, OpenTenant>();

  constructor(clock: Clock, connectionsMax = Number.POSITIVE_INFINITY) {
    this.#clock = clock;
    this.#connectionsMax = connectionsMax;
  }

  /**
   * The share for one more connection; undefined when the tenant's memory, or the file descriptors
   * for physical clusters, are used up.
   */
  open(cluster: ClusterName): TenantShare | undefined {
    if (this.#connections >= this.#connectionsMax) return undefined;
    if (!this.#objects.tryTake(cluster, connectionBytes)) return undefined;
    const tenant = this.#tenants.get(cluster) ?? {
      longDocuments: new ExclusiveLane(),
      rateLimiter: new ResponseRateLimiter(this.#clock, responseBytes.ofTenant),
      connections: 0,
    };
    tenant.connections += 1;
    this.#connections += 1;
    this.#tenants.set(cluster, tenant);
    let isOpen = true;
    return {
      memory: {
        buffers: account(this.#buffers, cluster),
        objects: account(this.#objects, cluster),
        longDocuments: tenant.longDocuments,
      },
      rateLimiter: tenant.rateLimiter,
      release: () => {
        if (!isOpen) return;
        isOpen = false;
        this.#objects.release(cluster, connectionBytes);
        tenant.connections -= 1;
        this.#connections -= 1;
        if (tenant.connections === 0) this.#tenants.delete(cluster);
      },
    };
  }
}

function account(bytes: BytesInFlight, cluster: ClusterName): MemoryAccount {
  return {
    tryTake: (count) => bytes.tryTake(cluster, count),
    release: (count) => bytes.release(cluster, count),
  };
}
