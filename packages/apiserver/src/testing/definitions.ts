/** CRDs in tests: installs them, and waits for their conditions. */
import type { AnyObject, TestServer, TestUser } from "./test-server.ts";
import type { WatchEvent } from "./watch-reader.ts";

export const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** Creates the CRD and waits until it is served. */
export async function install(
  server: TestServer,
  definition: AnyObject,
  cluster = "a",
  user: TestUser = "admin",
): Promise<AnyObject> {
  const path = `/clusters/${cluster}${definitionsPath}`;
  await server.requestOk("POST", path, { body: definition, user });
  return established(server, definition.metadata.name ?? "", cluster);
}

/** Waits as kubectl does: by watching the one CRD. */
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
