/**
 * The options of the verbs. Names and meanings are those of the Kubernetes API; booleans stand for
 * their only value.
 */
import type { JsonValue } from "@kcp-ts/machinery/json";
import type { CallOptions } from "./client.ts";
import type { MemberTree } from "./member-picker.ts";
import type { OnUnreadable } from "./unreadable.ts";

export interface ObjectName {
  /** Omitted for cluster-scoped resources. */
  readonly namespace?: string | undefined;
  readonly name: string;
}

export interface GetOptions extends CallOptions {
  readonly resourceVersion?: string;
}

export interface SelectorOptions {
  /** Omitted: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface ListOptions extends CallOptions, SelectorOptions {
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: "NotOlderThan" | "Exact" | undefined;
  readonly retriesMax?: number | undefined;
}

export interface PageOptions extends Omit<ListOptions, "limit" | "continue"> {
  /** Objects per request. */
  readonly pageSize?: number;
}

/** For callers that read few members of many objects: all other members are not even parsed. */
export interface MemberOptions {
  /**
   * Objects have these members, apiVersion and kind, and hardly ever other ones: `{ metadata: {
   * name: true, labels: true } }`.
   */
  readonly members?: MemberTree | undefined;
  /**
   * Called for objects that cannot be parsed, which are left out. Without it, one such object fails
   * the list or the watch.
   */
  readonly onUnreadable?: OnUnreadable | undefined;
}

export interface TableOptions {
  /** What of the object each row has besides its cells; metadata if omitted. */
  readonly includeObject?: "None" | "Metadata" | "Object";
}

export interface WatchOptions extends CallOptions, SelectorOptions {
  readonly resourceVersion?: string | undefined;
  readonly allowWatchBookmarks?: boolean;
  /**
   * The watch begins with the current state as ADDED events and a bookmark with
   * `initialEventsEndAnnotation`; changes follow.
   */
  readonly sendInitialEvents?: boolean;
  readonly timeoutSeconds?: number;
  readonly retriesMax?: number;
  /** Called when the server has accepted the watch, before the first event. */
  readonly onOpen?: () => void;
}

export interface WriteOptions extends CallOptions {
  readonly dryRun?: boolean;
  readonly fieldManager?: string | undefined;
  readonly fieldValidation?: "Ignore" | "Warn" | "Strict";
}

export interface ApplyOptions extends WriteOptions {
  /** Forces ownership of fields that other managers own. */
  readonly force?: boolean;
}

export interface DeleteOptions extends CallOptions {
  readonly dryRun?: boolean;
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground";
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  /** An object that does not exist is no error, as for a clean-up that is run again. */
  readonly ignoreNotFound?: boolean;
}

export type Patch =
  | { readonly type: "json"; readonly operations: readonly JsonPatchOperation[] }
  | { readonly type: "merge"; readonly patch: JsonValue }
  | { readonly type: "strategic-merge"; readonly patch: JsonValue };

export interface JsonPatchOperation {
  readonly op: "add" | "remove" | "replace" | "move" | "copy" | "test";
  readonly path: string;
  readonly from?: string;
  readonly value?: JsonValue;
}

export const patchContentTypes = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  "strategic-merge": "application/strategic-merge-patch+json",
} as const satisfies Record<Patch["type"], string>;

export const applyContentType = "application/apply-patch+yaml";
