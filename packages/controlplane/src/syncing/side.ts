/**
 * For tests of the syncer: one side of it, a plain server in memory, with a bad connection on command. What the syncer sends is counted; what the test sends goes
 * straight in.
 */
import { type Clock, type Random, systemRandom } from "@kcp-ts/machinery/base";
import { list, message, objectMeta, string } from "@kcp-ts/machinery/shape";
import { multiclusterKinds } from "@kcp-ts/multicluster";
import { Client, type DynamicObject, defineResource } from "@kcp-ts/sdk";
import { EndableBody } from "@kcp-ts/sdk/client";
import {
  type ApiRequest,
  type ApiResponse,
  ApiServer,
  BearerTokenAuthenticator,
  RequestAuthenticator,
  StaticTokenAuthenticator,
  simpleResource,
  systemDefinition,
} from "@kcp-ts/server";
import { MemoryStorage } from "@kcp-ts/server/storage/memory";
import { inProcessTransport } from "../compose/in-process-transport.ts";
import { createInternalCredential } from "../compose/internal-credential.ts";

export const widgets = defineResource<DynamicObject>({
  group: "example.com",
  version: "v1",
  resource: "widgets",
  kind: "Widget",
  namespaced: true,
});
export const configMaps = defineResource<DynamicObject>({
  group: "",
  version: "v1",
  resource: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
});
export const namespaces = defineResource<DynamicObject>({
  group: "",
  version: "v1",
  resource: "namespaces",
  kind: "Namespace",
  namespaced: false,
});

const widgetType = simpleResource({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  hasStatus: true,
  shape: message("com.example.v1.Widget", {
    metadata: [1, objectMeta],
    spec: [
      2,
      message("com.example.v1.WidgetSpec", {
        color: [1, string],
        size: [2, string],
        tags: [3, list(string)],
        injected: [4, string],
      }),
    ],
    status: [3, message("com.example.v1.WidgetStatus", { phase: [1, string] })],
  }),
  setDefaults: (draft) => {
    draft["spec"] = { size: "medium", ...(draft["spec"] as object) };
  },
});

/** What befalls a request of the syncer; undefined: nothing. */
export type Fault = (request: { readonly method: string; readonly target: string }) => FaultAnswer;
export type FaultAnswer = undefined | "cut" | "lost-answer" | { readonly status: number } | "empty";

export class Side {
  /** Straight to the server. */
  readonly client: Client;
  /** For the syncer. */
  readonly syncerClient: Client;
  /** Of the syncer: everything that could change something. */
  readonly writes: string[] = [];
  /** Called with every write of the syncer before the server sees it. */
  beforeWrite: (method: string, target: string) => Promise<void> = async () => {};
  readonly #server: ApiServer;
  readonly #storage: MemoryStorage;
  readonly #streams = new Set<EndableBody>();
  #fault: Fault = () => undefined;

  private constructor(server: ApiServer, storage: MemoryStorage, options: SideClients) {
    this.#server = server;
    this.#storage = storage;
    const { authorization, clock, random } = options;
    this.client = new Client({ transport: inProcessTransport({ server, authorization }), clock });
    const handle = (request: ApiRequest) => this.#handle(request);
    const transport = inProcessTransport({ server: { handle }, authorization });
    this.syncerClient = new Client({ transport, clock, random });
  }

  static async start(clock: Clock, random: Random = systemRandom): Promise<Side> {
    const { authorization, staticToken } = createInternalCredential();
    const tokens = new StaticTokenAuthenticator([staticToken]);
    const storage = new MemoryStorage();
    const server = new ApiServer({
      storage,
      clock,
      random,
      authenticator: new RequestAuthenticator({
        authenticators: [new BearerTokenAuthenticator([tokens])],
        anonymous: true,
      }),
      resources: [widgetType, ...multiclusterKinds.map(systemDefinition)],
      log: silent,
    });
    await server.start();
    return new Side(server, storage, { authorization, clock, random });
  }

  /** From now on; what is open of the syncer's breaks. */
  suffer(fault: Fault): void {
    this.#fault = fault;
    for (const stream of this.#streams) stream.fail(new Error("the connection was cut"));
  }

  heal(): void {
    this.#fault = () => undefined;
  }

  async close(): Promise<void> {
    this.#server.beginDraining();
    await this.#server.drain();
    await this.#server.close();
    await this.#storage.close();
  }

  async #handle(request: ApiRequest): Promise<ApiResponse> {
    const { method, target } = request;
    const fault = this.#fault({ method, target });
    if (fault === "cut") throw new Error("connection refused");
    if (method !== "GET") {
      this.writes.push(`${method} ${target}`);
      await this.beforeWrite(method, target);
    }
    if (typeof fault === "object") return failure(fault.status);
    if (fault === "empty" && method === "GET") {
      const empty = await this.#emptied(request);
      if (empty !== undefined) return empty;
    }
    const response = await this.#server.handle(request);
    if (fault === "lost-answer" && method !== "GET") throw new Error("the answer was lost");
    const { body } = response;
    if (body === undefined || body instanceof Uint8Array) return response;
    const stream: EndableBody = new EndableBody(body, () => this.#streams.delete(stream));
    this.#streams.add(stream);
    return { ...response, body: stream };
  }

  /** A list without its items, as from a server whose cache is not filled yet. */
  async #emptied(request: ApiRequest): Promise<ApiResponse | undefined> {
    if (/sendInitialEvents/.test(request.target)) return failure(400);
    if (/[?&]watch=/.test(request.target)) return undefined;
    const response = await this.#server.handle(request);
    if (!(response.body instanceof Uint8Array)) return undefined;
    const value = JSON.parse(new TextDecoder().decode(response.body)) as { items?: unknown };
    if (!Array.isArray(value.items)) return undefined;
    const body = new TextEncoder().encode(JSON.stringify({ ...value, items: [] }));
    return { ...response, body, headers: { "content-type": "application/json" } };
  }
}

interface SideClients {
  readonly authorization: string;
  readonly clock: Clock;
  readonly random: Random;
}

function failure(code: number): ApiResponse {
  const status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: messages.get(code) ?? "something went wrong",
    reason: reasons.get(code) ?? "InternalError",
    code,
  };
  const body = new TextEncoder().encode(JSON.stringify(status));
  return { status: code, headers: { "content-type": "application/json" }, body };
}

const messages = new Map([
  [404, "the server could not find the requested resource"],
  [
    403,
    'widgets.example.com "a" is forbidden: User "syncer" cannot patch resource "widgets" in API group "example.com"',
  ],
]);
const reasons = new Map([
  [400, "BadRequest"],
  [403, "Forbidden"],
  [404, "NotFound"],
]);

export const silent = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  isLevelEnabled: () => false,
};
