/**
 * The part that every control plane has, whether it listens or not: a server on an open store, what embedders add, clients in this
 * process, and controllers. `kcp start` puts files and sockets around it, the test server nothing.
 */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import { Client } from "@kcp-ts/sdk";
import {
  ApiServer,
  anyOf,
  bootstrapAuthorizer,
  type RequestAuthenticator,
  type ServerLog,
  type UserInfo,
} from "@kcp-ts/server";
import {
  type ControllerProgram,
  type Extensions,
  type Handle,
  withMiddleware,
} from "./extensions.ts";
import type { InProcessIdentities } from "./in-process-identities.ts";
import { inProcessTransport } from "./in-process-transport.ts";
import { snapshotsOf } from "./snapshots.ts";
import type { OpenedStorage } from "./storage.ts";

export interface CoreOptions {
  readonly storage: OpenedStorage;
  readonly authenticator: RequestAuthenticator;
  readonly identities: InProcessIdentities;
  readonly extensions: Extensions;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: ServerLog;
}

/** The administrator that the admin kubeconfig makes its holder. */
export const adminUser: UserInfo = { username: "kcp-admin", groups: ["system:kcp:admin"] };

/** May do everything, as the server's own control loops must. */
const controllerUser: UserInfo = {
  username: "system:kcp:controller-manager",
  groups: ["system:masters"],
};

export class Core {
  readonly server: ApiServer;
  /** The way in, middleware included. */
  readonly handle: Handle;
  readonly #options: CoreOptions;
  readonly #stopping = new AbortController();
  #controllers: Promise<void>[] = [];

  constructor(options: CoreOptions) {
    const { storage, authenticator, clock, random, log, extensions } = options;
    this.#options = options;
    this.server = new ApiServer({
      storage,
      snapshots: snapshotsOf(storage),
      clock,
      random,
      authenticator,
      authorizer: anyOf([bootstrapAuthorizer, ...(extensions.authorizers ?? [])]),
      log,
      admissionPlugins: extensions.admissionPlugins ?? [],
      resources: extensions.resources ?? [],
    });
    this.handle = withMiddleware(
      (request) => this.server.handle(request),
      extensions.middleware ?? [],
    );
  }

  clientFor(cluster: string, user: UserInfo): Client {
    const { identities, clock, random } = this.#options;
    const transport = inProcessTransport(this.handle, identities.tokenFor(user));
    return new Client({ transport, basePath: `/clusters/${cluster}`, clock, random });
  }

  start(): Promise<void> {
    return this.server.start();
  }

  /** The embedder's: behind the start, when the types they watch are there. */
  startControllers(): void {
    const { controllers = [] } = this.#options.extensions;
    this.#controllers = controllers.map((program) => this.#run(program));
  }

  /** Before the server drains: a control loop ends in good order while it is still answered. */
  async stopControllers(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#controllers);
  }

  async #run(program: ControllerProgram): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = this.#stopping;
    const client = this.clientFor("root", controllerUser);
    try {
      await program({ client, clock, log, signal });
      if (!signal.aborted) log.warn({}, "a controller ended while the server goes on");
    } catch (error) {
      if (!signal.aborted) log.error({ err: error }, "a controller failed");
    }
  }
}
