/** What a server serves: groups, their versions, and the resources in them, however the server told it. */
import type { Resource } from "../client/index.ts";

export interface ApiGroup {
  /** Empty for the core group. */
  readonly name: string;
  /** The first one is preferred. */
  readonly versions: readonly ApiVersion[];
}

export interface ApiVersion {
  readonly version: string;
  /** The server could not reach whoever serves this version; the resources are the last it knew, perhaps none. */
  readonly isStale: boolean;
  readonly resources: readonly ApiResource[];
}

export interface ApiResource extends Resource {
  readonly singular: string;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly subresources: readonly Subresource[];
}

export interface Subresource {
  readonly name: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}

export interface Discovery {
  readonly groups: readonly ApiGroup[];
  /** Versions whose resources could not be fetched, by `group/version`, with the reason. The others are complete. */
  readonly failures: ReadonlyMap<string, unknown>;
}
