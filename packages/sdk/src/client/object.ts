/**
 * The type of API objects as the client returns them: apiVersion, kind and metadata are always set.
 *
 * All members are read-only in the types because caches share objects. A changed object is a new
 * object.
 */
import type { JsonValue } from "@kcp-ts/machinery/json";

export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

/** An object of a type that this program does not declare. */
export interface DynamicObject extends KubernetesObject {
  readonly [field: string]: JsonValue | ObjectMeta | undefined;
}

export interface ObjectMeta {
  readonly name: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: StringMap;
  readonly annotations?: StringMap;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  readonly managedFields?: readonly ManagedFieldsEntry[];
}

/**
 * Keys come from untrusted clients: read them with `stringMember`, which never returns inherited
 * members.
 */
export type StringMap = Readonly<Record<string, string>>;

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ManagedFieldsEntry {
  readonly manager?: string;
  readonly operation?: "Apply" | "Update";
  readonly apiVersion?: string;
  readonly time?: string;
  readonly fieldsType?: string;
  readonly fieldsV1?: JsonValue;
  readonly subresource?: string;
}

/**
 * The input of a create, an update or an apply: the client sets apiVersion and kind, the server may
 * generate the name.
 */
export type ObjectInput<Object extends KubernetesObject> = Omit<
  Object,
  "apiVersion" | "kind" | "metadata"
> & {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: Partial<ObjectMeta>;
};

/** What the verbs accept: an `ObjectInput` whose optional members may be undefined. */
export type WriteInput<Object extends KubernetesObject> = OrUndefined<
  Omit<ObjectInput<Object>, "metadata">
> & { readonly metadata: MetadataInput };

/** What an apply accepts: the fields that its manager wants, and nothing else. */
export type ApplyInput<Object extends KubernetesObject> = Applied<
  Omit<ObjectInput<Object>, "metadata">
> & { readonly metadata: MetadataInput };

/** Of lists the items that are meant, by their keys. Members that are undefined are not sent. */
export type Applied<Value> = Value extends readonly (infer Item)[]
  ? readonly Applied<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value]?: Applied<Value[Name]> | undefined }
    : Value;

/** Optional members may be undefined at every depth, which is the same as absent. */
export type OrUndefined<Value> = Value extends readonly (infer Item)[]
  ? readonly OrUndefined<Item>[]
  : Value extends object
    ? {
        readonly [Name in keyof Value]:
          | OrUndefined<Value[Name]>
          | (Record<never, never> extends Pick<Value, Name> ? undefined : never);
      }
    : Value;

/** Members that are undefined are not sent. */
export type MetadataInput = {
  readonly [Name in keyof ObjectMeta]?: ObjectMeta[Name] | undefined;
};

export interface ListMeta {
  readonly resourceVersion?: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

export interface ObjectList<Object extends KubernetesObject> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ListMeta;
  readonly items: readonly Object[];
}

/** The server's response to `as=PartialObjectMetadata`. */
export interface PartialObjectMetadata extends KubernetesObject {
  readonly apiVersion: "meta.k8s.io/v1";
  readonly kind: "PartialObjectMetadata";
}

export interface Table {
  readonly apiVersion: string;
  readonly kind: "Table";
  readonly metadata: ListMeta;
  readonly columnDefinitions: readonly TableColumn[];
  readonly rows: readonly TableRow[];
}

export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
}

export interface TableRow {
  readonly cells: readonly JsonValue[];
  readonly object?: KubernetesObject;
}

/** The logical cluster of an object, from the annotation that the server sets. */
export const clusterAnnotation = "kcp.io/cluster";

export function stringMember(map: StringMap | undefined, key: string): string | undefined {
  return map !== undefined && Object.hasOwn(map, key) ? map[key] : undefined;
}
