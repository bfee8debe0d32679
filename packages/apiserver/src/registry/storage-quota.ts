/** The storage quota of logical clusters, as the registry uses it. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { UserInfo } from "../request/user.ts";
import type { ResourceDefinition } from "./resource-definition.ts";

/** The growth of the stored data by a write; negative when it shrinks. */
export interface UsageDelta {
  readonly objects: number;
  readonly bytes: number;
}

export interface StoredLocation {
  readonly definition: ResourceDefinition;
  readonly cluster: ClusterName;
  readonly name: string;
}

export interface StorageQuota {
  /**
   * Charges the growth of a write. Throws, or rejects, when the quota is exceeded; without a user
   * the server itself writes.
   */
  charge(place: StoredLocation, growth: UsageDelta, user: UserInfo | undefined): Promise<void>;
  /** Refunds a write that was not stored. */
  refund(place: StoredLocation, growth: UsageDelta): void;
}
