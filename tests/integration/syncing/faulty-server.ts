/**
 * For tests of the syncer: one side of it, a plain server in memory, with a bad connection on
 * command. What the syncer sends is counted; what the test sends goes straight in.
 */
import {
  type ApiRequest,
  type ApiResponse,
  ApiServer,
  BearerTokenAuthenticator,
  RequestAuthenticator,
  StaticTokenAuthenticator,
  simpleResource,
  systemDefinition,
} from "@kcp-ts/apiserver";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { createInternalCredential } from "@kcp-ts/controlplane/internal";
import { type Clock, type Random, systemRandom } from "@kcp-ts/machinery/base";
import {
  bool,
  condition,
  int32,
  int64,
  list,
  message,
  objectMeta,
  type Shape,
  string,
} from "@kcp-ts/machinery/shape";
import { multiclusterKinds } from "@kcp-ts/multicluster";
import { Client, type DynamicObject, defineResource } from "@kcp-ts/sdk";
import { AbortableBody, serverTransport } from "@kcp-ts/sdk/client";
import * as kinds from "@kcp-ts/sdk/kinds";
import { tenancy } from "@kcp-ts/tenancy";

export const widgets = defineResource<DynamicObject>({
  group: "example.com",
  version: "v1",
  resource: "widgets",
  kind: "Widget",
  namespaced: true,
});
export const configMaps = defineResource<DynamicObject>(kinds.configMaps);
export const events = defineResource<DynamicObject>(kinds.events);
export const namespaces = defineResource<DynamicObject>(kinds.namespaces);

const widgetStatus = message("com.example.v1.WidgetStatus", {
  phase: [1, string],
  note: [2, string],
});

const widgetType = (status: Shape = widgetStatus) =>
  simpleResource({
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
      status: [3, status],
    }),
    setDefaults: (draft) => {
      draft["spec"] = { size: "medium", ...(draft["spec"] as object) };
    },
  });

export const deployments = defineResource<DynamicObject>(kinds.deployments);

const template = message("com.example.v1.Template", { image: [1, string] });
/** As much of it as a splitter looks at. */
const deploymentType = simpleResource({
  group: "apps",
  version: "v1",
  kind: "Deployment",
  hasStatus: true,
  shape: message("com.example.v1.Deployment", {
    metadata: [1, objectMeta],
    spec: [
      2,
      message("com.example.v1.DeploymentSpec", { replicas: [1, int32], template: [2, template] }),
    ],
    status: [
      3,
      message("com.example.v1.DeploymentStatus", {
        observedGeneration: [1, int64],
        replicas: [2, int32],
        updatedReplicas: [3, int32],
        readyReplicas: [4, int32],
        availableReplicas: [5, int32],
        unavailableReplicas: [6, int32],
      }),
    ],
  }),
  setDefaults: (draft) => {
    draft["spec"] = { replicas: 1, ...(draft["spec"] as object) };
  },
});

export const cronJobs = defineResource<DynamicObject>(kinds.cronJobs);
export const jobs = defineResource<DynamicObject>(kinds.jobs);

/** As much of them as a fence looks at. */
const batchTypes = ["CronJob", "Job"].map((kind) =>
  simpleResource({
    group: "batch",
    version: "v1",
    kind,
    hasStatus: true,
    shape: message(`com.example.v1.${kind}`, {
      metadata: [1, objectMeta],
      spec: [2, message(`com.example.v1.${kind}Spec`, { suspend: [1, bool] })],
      status: [3, message(`com.example.v1.${kind}Status`, { conditions: [1, list(condition)] })],
    }),
  }),
);

/** What befalls a request of the syncer; undefined: nothing. */
export type Fault = (request: {
  readonly method: string;
  readonly target: string;
  /** Whose client it is. */
  readonly who: string;
}) => FaultResponse;
export type FaultResponse =
  | undefined
  /** Nothing goes through. */
  | "cut"
  /** A write is done, and its response is lost. */
  | "lost-answer"
  /** Lists are without their items. */
  | "empty"
  /** Watches lose events, and go on as if nothing had happened. */
  | { readonly lose: () => boolean }
  | { readonly status: number; readonly message?: string };

/** An answer as a syncer got it. */
export interface ObservedResponse {
  /** Whose client it is. */
  readonly who: string;
  readonly method: string;
  readonly target: string;
  readonly status: number;
  readonly body: unknown;
}

export class FaultyServer {
  /** Straight to the server. */
  readonly client: Client;
  /** For the syncer. */
  readonly syncerClient: Client;
  /** Of the syncer: everything that could change something. */
  readonly writes: string[] = [];
  /** Beyond so many none is done: endless writes would leave other tasks no turn. */
  writesMax = Number.POSITIVE_INFINITY;
  /** Called with every write of the syncer before the server sees it. */
  beforeWrite: (method: string, target: string) => Promise<void> = async () => {};
  /** Called with every answer of one object that a syncer gets. */
  onAnswer: ((answered: ObservedResponse) => void) | undefined;
  readonly #make: () => ApiServer;
  readonly #storage: MemoryStorage;
  readonly #options: FaultyServerClients;
  readonly #streams = new Set<AbortableBody>();
  #server: ApiServer;
  #fault: Fault = () => undefined;

