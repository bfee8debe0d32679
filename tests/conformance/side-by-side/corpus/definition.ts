/** A CustomResourceDefinition in few words. */
export interface Defined {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
  readonly schema?: object;
}

export function definition(defined: Defined, spec: object = {}): object {
  const { group, plural, kind } = defined;
  const { schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true } } = defined;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural, kind },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
      ...spec,
    },
  };
}
