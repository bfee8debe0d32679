/**
 * The metadata that every Kubernetes object has.
 *
 * These are type aliases, not interfaces, so that they are assignable to JsonObject. A member may
 * be null where clients send null for "not set"; Go's encoder does that for times.
 */
import type { JsonObject, JsonValue } from "../json/index.ts";

export type ObjectMeta = {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly selfLink?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number | bigint;
  readonly creationTimestamp?: string | null;
  readonly deletionTimestamp?: string | null;
  readonly deletionGracePeriodSeconds?: number | bigint | null;
  readonly labels?: StringMap | null;
  readonly annotations?: StringMap | null;
  readonly ownerReferences?: readonly OwnerReference[] | null;
  readonly finalizers?: readonly string[] | null;
  readonly managedFields?: readonly ManagedFieldsEntry[] | null;
};

export type StringMap = { readonly [key: string]: string };

export type OwnerReference = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean | null;
  readonly blockOwnerDeletion?: boolean | null;
};

/** Which fields one manager owns. */
export type ManagedFieldsEntry = {
  readonly manager?: string;
  readonly operation?: string;
  readonly apiVersion?: string;
  readonly time?: string | null;
  readonly fieldsType?: string;
  readonly fieldsV1?: JsonObject | null;
  readonly subresource?: string;
};

export type KubernetesObject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [member: string]: JsonValue;
};

export type ListMeta = {
  readonly resourceVersion?: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
  readonly selfLink?: string;
};

export type Condition = {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
  readonly observedGeneration?: number;
};
