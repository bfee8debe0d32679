/**
 * One candidate's access to the Lease: read, acquire, renew, release. Every write is a
 * compare-and-swap on the version that was read.
 *
 * Whether another candidate's lease has expired is decided by how long *this* candidate has
 * observed it unchanged, on its own monotonic clock: clocks of different machines are never
 * compared.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { isStatusError, type StatusReason } from "@kcp-ts/machinery/status";
import type { CallOptions, Client, ObjectName, ResourceClient } from "../client/index.ts";
import { type Lease, type LeaseSpec, leases, microTime } from "./lease.ts";

export interface LeaseLockOptions {
  readonly client: Client;
  readonly lease: ObjectName;
  /** Unique among all candidates. */
  readonly identity: string;
  readonly leaseDurationMs: number;
  readonly clock: Clock;
}

export class LeaseLock {
  readonly #options: LeaseLockOptions;
  readonly #resource: ResourceClient<Lease>;
  #seen: { readonly lease: Lease; readonly atMs: number } | undefined;

  constructor(options: LeaseLockOptions) {
    this.#options = options;
    this.#resource = options.client.resource(leases);
  }

  /** The last observed holder of the lease, for logs. */
  get holder(): string {
    return this.#seen?.lease.spec?.holderIdentity ?? "";
  }

  /**
   * The number of lease transitions. Grows with each new leader, so it distinguishes an old leader
   * from a new one.
   */
  get transitions(): number {
    return this.#seen?.lease.spec?.leaseTransitions ?? 0;
  }

  /** Acquires the lease if it is free, held by this candidate, or expired. */
  async acquire({ signal }: CallOptions): Promise<"won" | "lost"> {
    const { lease, identity, clock } = this.#options;
    const current = await this.#resource.find(lease, { signal });
    if (current === undefined) {
      const spec = this.#spec({ transitions: 0, acquiredAt: clock.now() });
      const metadata = { ...lease } as { name: string; namespace: string };
      // Of a create, "not found" says that the namespace is missing: no candidate was faster.
      return this.#write(
        () => this.#resource.create({ metadata, spec }, { signal }),
        ["AlreadyExists"],
      );
    }
    this.#see(current);
    const holder = current.spec?.holderIdentity ?? "";
    if (holder !== "" && holder !== identity && !this.#hasRunOut(current)) return "lost";
    const before = current.spec?.leaseTransitions ?? 0;
    const transitions = holder === identity ? before : before + 1;
    const spec = this.#spec({ transitions, acquiredAt: clock.now() });
    return this.#write(() => this.#resource.update({ ...current, spec }, { signal }));
  }

  async renew({ signal }: CallOptions): Promise<"won" | "lost"> {
    const { lease } = this.#seen ?? {};
    if (lease?.spec === undefined) return "lost";
    const spec = { ...lease.spec, renewTime: microTime(this.#options.clock.now()) };
    const outcome = await this.#write(() => this.#resource.update({ ...lease, spec }, { signal }));
    if (outcome === "won") return "won";
    // Another client wrote the Lease, perhaps only a label. If this candidate is still the holder,
    // the lease is unchanged.
    const current = await this.#resource.find(this.#options.lease, { signal });
    if (current?.spec?.holderIdentity !== this.#options.identity) return "lost";
    if (current.spec.leaseTransitions !== lease.spec.leaseTransitions) return "lost";
    this.#see(current);
    return this.#write(() => this.#resource.update({ ...current, spec }, { signal }));
  }

  /** Releases the lease, so that the next candidate need not wait for its expiry. */
  async release({ signal }: CallOptions): Promise<void> {
    const { lease } = this.#seen ?? {};
    if (lease?.spec?.holderIdentity !== this.#options.identity) return;
    const spec = { ...lease.spec, holderIdentity: "", leaseDurationSeconds: 1 };
    await this.#write(() => this.#resource.update({ ...lease, spec }, { signal }));
  }

  /** These reasons mean that another candidate was faster. */
  async #write(
    write: () => Promise<Lease>,
    lostReasons: readonly StatusReason[] = ["Conflict", "NotFound"],
  ): Promise<"won" | "lost"> {
    try {
      this.#see(await write());
      return "won";
    } catch (error) {
      if (lostReasons.some((reason) => isStatusError(error, reason))) return "lost";
      throw error;
    }
  }

  #see(lease: Lease): void {
    const isNews = lease.metadata.resourceVersion !== this.#seen?.lease.metadata.resourceVersion;
    const atMs = isNews ? this.#options.clock.monotonic() : (this.#seen?.atMs ?? 0);
    this.#seen = { lease, atMs };
  }

  #hasRunOut(lease: Lease): boolean {
    const seenForMs = this.#options.clock.monotonic() - (this.#seen?.atMs ?? 0);
    const durationMs = (lease.spec?.leaseDurationSeconds ?? 0) * 1000;
    return seenForMs >= durationMs;
  }

  #spec({ transitions, acquiredAt }: { transitions: number; acquiredAt: number }): LeaseSpec {
    const { identity, leaseDurationMs } = this.#options;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
      acquireTime: microTime(acquiredAt),
      renewTime: microTime(acquiredAt),
      leaseTransitions: transitions,
    };
  }
}
