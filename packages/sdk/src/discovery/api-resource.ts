/**
 * The APIs of a server: groups, their versions, and their resources, from either form of discovery.
 */
import type { Resource } from "../client/index.ts";

export interface ApiGroup {
  /** Empty for the core group. */
  readonly name: string;
  /** The first one is preferred. */
  readonly versions: readonly ApiVersion[];
}

export interface ApiVersion {
  readonly version: string;
  /**
   * The server could not reach the backend of this version; the resources are the last known ones,
   * perhaps none.
   */
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
  /**
   * Versions whose resources could not be fetched, by `group/version`, with the reason. All other
   * versions are complete.
   */
  readonly failures: ReadonlyMap<string, unknown>;
}
