/** A served resource: its names in the API, and its strategy. */
import type { Resumable } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { UserInfo } from "../request/user.ts";
import { type Entry, type ObjectKey, objectKey, type StorageKey } from "../storage/index.ts";
import type { ComputedResource } from "./computed-resource.ts";
import type { Strategy, SubresourceStrategy } from "./strategy.ts";
import type { VersionCodec } from "./version-codec.ts";

export interface ResourceDefinition {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly isNamespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** Sorted, as in discovery. */
  readonly verbs: readonly string[];
  /** The identity of the owner among same-named types; empty for built-ins. */
  readonly identity: string;
  /** Built-in list items omit kind and apiVersion, custom ones carry them. */
  readonly itemsCarryKind: boolean;
  readonly strategy: Strategy;
  readonly subresources: ReadonlyMap<string, SubresourceStrategy>;
  /** The storage version, where it differs. */
  readonly storageVersion?: string;
  /** Converts stored bytes to served ones; absent where they are the same. */
  readonly codec?: VersionCodec | undefined;
  /**
   * The response to a write waits until this server itself has seen it: such objects decide what is
   * served.
   */
  readonly waitsForOwnWrite?: boolean;
  /** The resource is a review: posted, answered, never stored. */
  readonly isReview?: boolean;
  /** Computes the objects of a resource that is not stored. Its verbs are `get` and `list`. */
  readonly computed?: ComputedResource;
  /** Sent as Warning headers with every response. */
  readonly warnings?: readonly string[] | undefined;
  /**
   * Stands for the resource of all owners, of which only metadata is served: objects of all owners
   * are listed together.
   */
  readonly isWildcardPartialMetadata?: boolean;
  /** The reason why creates are rejected at present. */
  readonly creationForbidden?: string | undefined;
  /**
   * Calls back when the definition is replaced or withdrawn: watches end then. Returns a function
   * that stops listening.
   */
  readonly onRetired?: (callback: () => void) => () => void;
  /** Set when the objects are in another definition's collection, which `codec` converts. */
  readonly storedAs?: CollectionKey;
  /**
   * The OpenAPI schema of the kind, where the shape does not have it: custom kinds bring schemas.
   * Called once per definition and dialect.
   */
  readonly openApi?: OpenApiSource | undefined;
  /** The approximate length of that schema, known without creating it. */
  readonly openApiLength?: number;
  /**
   * Set when only some of the objects are visible: the others do not exist for requests through
   * this definition.
   */
  readonly isVisible?: ((entry: Entry) => boolean) | undefined;
  /**
   * Whether an object was visible before its last change, where that differs from the rule for the
   * present.
   */
  readonly wasVisible?: ((entry: Entry) => boolean) | undefined;
  /**
   * Whether a visible object may be changed or deleted through this definition; all of them if
   * omitted.
   */
  readonly isWritable?: ((entry: Entry) => boolean) | undefined;
  /** A watch sends an object that becomes visible as MODIFIED, because it existed before. */
  readonly entersAsModified?: boolean | undefined;
  /**
   * The logical cluster whose objects are read, where it is not that of the request. Such a
   * resource is read-only.
   */
  readonly sourceCluster?: ClusterName | undefined;
  /** Objects that must be stored before one of this kind. */
  readonly prerequisites?: Prerequisites;
}

export interface Prerequisites {
  /** Stores the prerequisites of an object, after all validation. */
  create(
    object: JsonObject,
    cluster: ClusterName,
    user: UserInfo | undefined,
  ): Promise<CreatedPrerequisites | undefined>;
}

/**
 * After a failure neither method is called: the existence of the object is unknown then, and its
 * creator has to check it.
 */
export interface CreatedPrerequisites {
  /** The object is stored. */
  commit(): void;
  /** The object's name exists already: removes all prerequisites. */
  rollback(): Promise<void>;
}

/**
 * A kind's schema in one dialect, as JSON and as a Resumable because it may be large. It refers to
 * ObjectMeta, and to no other schema.
 */
export type OpenApiSource = (dialect: "v2" | "v3") => Resumable<string>;

/** The parts of a storage key that identify a collection. */
export interface CollectionKey {
  readonly group: string;
  readonly resource: string;
  readonly identity: string;
}

export function collectionKeyOf(definition: ResourceDefinition): CollectionKey {
  const { group, resource, identity, storedAs } = definition;
  return storedAs ?? { group, resource, identity };
}

/** The storage key of one object of the definition. */
export function storageKeyOf(
  definition: ResourceDefinition,
  { cluster, namespace, name }: Pick<ObjectKey, "cluster" | "namespace" | "name">,
): StorageKey {
  const { group, resource, identity } = definition.storedAs ?? definition;
  return objectKey({
    group,
    resource,
    identity,
    cluster,
    namespace: definition.isNamespaced ? namespace : "",
    name,
  });
}

export function apiVersionOf({ group, version }: { group: string; version: string }): string {
  return group === "" ? version : `${group}/${version}`;
}