  private constructor(make: () => ApiServer, storage: MemoryStorage, options: FaultyServerClients) {
    this.#make = make;
    this.#server = make();
    this.#storage = storage;
    this.#options = options;
    const { authorization, clock } = options;
    const handle = (request: ApiRequest) => this.#server.handle(request);
    const transport = serverTransport({ server: { handle }, authorization });
    this.client = new Client({ transport, clock });
    this.syncerClient = this.clientOf("");
  }

  /** `status`: what a Widget's may be; a phase and a note if left out. */
  static async start(
    clock: Clock,
    random: Random = systemRandom,
    status?: Shape,
  ): Promise<FaultyServer> {
    const { authorization, staticToken } = createInternalCredential();
    const tokens = new StaticTokenAuthenticator([staticToken]);
    const storage = new MemoryStorage();
    const make = () =>
      new ApiServer({
        extension: tenancy(),
        storage,
        clock,
        random,
        authenticator: new RequestAuthenticator({
          authenticators: [new BearerTokenAuthenticator([tokens])],
          anonymous: true,
        }),
        resources: [
          widgetType(status),
          deploymentType,
          ...batchTypes,
          ...multiclusterKinds.map(systemDefinition),
        ],
        log: silentLog,
      });
    const side = new FaultyServer(make, storage, { authorization, clock, random });
    await side.#server.start();
    return side;
  }

  /** A client for a syncer, distinguished from those of others. */
  clientOf(who: string): Client {
    const { authorization, clock, random } = this.#options;
    const handle = (request: ApiRequest) => this.#handle(request, who);
    const transport = serverTransport({ server: { handle }, authorization });
    return new Client({ transport, clock, random });
  }

  /** From now on; what is open of the syncer's breaks. */
  injectFault(fault: Fault): void {
    this.#fault = fault;
    for (const stream of this.#streams) stream.fail(new Error("the connection was cut"));
  }

  heal(): void {
    this.#fault = () => undefined;
  }

  /** Another process on the same data. */
  async restart(): Promise<void> {
    const old = this.#server;
    this.#server = this.#make();
    for (const stream of this.#streams) stream.fail(new Error("the server has gone"));
    await this.#server.start();
    await old.drain();
    await old.close();
  }

  async close(): Promise<void> {
    this.#server.beginDraining();
    await this.#server.drain();
    await this.#server.close();
    await this.#storage.close();
  }

  async #handle(request: ApiRequest, who: string): Promise<ApiResponse> {
    const { method, target } = request;
    const fault = this.#fault({ method, target, who });
    if (fault === "cut") throw new Error("connection refused");
    if (method !== "GET") {
      this.writes.push(`${method} ${target}`);
      if (this.writes.length > this.writesMax) throw new Error("this side takes no more writes");
      await this.beforeWrite(method, target);
    }
    const response = await this.#answer(request, fault);
    if (fault === "lost-answer" && method !== "GET") throw new Error("the answer was lost");
    const { body, status } = response;
    if (body === undefined || body instanceof Uint8Array) {
      if (this.onAnswer !== undefined) {
        const value: unknown = body === undefined ? undefined : JSON.parse(decoder.decode(body));
        this.onAnswer({ who, method, target, status, body: value });
      }
      return response;
    }
    const loses = typeof fault === "object" && "lose" in fault && response.isWatch === true;
    const source = loses ? withLosses(body, fault.lose) : body;
    const stream: AbortableBody = new AbortableBody(source, () => this.#streams.delete(stream));
    this.#streams.add(stream);
    return { ...response, body: stream };
  }

  async #answer(request: ApiRequest, fault: FaultResponse): Promise<ApiResponse> {
    if (typeof fault === "object" && "status" in fault) return failure(fault.status, fault.message);
    if (fault === "empty" && request.method === "GET") {
      const empty = await this.#emptied(request);
      if (empty !== undefined) return empty;
    }
    return this.#server.handle(request);
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

const decoder = new TextDecoder();

/** The stream without some of its lines. Bookmarks come through: they say that all is well. */
async function* withLosses(
  body: AsyncIterable<Uint8Array>,
  lose: () => boolean,
): AsyncGenerator<Uint8Array> {
  let rest = "";
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk)).split("\n");
    rest = lines.pop() ?? "";
    const kept = lines.filter((line) => line.includes('"BOOKMARK"') || !lose());
    if (kept.length > 0) yield new TextEncoder().encode(`${kept.join("\n")}\n`);
  }
}

interface FaultyServerClients {
  readonly authorization: string;
  readonly clock: Clock;
  readonly random: Random;
}

function failure(code: number, message = messages.get(code)): ApiResponse {
  const status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: message ?? "something went wrong",
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
  [413, "RequestEntityTooLarge"],
  [422, "Invalid"],
]);

export const silentLog = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  isDebugEnabled: false,
};
