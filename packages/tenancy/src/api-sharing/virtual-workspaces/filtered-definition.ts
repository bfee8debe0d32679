/**
 * A filtered resource, for virtual workspaces of other packages: a subset of its objects, a subset
 * of its verbs, and validation of its writes.
 */
import type { Draft, ResourceDefinition, SubresourceStrategy } from "@kcp-ts/apiserver/registry";
import { type Entry, parseObjectKey } from "@kcp-ts/apiserver/storage";
import { decodeObject, mayContain } from "@kcp-ts/apiserver/stored-object";
import { cachedLabels } from "@kcp-ts/apiserver/watch-cache";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { asCopies, RestrictedDefinition } from "./restricted-definition.ts";

/** An object to filter. Members that take time are functions. */
export interface FilteredObject {
  readonly cluster: ClusterName;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  /**
   * Whether the stored bytes contain this text anywhere: a cheap check that excludes most objects.
   */
  mayContain(text: Buffer): boolean;
  object(): JsonObject;
}

export interface ResourceFilter {
  readonly verbs: readonly string[];
  /** The verbs of the status subresource; without any, the subresource does not exist. */
  readonly statusVerbs?: readonly string[];
  readonly isVisible: (object: FilteredObject) => boolean;
  /**
   * Whether a watch may have sent the object before its last change; `isShown` if omitted. For
   * filters that depend on more than the object.
   */
  readonly wasVisible?: (object: FilteredObject) => boolean;
  /**
   * Validates an object before it is stored; throws to reject it. `old` is undefined for a create.
   */
  readonly check?: (draft: Draft, old: JsonObject | undefined) => void;
  /** Validates a write through the status subresource. */
  readonly checkStatus?: (draft: Draft, old: JsonObject) => void;
  /** The reason why the object may not be deleted; undefined when it may. */
  readonly deletionRefusal?: (object: JsonObject) => string | undefined;
  /** The label of objects that the user of the view may write without validation. */
  readonly copyLabel?: string;
}

export function filteredDefinition(
  base: ResourceDefinition,
  part: ResourceFilter,
): ResourceDefinition {
  const { verbs, statusVerbs = [], isVisible, wasVisible, check, deletionRefusal } = part;
  const status = base.subresources.get("status");
  return new RestrictedDefinition(base, {
    verbs: base.verbs.filter((verb) => verbs.includes(verb)),
    isVisible: (entry) => isVisible(seen(entry)),
    ...(wasVisible === undefined ? {} : { wasVisible: (entry) => wasVisible(seen(entry)) }),
    prepare: check,
    deletionRefusal,
    copyLabel: part.copyLabel,
    ...(status === undefined ? {} : { status: limited(status, statusVerbs, part) }),
  });
}

function limited(
  status: SubresourceStrategy,
  allowed: readonly string[],
  { checkStatus, copyLabel }: ResourceFilter,
): SubresourceStrategy {
  return {
    ...status,
    verbs: status.verbs.filter((verb) => allowed.includes(verb)),
    prepareForUpdate(draft, old, context) {
      status.prepareForUpdate(draft, old, context);
      checkStatus?.(draft, old);
    },
    validateUpdate: (updated, old, context) =>
      status.validateUpdate(updated, old, asCopies(context, copyLabel)),
  };
}

function seen(entry: Entry): FilteredObject {
  const { cluster, namespace, name } = parseObjectKey(entry.key);
  return {
    cluster,
    namespace,
    name,
    get labels() {
      return cachedLabels(entry);
    },
    mayContain: (text) => mayContain(entry, text),
    object: () => decodeObject(entry),
  };
}
