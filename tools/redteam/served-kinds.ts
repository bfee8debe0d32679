/** The kinds that a server serves, with their schemas, read from its OpenAPI documents. */
import type { ApiClient } from "../bench/api-client.ts";

export interface OpenApiSchema {
  readonly $ref?: string;
  readonly allOf?: readonly OpenApiSchema[];
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly items?: OpenApiSchema;
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly additionalProperties?: OpenApiSchema | boolean;
  readonly required?: readonly string[];
  readonly "x-kubernetes-int-or-string"?: boolean;
}

interface OpenApiDocument {
  readonly paths?: Readonly<Record<string, PathItem>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, OpenApiSchema>> };
}

interface PathItem {
  readonly post?: {
    readonly "x-kubernetes-group-version-kind"?: GroupVersionKind;
    readonly requestBody?: {
      readonly content?: Readonly<Record<string, { readonly schema?: OpenApiSchema }>>;
    };
  };
}

interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface ServedKind {
  readonly apiVersion: string;
  readonly kind: string;
  /** Where its objects are created, in the namespace default when it is namespaced. */
  readonly path: string;
  readonly schema: OpenApiSchema;
  /** The schema that `$ref` names. */
  resolve(reference: string): OpenApiSchema;
}

export async function readServedKinds(client: ApiClient, cluster: string): Promise<ServedKind[]> {
  const read = async (path: string) =>
    JSON.parse(
      (await client.must("GET", `/clusters/${cluster}${path}`)).toString("utf8"),
    ) as unknown;
  const index = (await read("/openapi/v3")) as OpenApiDocument;
  const kinds: ServedKind[] = [];
  for (const path of Object.keys(index.paths ?? {})) {
    kinds.push(...kindsOf((await read(`/openapi/v3/${path}`)) as OpenApiDocument));
  }
  return kinds;
}

function kindsOf({ paths = {}, components }: OpenApiDocument): ServedKind[] {
  const resolve = (reference: string): OpenApiSchema =>
    components?.schemas?.[reference.slice("#/components/schemas/".length)] ?? {};
  return Object.entries(paths).flatMap(([path, { post }]) => {
    const type = post?.["x-kubernetes-group-version-kind"];
    const schema = post?.requestBody?.content?.["*/*"]?.schema;
    if (type === undefined || schema === undefined || path.includes("{name}")) return [];
    const { group, version, kind } = type;
    return {
      apiVersion: group === "" ? version : `${group}/${version}`,
      kind,
      path: path.replace("{namespace}", "default"),
      schema,
      resolve,
    };
  });
}
