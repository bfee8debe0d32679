/** The definition by which our server serves a native kind, as negotiation writes it. */
export interface NativeNames {
  readonly kind: string;
  readonly apiVersion: string;
  readonly resource: string;
  readonly isNamespaced?: boolean;
}

export function definitionOf({
  kind,
  apiVersion,
  resource,
  isNamespaced = true,
}: NativeNames): object {
  const [group = "", version = ""] = apiVersion.includes("/")
    ? apiVersion.split("/")
    : ["", apiVersion];
  const openAPIV3Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${resource}.${group === "" ? "core" : group}`,
      annotations: {
        "api-approved.kubernetes.io": "unapproved, as negotiated",
        "workload.kcp.io/native-kind": "true",
      },
    },
    spec: {
      group,
      scope: isNamespaced ? "Namespaced" : "Cluster",
      names: { plural: resource, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}

/** Where the objects of a kind are. */
export function collectionOf(
  { apiVersion, resource, isNamespaced = true }: NativeNames,
  home: string,
): string {
  const prefix = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return `${prefix}/${isNamespaced ? `namespaces/${home}/` : ""}${resource}`;
}
