/** For tests: CustomResourceDefinitions of small kinds. */
export const openSchema = { type: "object", "x-kubernetes-preserve-unknown-fields": true } as const;

export interface VersionOptions {
  /** Keeps everything if left out. */
  readonly schema?: object;
  readonly served?: boolean;
}

/** The version v1 is the stored one. */
export function versionOf(name: string, options: VersionOptions = {}): object {
  const { schema: openAPIV3Schema = openSchema, served = true } = options;
  return { name, served, storage: name === "v1", schema: { openAPIV3Schema } };
}

export interface DefinitionOptions {
  readonly group?: string;
  readonly scope?: "Namespaced" | "Cluster";
  readonly versions?: readonly object[];
}

/** The kind of `widgets` is Widget. */
export function definitionOf(plural: string, options: DefinitionOptions = {}) {
  const { group = "example.com", scope = "Namespaced", versions = [versionOf("v1")] } = options;
  const singular = plural.slice(0, -1);
  const kind = singular[0]?.toUpperCase() + singular.slice(1);
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope, names: { plural, singular, kind, listKind: `${kind}List` }, versions },
  };
}
