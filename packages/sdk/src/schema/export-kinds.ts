/**
 * `exportKinds`: own kinds as an API that other workspaces bind to. Both results are applied in the
 * workspace of the provider.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ApplyInput, MetadataInput } from "../client/index.ts";
import type { APIExport, APIResourceSchema } from "../kinds/index.ts";
import type { KindDefinition } from "./define-kind.ts";

type PermissionClaim = NonNullable<NonNullable<APIExport["spec"]>["permissionClaims"]>[number];

export interface ExportKindsOptions {
  /** Of the APIExport, and so of its APIExportEndpointSlice. */
  readonly name: string;
  /** Of `defineKind`. */
  readonly kinds: readonly { readonly definition: KindDefinition }[];
  /** What the provider asks for in the workspaces of consumers; they accept it or not. */
  readonly permissionClaims?: readonly PermissionClaim[];
}

export interface ExportedKinds {
  readonly schemas: readonly ApplyInput<APIResourceSchema>[];
  readonly apiExport: ApplyInput<APIExport>;
}

/**
 * An APIResourceSchema never changes: its name has a digest of its content, and an export of a
 * changed kind refers to another one.
 */
export function exportKinds(options: ExportKindsOptions): ExportedKinds {
  const schemas = options.kinds.map(({ definition }) => schemaOf(definition));
  const resources = schemas.map(({ metadata, spec }) => ({
    name: spec.names.plural,
    group: spec.group,
    schema: metadata.name,
  }));
  const { name, permissionClaims = [] } = options;
  return { schemas, apiExport: { metadata: { name }, spec: { resources, permissionClaims } } };
}

type SchemaSpec = APIResourceSchema["spec"];
type NamedSchema = { readonly metadata: MetadataInput; readonly spec: SchemaSpec };

function schemaOf({ metadata, spec }: KindDefinition): NamedSchema {
  const versions = spec["versions"] as readonly JsonObject[];
  // What is taken over unchanged has the same type in both.
  const given = spec as unknown as SchemaSpec;
  const content = {
    group: given.group,
    names: given.names,
    scope: given.scope,
    versions: versions.map(({ schema, ...version }) => ({
      ...version,
      schema: (schema as JsonObject)["openAPIV3Schema"],
    })) as unknown as SchemaSpec["versions"],
  };
  return { metadata: { name: `v${digestOf(content)}.${metadata.name}` }, spec: content };
}

/** FNV-1a, for texts that nobody chooses to collide. */
function digestOf(content: object): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(JSON.stringify(content)))
    hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}
