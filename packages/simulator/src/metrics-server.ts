/**
 * A metrics-server for an external control plane: the simulated usage of its Pods and nodes, served
 * to its API server as an APIService. It does not authenticate clients: use loopback addresses.
 */
import { ApiServer, type ServerLog } from "@kcp-ts/apiserver";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import type { Clock, Random } from "@kcp-ts/machinery/base";
import type { Client } from "@kcp-ts/sdk";
import { apiServices, services } from "@kcp-ts/sdk/kinds";
import { administrator } from "./administrator.ts";
import { type Handle, withHeaders } from "./frontend/index.ts";
import { metricsKinds } from "./metrics-kinds.ts";

const group = "metrics.k8s.io";
const version = "v1beta1";
const name = "metrics-server";
const namespace = "kube-system";

export interface MetricsServerOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: ServerLog;
}

export class MetricsServer {
  readonly #server: ApiServer;
  readonly #storage = new MemoryStorage();
  readonly #authorization: string;
  readonly #client: Client;

  constructor({ client, clock, random, log }: MetricsServerOptions) {
    const { authorization, gates } = administrator();
    this.#client = client;
    this.#authorization = authorization;
    const resources = metricsKinds(() => client, clock);
    const storage = this.#storage;
    this.#server = new ApiServer({ storage, clock, random, log, ...gates, resources });
  }

  start(): Promise<void> {
    return this.#server.start();
  }

  /** Serves requests for metrics; `next` serves the others. */
  before(next: Handle): Handle {
    return (request) => {
      if (!request.target.startsWith(`/apis/${group}`)) return next(request);
      const headers = { ...request.headers, authorization: this.#authorization };
      return this.#server.handle(withHeaders(request, headers));
    };
  }

  /**
   * Registers the APIService, so that the API server sends requests to this port of its own
   * machine.
   */
  async register(port: number): Promise<void> {
    const service = { name, namespace, port };
    await this.#client
      .resource(services)
      .create({
        metadata: { name, namespace },
        spec: { type: "ExternalName", externalName: "localhost" },
      } as never);
    await this.#client
      .resource(apiServices)
      .create({
        metadata: { name: `${version}.${group}` },
        spec: {
          group,
          version,
          service,
          insecureSkipTLSVerify: true,
          groupPriorityMinimum: 100,
          versionPriority: 100,
        },
      } as never);
  }

  async close(): Promise<void> {
    this.#server.beginDraining();
    await this.#server.drain();
    await this.#server.close();
    await this.#storage.close();
  }
}
