/**
 * A system kind that is declared by a schema: served like a custom kind, but by every logical
 * cluster, and without a CustomResourceDefinition that clients could see or change.
 */
import { assert } from "@kcp-ts/machinery/base";
import {
  definitionOfKind,
  readCustomResourceDefinition,
  type SystemKind,
} from "@kcp-ts/machinery/schema";
import type { ResourceDefinition } from "../registry/index.ts";
import { internDefinition } from "./shared-definition.ts";
import type { SharedVersion } from "./shared-version.ts";

export function systemDefinition(kind: SystemKind): ResourceDefinition {
  const { group, version, resource } = kind;
  const object = definitionOfKind(kind);
  const { definition, problems } = readCustomResourceDefinition(object);
  assert(problems.length === 0, `${resource}.${group}: ${problems.join(", ")}`);
  const shared = internDefinition(object, definition, false).version(version);
  assert(shared !== undefined, `${resource}.${group} has no version ${version}`);
  const plain = plainDefinition(shared);
  if (kind.countsStatus !== false) return plain;
  return { ...plain, strategy: { ...plain.strategy, prepareForUpdate: () => {} } };
}

/** A copy whose members can be replaced one by one. */
function plainDefinition(shared: SharedVersion): ResourceDefinition {
  const { group, version, resource, singular, kind, listKind } = shared;
  return {
    group,
    version,
    resource,
    singular,
    kind,
    listKind,
    isNamespaced: shared.isNamespaced,
    shortNames: shared.shortNames,
    categories: shared.categories,
    verbs: shared.verbs,
    identity: "",
    itemsCarryKind: true,
    strategy: shared.strategy,
    subresources: shared.subresources,
    openApi: shared.openApi,
  };
}
