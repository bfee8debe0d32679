/** Part of a resource, for virtual workspaces that are defined outside this package: which objects, which verbs, and what may be written. */

import type { Draft, ResourceDefinition, SubresourceStrategy } from "@kcp-ts/apiserver/registry";
import { type Entry, parseObjectKey } from "@kcp-ts/apiserver/storage";
import { decodeObject, mayContain } from "@kcp-ts/apiserver/stored-object";
import { cachedLabels } from "@kcp-ts/apiserver/watch-cache";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { RestrictedDefinition } from "./restricted-definition.ts";

/** An object that is about to be shown, or not. What costs something is a function. */
export interface FilteredObject {
  readonly cluster: ClusterName;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** Whether its stored form has this text in it somewhere: a cheap way to be sure that it has not. */
  mentions(text: Buffer): boolean;
  object(): JsonObject;
}

export interface ResourceFilter {
  readonly verbs: readonly string[];
  /** Of the status subresource; none, and there is no such subresource. */
  readonly statusVerbs?: readonly string[];
  readonly isShown: (object: FilteredObject) => boolean;
  /** Whether a watch may have shown it before it changed; `isShown` if left out. For what depends on more than the object. */
  readonly wasShown?: (object: FilteredObject) => boolean;
  /** Looks at what is about to be stored; throws when it may not be. `old` is undefined for what is created. */
  readonly check?: (draft: Draft, old: JsonObject | undefined) => void;
  /** The same for what is written through the status subresource. */
  readonly checkStatus?: (draft: Draft, old: JsonObject) => void;
  /** Why the object may not be deleted; undefined when it may. */
  readonly deletionRefusal?: (object: JsonObject) => string | undefined;
}

export function filteredDefinition(
  base: ResourceDefinition,
  part: ResourceFilter,
): ResourceDefinition {
  const { verbs, statusVerbs = [], isShown, wasShown, check, deletionRefusal } = part;
  const status = base.subresources.get("status");
  return new RestrictedDefinition(base, {
    verbs: base.verbs.filter((verb) => verbs.includes(verb)),
    isVisible: (entry) => isShown(seen(entry)),
    ...(wasShown === undefined ? {} : { wasVisible: (entry) => wasShown(seen(entry)) }),
    prepare: check,
    deletionRefusal,
    ...(status === undefined ? {} : { status: limited(status, statusVerbs, part.checkStatus) }),
  });
}

function limited(
  status: SubresourceStrategy,
  allowed: readonly string[],
  check: ResourceFilter["checkStatus"],
): SubresourceStrategy {
  return {
    ...status,
    verbs: status.verbs.filter((verb) => allowed.includes(verb)),
    prepareForUpdate(draft, old, context) {
      status.prepareForUpdate(draft, old, context);
      check?.(draft, old);
    },
    validateUpdate: (updated, old) => status.validateUpdate(updated, old),
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
    mentions: (text) => mayContain(entry, text),
    object: () => decodeObject(entry),
  };
}
