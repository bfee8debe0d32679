/** Room in logical clusters for what is stored there, as the registry asks for it. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { MaybePromise } from "../request/api-request.ts";
import type { UserInfo } from "../request/user.ts";
import type { ResourceDefinition } from "./definition.ts";

/** What a write adds to what is stored; less than nothing when it takes away. */
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
  /** Charges what a write is about to add. Throws, or is rejected, when there is no room; without a user it is the server itself that writes. */
  take(place: StoredLocation, growth: UsageDelta, user: UserInfo | undefined): MaybePromise<void>;
  /** Gives back what was taken for a write that was not stored. */
  giveBack(place: StoredLocation, growth: UsageDelta): void;
}
