/** A custom kind for tests of admission: CronTab, in one or more versions. */
import type { AnyObject, TestServer } from "../../testing/index.ts";

export const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

export interface CronTabOptions {
  readonly group?: string;
  readonly schema?: object;
  readonly versions?: readonly object[];
}

export function cronTabs(options: CronTabOptions = {}): AnyObject {
  const { group = "stable.example.com", schema = cronTabSchema } = options;
  const only = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `crontabs.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural: "crontabs", singular: "crontab", kind: "CronTab" },
      versions: options.versions ?? [only],
    },
  };
}

const cronTabSchema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: { image: { type: "string" }, replicas: { type: "integer" } },
    },
  },
};

/** Creates the definition and waits until it is served. */
export async function install(
  server: TestServer,
  definition: AnyObject,
  cluster = "a",
): Promise<void> {
  const path = `/clusters/${cluster}${definitionsPath}`;
  const selector = `fieldSelector=metadata.name%3D${definition.metadata.name}`;
  const watch = await server.watch(`${path}?watch=1&${selector}`);
  await server.must("POST", path, { body: definition });
  for (let isServed = false; !isServed; ) {
    const [event] = await watch.take(1);
    const status = JSON.stringify(event?.object["status"] ?? {});
    isServed = status.includes('"type":"Established","status":"True"');
  }
  await watch.leave();
}
