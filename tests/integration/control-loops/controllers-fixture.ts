/**
 * For tests: a server on a memory store, and the control loops beside it, which can be stopped and
 * started while the server lives on.
 */
import {
  type AdmissionPlugin,
  type ApiResponse,
  ApiServer,
  BearerTokenAuthenticator,
  RequestAuthenticator,
  StaticTokenAuthenticator,
} from "@kcp-ts/apiserver";
import type { Storage } from "@kcp-ts/apiserver/storage";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import {
  createInternalCredential,
  type RunningControllers,
  startControllers,
} from "@kcp-ts/controlplane/internal";
import { sleep, systemClock, systemRandom } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import { Client, type DynamicObject, defineResource, type OwnerReference } from "@kcp-ts/sdk";
import { serverTransport } from "@kcp-ts/sdk/client";
import { customResourceDefinitions } from "@kcp-ts/sdk/kinds";
import { tenancy } from "@kcp-ts/tenancy";

const core = (resource: string, kind: string, namespaced: boolean) =>
  defineResource<DynamicObject>({ group: "", version: "v1", resource, kind, namespaced });

export const kinds = {
  namespaces: core("namespaces", "Namespace", false),
  configMaps: core("configmaps", "ConfigMap", true),
  secrets: core("secrets", "Secret", true),
  serviceAccounts: core("serviceaccounts", "ServiceAccount", true),
  events: core("events", "Event", true),
  definitions: defineResource<DynamicObject>(customResourceDefinitions),
  widgets: defineResource<DynamicObject>({
    group: "example.com",
    version: "v1",
    resource: "widgets",
    kind: "Widget",
    namespaced: true,
  }),
};

export const testCaPem = "-----BEGIN CERTIFICATE-----\nnone\n-----END CERTIFICATE-----\n";

export class ControllersFixture {
  readonly client: Client;
  /** What the loops complained about. */
  readonly errors: string[] = [];
  /** The errors that the server logged, each as JSON. */
  readonly logged: readonly string[];
  /** Called before each request of the loops; a test may throw or wait in it. */
  onRequest: (method: string, target: string) => void | Promise<void> = () => {};
  /** Watches of which nothing arrives as long as it says so. */
  isWatchBlocked: (target: string) => boolean = () => false;
  readonly #server: ApiServer;
  readonly #storage: Storage;
  readonly #authorization: string;
  #controllers: RunningControllers | undefined;

  private constructor(
    server: ApiServer,
    storage: Storage,
    authorization: string,
    logged: string[],
  ) {
    this.#server = server;
    this.logged = logged;
    this.#storage = storage;
    this.#authorization = authorization;
    this.client = new Client({ transport: serverTransport({ server, authorization }) });
  }

  static async start(
    storage: Storage = new MemoryStorage(),
    admissionPlugins: readonly AdmissionPlugin[] = [],
  ): Promise<ControllersFixture> {
    const { authorization, staticToken } = createInternalCredential();
    const tokens = new StaticTokenAuthenticator([staticToken]);
    const logged: string[] = [];
    const server = new ApiServer({
      extension: tenancy(),
      storage,
      clock: systemClock,
      random: systemRandom,
      authenticator: new RequestAuthenticator({
        authenticators: [new BearerTokenAuthenticator([tokens])],
        anonymous: true,
      }),
      admissionPlugins,
      log: {
        ...silent,
        error: (fields, message) => void logged.push(JSON.stringify({ ...fields, message })),
      },
    });
    await server.start();
    return new ControllersFixture(server, storage, authorization, logged);
  }

  startControllers(): void {
    const tell = (fields: object, message: string) =>
      void this.errors.push(`${message} ${String((fields as { err?: unknown }).err)}`);
    this.#controllers = startControllers({
      server: {
        supervisor: this.#server.supervisor,
        handle: async (request) => {
          await this.onRequest(request.method, request.target);
          const response = await this.#server.handle(request);
          const { body } = response;
          if (response.isWatch !== true || !isStream(body)) return response;
          return { ...response, body: this.#withholding(request.target, body) };
        },
      },
      credential: { authorization: this.#authorization },
      caPem: testCaPem,
      log: { debug: () => {}, warn: tell, error: tell },
      clock: systemClock,
    });
  }

  async *#withholding(target: string, body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      await eventually(() => !this.isWatchBlocked(target));
      yield chunk;
    }
  }

  async stopControllers(): Promise<void> {
    await this.#controllers?.stop();
    this.#controllers = undefined;
  }

  async close(): Promise<void> {
    await this.stopAll();
    await this.#storage.close();
  }

  /** Stops all that runs; the store stays open. */
  async stopAll(): Promise<void> {
    await this.stopControllers();
    await this.#server.close();
  }

  in(cluster: string): Tenant {
    return new Tenant(this.client.inCluster(cluster));
  }
}

/** Shorthand for one logical cluster. */
export class Tenant {
  readonly namespaces;
  readonly configMaps;
  readonly secrets;
  readonly serviceAccounts;
  readonly events;
  readonly definitions;
  readonly widgets;

  constructor(client: Client) {
    this.namespaces = client.resource(kinds.namespaces);
    this.configMaps = client.resource(kinds.configMaps);
    this.secrets = client.resource(kinds.secrets);
    this.serviceAccounts = client.resource(kinds.serviceAccounts);
    this.events = client.resource(kinds.events);
    this.definitions = client.resource(kinds.definitions);
    this.widgets = client.resource(kinds.widgets);
  }

  namespace(name: string): Promise<DynamicObject> {
    return this.namespaces.create({ metadata: { name } });
  }

  /** Made in `default`, unless told otherwise. */
  configMap(name: string, metadata: Partial<DynamicObject["metadata"]> = {}) {
    return this.configMaps.create({ metadata: { namespace: "default", ...metadata, name } });
  }

  /** Makes the kind Widget known in this cluster; resolves when it is served. */
  async defineWidgets(): Promise<void> {
    const { group, version: name, resource: plural, kind } = kinds.widgets;
    const schema = {
      openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    };
    await this.definitions.create({
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        scope: "Namespaced",
        names: { plural, kind },
        versions: [{ name, served: true, storage: true, schema }],
      },
    });
    await eventually(async () => {
      try {
        await this.widgets.list({ limit: 1 });
        return true;
      } catch (error) {
        if (isStatusError(error, "NotFound")) return false;
        throw error;
      }
    });
  }

  async configMapNames(namespace: string): Promise<string[]> {
    const { items } = await this.configMaps.list({ namespace });
    return items.map(({ metadata }) => metadata.name).filter((name) => name !== "kube-root-ca.crt");
  }
}

export function ownedBy(
  { apiVersion, kind, metadata }: DynamicObject,
  extra: Partial<OwnerReference> = {},
): OwnerReference {
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? "", ...extra };
}

/** Looks until it is so; the test's own time is the limit. */
export async function eventually(isSo: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await isSo())) await sleep(systemClock, 5);
}

/** Long enough for the loops to do what they must not. */
export function observationPeriod(): Promise<void> {
  return sleep(systemClock, 250);
}

function isStream(body: ApiResponse["body"]): body is AsyncIterable<Uint8Array> {
  return body !== undefined && Symbol.asyncIterator in body;
}

const silent = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  isDebugEnabled: false,
};
