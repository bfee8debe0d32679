/** The objects that are written: ConfigMaps whose stored form has about a kilobyte. */

/** Without a name, one is generated for each. */
export function configMap(name?: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      ...(name === undefined ? { generateName: "x-" } : { name }),
      labels: { app: "bench", half: "a" },
    },
    data: { payload: "v".repeat(700), key: "value" },
  });
}

export function namespace(name: string): string {
  return JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
}

export function configMapsPath(namespaceName: string): string {
  return `/api/v1/namespaces/${namespaceName}/configmaps`;
}
