/**
 * The part that every control plane has, whether it listens or not: a server on an open store, what embedders add, clients in this
 * process, and controllers. `kcp start` puts files and sockets around it, the test server nothing.
 */
import type { Random } from "@kcp-ts/machinery/base";
import { Client } from "@kcp-ts/sdk";
import {
  ApiServer,
  type AuditTrailOptions,
  anyOf,
  bootstrapAuthorizer,
  type RequestAuthenticator,
  type ServerLog,
  type TrafficOptions,
  type UserInfo,
} from "@kcp-ts/server";
import { type AuthenticationOptions, composeAuthentication } from "./authentication.ts";
import { type RunningControllers, startControllers } from "./controllers.ts";
import {
  type ControllerProgram,
  type Extensions,
  type Handle,
  withMiddleware,
} from "./extensions.ts";
import { InProcessIdentities } from "./in-process-identities.ts";
import { inProcessTransport } from "./in-process-transport.ts";
import { createInternalCredential, type InternalCredential } from "./internal-credential.ts";
import { snapshotsOf } from "./snapshots.ts";
import type { OpenedStorage } from "./storage.ts";

export interface CoreOptions extends Omit<AuthenticationOptions, "internalToken" | "identities"> {
  readonly storage: OpenedStorage;
  readonly extensions: Extensions;
  readonly random: Random;
  readonly log: ServerLog;
  readonly trail?: AuditTrailOptions | undefined;
  readonly limits?: TrafficOptions;
}

interface Parts extends CoreOptions {
  readonly authenticator: RequestAuthenticator;
  readonly identities: InProcessIdentities;
  readonly credential: InternalCredential;
}

/** The administrator that the admin kubeconfig makes its holder. */
export const adminUser: UserInfo = { username: "kcp-admin", groups: ["system:kcp:admin"] };

export class Core {
  readonly server: ApiServer;
  /** The way in, middleware included. */
  readonly handle: Handle;
  readonly identities: InProcessIdentities;
  readonly #parts: Parts;
  readonly #stopping = new AbortController();
  #controlLoops: RunningControllers | undefined;
  #controllers: Promise<void>[] = [];

  static async compose(options: CoreOptions): Promise<Core> {
    const identities = new InProcessIdentities();
    const credential = createInternalCredential();
    const internalToken = credential.staticToken;
    const authenticator = await composeAuthentication({ ...options, internalToken, identities });
    return new Core({ ...options, authenticator, identities, credential });
  }

  private constructor(parts: Parts) {
    const { storage, authenticator, clock, random, log, extensions } = parts;
    this.#parts = parts;
    this.identities = parts.identities;
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
      audit: parts.trail,
      ...parts.limits,
    });
    this.handle = withMiddleware(
      (request) => this.server.handle(request),
      extensions.middleware ?? [],
    );
  }

  clientFor(cluster: string, user: UserInfo): Client {
    const authorization = `Bearer ${this.identities.tokenFor(user)}`;
    return this.#client(authorization).inCluster(cluster);
  }

  start(): Promise<void> {
    return this.server.start();
  }

  /** The server's own. `caPem` is what clients verify it by. */
  startControlLoops(caPem: string): void {
    const { server } = this;
    const { credential, log, clock } = this.#parts;
    this.#controlLoops = startControllers({ server, credential, caPem, log, clock });
  }

  /** The embedder's: when the types they watch are there. */
  startControllers(): void {
    const { controllers = [] } = this.#parts.extensions;
    this.#controllers = controllers.map((program) => this.#run(program));
  }

  /** Before the server drains: a control loop ends in good order while it is still answered. */
  async stopControllers(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#controlLoops?.stop(), ...this.#controllers]);
  }

  async #run(program: ControllerProgram): Promise<void> {
    const { clock, log, credential } = this.#parts;
    const { signal } = this.#stopping;
    const client = this.#client(credential.authorization).inCluster("root");
    try {
      await program({ client, clock, log, signal });
      if (!signal.aborted) log.warn({}, "a controller ended while the server goes on");
    } catch (error) {
      if (!signal.aborted) log.error({ err: error }, "a controller failed");
    }
  }

  #client(authorization: string): Client {
    const { clock, random } = this.#parts;
    return new Client({
      transport: inProcessTransport({ server: this, authorization }),
      clock,
      random,
    });
  }
}
