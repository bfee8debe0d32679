/**
 * `defineKind`: one declaration that is both the TypeScript type of an own kind and its
 * CustomResourceDefinition, with rules in CEL.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  definitionOfKind,
  kindSchema,
  rules,
  type Schema,
  type SchemaProperties,
  type TypeOf,
} from "@kcp-ts/machinery/schema";
import type { KubernetesObject, Resource } from "../client/index.ts";

export interface KindOptions<Spec extends Schema, Status extends Schema> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The plural, as it appears in paths; the kind in lower case with an `s` if omitted. */
  readonly resource?: string;
  /** True if omitted. */
  readonly namespaced?: boolean;
  readonly description?: string;
  readonly spec: Spec;
  /** Becomes a subresource. */
  readonly status?: Status;
  /** In CEL, over the whole object: `["self.spec.min <= self.spec.max", "min is beyond max"]`. */
  readonly rules?: readonly (readonly [rule: string, message: string])[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** Columns of `kubectl get`. */
  readonly columns?: readonly JsonObject[];
}

export interface ObjectOfKind<Spec extends Schema, Status extends Schema> extends KubernetesObject {
  readonly spec: TypeOf<Spec>;
  readonly status?: TypeOf<Status>;
}

export interface Kind<Object extends KubernetesObject> extends Resource<Object> {
  /** The CustomResourceDefinition, ready for a client or for YAML. */
  readonly definition: KindDefinition;
}

export interface KindDefinition {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: JsonObject;
}

/** The type of the objects of a kind: `type Website = KindObject<typeof websites>`. */
export type KindObject<Of extends Resource> = Of extends Resource<infer Object> ? Object : never;

export function defineKind<Spec extends Schema, Status extends Schema = Schema<never>>(
  options: KindOptions<Spec, Status>,
): Kind<ObjectOfKind<Spec, Status>> {
  const { group, version, kind, namespaced = true, spec, status, description = "" } = options;
  const { resource = `${kind.toLowerCase()}s` } = options;
  const properties: SchemaProperties = { spec, ...(status === undefined ? {} : { status }) };
  const schema = kindSchema(description, properties, {
    required: ["spec"],
    ...(options.rules === undefined ? {} : rules(...options.rules)),
  });
  const { status: _, ...definition } = definitionOfKind({
    group,
    version,
    kind,
    resource,
    isNamespaced: namespaced,
    shortNames: options.shortNames ?? [],
    categories: options.categories ?? [],
    columns: options.columns ?? [],
    hasStatus: status !== undefined,
    schema,
  });
  return {
    group,
    version,
    kind,
    resource,
    namespaced,
    // Its members are those of every definition.
    definition: definition as JsonObject & KindDefinition,
  };
}
