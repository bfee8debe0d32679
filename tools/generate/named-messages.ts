/** Which messages have a name of their own in TypeScript. */
import { metaPackage, type PublishedTypes, packageOf } from "./published-types.ts";
import type { GroupVersionKind } from "./read-openapi.ts";

export interface NamedMessage {
  /** The full name in protobuf. */
  readonly message: string;
  /** Absent for a message that is a part of kinds, or that no resource has. */
  readonly kind?: GroupVersionKind;
}

/** Messages that are used by themselves although no resource has them as its kind. */
const parts = [
  ...[
    "Condition",
    "DeleteOptions",
    "LabelSelector",
    "ListMeta",
    "ObjectMeta",
    "OwnerReference",
    "Status",
  ].map((name) => `${metaPackage}.${name}`),
  "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps",
];

/** The kinds of all resources and subresources, and the parts. */
export function namedMessages(types: PublishedTypes): readonly NamedMessage[] {
  const named = new Map<string, NamedMessage>(parts.map((message) => [message, { message }]));
  for (const resource of types.resources) {
    for (const { group, version, kind } of [resource, ...resource.subresources.values()]) {
      const message =
        types.messageOfKind({ group, version, kind }) ?? siblingOf(types, resource, kind);
      named.set(message, { message, kind: { group, version, kind } });
    }
  }
  return [...named.values()].sort((a, b) => (a.message < b.message ? -1 : 1));
}

/**
 * A kind without a definition, as options of a connection are, is in the package of its resource.
 */
function siblingOf(types: PublishedTypes, resource: GroupVersionKind, kind: string): string {
  const sibling = types.messageOfKind(resource);
  if (sibling === undefined) throw new Error(`no definition is of the kind ${resource.kind}`);
  return `${packageOf(sibling)}.${kind}`;
}

/** `csiDriver` of `CSIDriver`, `apiService` of `APIService`, `configMap` of `ConfigMap`. */
export function constantName(name: string): string {
  return name.replace(/^[A-Z]+(?=[A-Z][a-z]|$)|^[A-Z]/, (start) => start.toLowerCase());
}

/**
 * The newest version of a kind keeps its short name, and a kind of the core group where others have
 * it, too; the others begin with their group and version.
 */
export function uniqueName(message: string, all: readonly Pick<NamedMessage, "message">[]): string {
  const { group, version, name } = partsOf(message);
  const rivals = all.map((other) => partsOf(other.message)).filter((other) => other.name === name);
  const isNewest = rivals.every((other) => other.group === group && other.version <= version);
  return isNewest || group === "core"
    ? constantName(name)
    : `${group}${capitalized(version)}${name}`;
}

function partsOf(message: string): { group: string; version: string; name: string } {
  const [group = "", version = "", name = ""] = message.split(".").slice(-3);
  return { group, version, name };
}

export function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
