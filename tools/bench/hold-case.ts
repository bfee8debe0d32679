/** A request that a hostile tenant sends, and what it sends before. */
export interface HostileRequest {
  readonly method: "POST" | "PUT" | "PATCH" | "GET" | "DELETE";
  readonly path: string;
  readonly body?: string;
  readonly contentType?: string;
  readonly accept?: string;
}

export interface HoldCase {
  readonly name: string;
  /** Not measured; a definition among it is served before the next is sent. */
  readonly before?: readonly HostileRequest[];
  /** Measured, `n` being 0 when the server is cold and 1, 2… after. */
  request(n: number): HostileRequest;
}

export const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
export const hostilesPath = "/apis/hold.example.com/v1/namespaces/default/hostiles";

export interface HostileDefinition {
  readonly schema: object;
  /** Other kinds, so that one server takes many. */
  readonly plural?: string;
  readonly group?: string;
  readonly version?: object;
  readonly spec?: object;
}

export function definition(options: HostileDefinition): object {
  const { schema, plural = "hostiles", group = "hold.example.com" } = options;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural, singular: `${plural}-one`, kind: `Kind${plural}` },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          ...options.version,
        },
      ],
      ...options.spec,
    },
  };
}

export function define(options: HostileDefinition): HostileRequest {
  return { method: "POST", path: definitionsPath, body: JSON.stringify(definition(options)) };
}

export const text = { type: "string" } as const;

export function object(properties: object, more: object = {}): object {
  return { type: "object", properties, ...more };
}

export function fields(count: number, leaf: (i: number) => object): object {
  return object(Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, leaf(i)])));
}

/** As many copies of `item` as fit into the largest body. */
export function fill(item: string, bytes = 3_100_000): string {
  return `[${Array.from({ length: Math.floor(bytes / (item.length + 1)) }, () => item).join()}]`;
}
