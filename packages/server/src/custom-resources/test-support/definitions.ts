/** Definitions for tests, and waiting for them. */
import type { AnyObject, TestServer, TestUser, WatchEvent } from "../../testing/index.ts";

export interface CronTabOptions {
  readonly group?: string;
  readonly schema?: object;
  readonly version?: object;
  readonly spec?: object;
  readonly names?: object;
  readonly scope?: "Namespaced" | "Cluster";
}

/** The well-known example of the Kubernetes documentation, in one version. */
export function cronTabs(options: CronTabOptions = {}): AnyObject {
  const { group = "stable.example.com" } = options;
  const plural = (options.names as { plural?: string } | undefined)?.plural ?? "crontabs";
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group === "" ? "core" : group}` },
    spec: {
      group,
      scope: options.scope ?? "Namespaced",
      names: { plural, singular: "crontab", kind: "CronTab", shortNames: ["ct"], ...options.names },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: options.schema ?? cronTabSchema },
          ...options.version,
        },
      ],
      ...options.spec,
    },
  };
}

export const cronTabSchema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        cronSpec: { type: "string", pattern: "^(\\d+|\\*)(/\\d+)?(\\s+(\\d+|\\*)(/\\d+)?){4}$" },
        image: { type: "string" },
        replicas: { type: "integer", minimum: 1, maximum: 10 },
      },
    },
    status: { type: "object", properties: { replicas: { type: "integer" } } },
  },
};

export const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** Creates the definition and waits until it is served. */
export async function install(
  server: TestServer,
  definition: AnyObject,
  cluster = "a",
  user: TestUser = "admin",
): Promise<AnyObject> {
  const path = `/clusters/${cluster}${definitionsPath}`;
  await server.must("POST", path, { body: definition, user });
  return established(server, definition.metadata.name ?? "", cluster);
}

/** Waits as kubectl does: by watching the one definition. */
export async function established(
  server: TestServer,
  name: string,
  cluster = "a",
): Promise<AnyObject> {
  return condition(server, name, "Established", "True", cluster);
}

export async function condition(
  server: TestServer,
  name: string,
  type: string,
  status: string,
  cluster = "a",
): Promise<AnyObject> {
  const selector = `fieldSelector=metadata.name%3D${name}`;
  const watch = await server.watch(`/clusters/${cluster}${definitionsPath}?watch=1&${selector}`);
  try {
    for (;;) {
      const { object } = (await watch.take(1))[0] as WatchEvent;
      if (conditionOf(object, type)?.status === status) return object;
    }
  } finally {
    await watch.leave();
  }
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

export function conditionOf(object: AnyObject, type: string): Condition | undefined {
  const { conditions = [] } = (object["status"] ?? {}) as { conditions?: readonly Condition[] };
  return conditions.find((each) => each.type === type);
}
