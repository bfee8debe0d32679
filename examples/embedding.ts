/**
 * A server of your own in at most 50 lines: a built-in type, an admission plug-in, a store,
 * middleware and a controller.
 */
import { controlPlaneDefaults, createLog, overLogicalClusters, startControlPlane } from "kcp-ts";
import { message, objectMeta, simpleResource, string } from "kcp-ts/apiserver";
import type { ControllerOptions, KubernetesObject, Resource } from "kcp-ts/sdk";

interface Greeting extends KubernetesObject {
  readonly spec?: { readonly who?: string };
  readonly status?: { readonly text?: string };
}
const names = { group: "example.com", version: "v1", kind: "Greeting", resource: "greetings" };
export const greetings: Resource<Greeting> = { ...names, namespaced: true };
const shape = message("com.example.v1.Greeting", {
  metadata: [1, objectMeta],
  spec: [2, message("com.example.v1.GreetingSpec", { who: [1, string] })],
  status: [3, message("com.example.v1.GreetingStatus", { text: [1, string] })],
});

export function startGreeter(rootDirectory: string, kind: "memory" | "embedded") {
  const options = { ...controlPlaneDefaults, rootDirectory, securePort: 0, storage: { kind } };
  return startControlPlane(options, {
    log: createLog({ format: "pretty", verbosity: 0 }),
    resources: [simpleResource({ ...names, shape, hasStatus: true })],
    admissionPlugins: [
      {
        name: "GreetTheWorld",
        mutate({ resource }, draft) {
          if (resource === greetings.resource) draft["spec"] ??= { who: "world" };
        },
      },
    ],
    middleware: [
      async (request, next) => {
        const response = await next(request);
        return { ...response, headers: { ...response.headers, "x-served-by": "greeter" } };
      },
    ],
    controllers: [overLogicalClusters({ name: "greeter", watch: [greetings], reconcile: greet })],
  });
}

const greet: ControllerOptions["reconcile"] = async (key, { client }) => {
  const greeting = await client.resource(greetings).find(key);
  const patch = { status: { text: `Hello, ${greeting?.spec?.who}!` } };
  if (greeting === undefined || greeting.status?.text === patch.status.text) return;
  await client.resource(greetings).patchStatus(key, { type: "merge", patch });
};
