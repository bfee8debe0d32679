/**
 * The port of all simulated kubelets of a cluster, for API servers: logs, commands, terminals and
 * ports of Pods. A simulated cluster serves these as subresources of its Pods; here they are served
 * to an external API server.
 *
 *     /containerLogs/<namespace>/<pod>/<container>
 *     /exec/…   /attach/…   /portForward/<namespace>/<pod>
 */
import type { ApiRequest } from "@kcp-ts/apiserver";
import type { ConnectRequest } from "@kcp-ts/apiserver/kinds";
import type { Clock } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { isStatusError, statusError } from "@kcp-ts/machinery/status";
import type { Client } from "@kcp-ts/sdk";
import { pods } from "./api/index.ts";
import type { Handle } from "./frontend/index.ts";
import { podEndpoints } from "./kinds/index.ts";
import { podServices } from "./pod-services.ts";

const subresources: ReadonlyMap<string, string> = new Map([
  ["containerLogs", "log"],
  ["exec", "exec"],
  ["attach", "attach"],
  ["portForward", "portforward"],
]);
/** Query parameters as API servers name them in requests to kubelets. */
const renamed: ReadonlyMap<string, string> = new Map([
  ["input", "stdin"],
  ["output", "stdout"],
  ["error", "stderr"],
]);

export function kubeletHandle(client: Client, clock: Clock): Handle {
  const services = podServices(clock);
  services.connectCluster(client);
  const endpoints = new Map(podEndpoints(services));
  return async (request) => {
    try {
      const { pathname, searchParams } = new URL(request.target, "https://kubelet");
      const [verb = "", namespace = "", name = "", container = ""] = pathname.split("/").slice(1);
      const connect = endpoints.get(subresources.get(verb) ?? "")?.connect;
      if (connect === undefined) throw statusError.pathNotFound();
      const object = (await client
        .resource(pods)
        .get({ namespace, name })) as unknown as JsonObject;
      return await connect(callOf(request, object, query(searchParams, container)));
    } catch (error) {
      if (!isStatusError(error)) throw error;
      // Kubelets respond with plain text, not with Status objects.
      const body = new TextEncoder().encode(error.message);
      return { status: error.status.code ?? 500, headers: { "content-type": "text/plain" }, body };
    }
  };
}

function query(sent: URLSearchParams, container: string): URLSearchParams {
  const asked = new URLSearchParams();
  for (const [name, value] of sent)
    asked.append(renamed.get(name) ?? name, value === "1" ? "true" : value);
  if (container !== "") asked.set("container", container);
  return asked;
}

/** Sessions and logs read no body, change no object, and need no user. */
function callOf(request: ApiRequest, object: JsonObject, asked: URLSearchParams): ConnectRequest {
  const leaving = new AbortController();
  request.onClose(() => leaving.abort());
  const { headers } = request;
  const call = { verb: "get", headers, object, query: asked, signal: leaving.signal };
  return call as unknown as ConnectRequest;
}
