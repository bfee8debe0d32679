/**
 * The core of every control plane, with or without sockets: a server on an open store, the
 * embedder's extensions, in-process clients, and controllers. `kcp start` adds files and sockets to
 * it, the test server adds none.
 */
import {
  ApiServer,
  type ApiServerOptions,
  type AuditWiringOptions,
  type Authorizer,
  clusterOrganizationalUnit,
  publicPaths,
  type RequestAuthenticator,
  type ServerLimits,
  type ServerLog,
  type ServiceAccountTokenGetter,
  type UserInfo,
  unionAuthorizer,
} from "@kcp-ts/apiserver";
import { defaultObjectsIn, type IssueToken } from "@kcp-ts/controllers";
import type { Random } from "@kcp-ts/machinery/base";
import {
  MulticlusterServer,
  type PeerAddress,
  type PhysicalClusterOptions,
} from "@kcp-ts/multicluster-server";
import { type CertificateAuthority, clientSigner, FileWatch } from "@kcp-ts/pki";
import type { Client } from "@kcp-ts/sdk";
import {
  type TenancyExtension,
  type TenancyExtensionOptions,
  type TlsShardNetwork,
  tenancy,
  workspaceContentAuthorizer,
} from "@kcp-ts/tenancy";
import { type AuthenticationOptions, composeAuthentication } from "./authentication.ts";
import {
  type Authorization,
  type AuthorizationOptions,
  composeAuthorization,
} from "./authorization.ts";
import { type ClientAuthorityOptions, loadClientAuthority } from "./client-authority.ts";
import {
  type ControllersOptions,
  type RunningControllers,
  startControllers,
} from "./controllers.ts";
import {
  type ControllerProgram,
  type Extensions,
  type Handle,
  withMiddleware,
} from "./extensions.ts";
import { InProcessIdentities } from "./in-process-identities.ts";
import { createInternalCredential, type InternalCredential } from "./internal-credential.ts";
import { composeIssuers, type IssuerOptions } from "./issuers.ts";
import { Loopback } from "./loopback.ts";
import {
  composeServiceAccounts,
  type ServiceAccountOptions,
  type ServiceAccounts,
} from "./service-accounts.ts";
import { snapshotsOf } from "./snapshots.ts";
import type { OpenedStorage } from "./storage.ts";

export interface CoreOptions
  extends Omit<
      AuthenticationOptions,
      "internalToken" | "identities" | "files" | "serviceAccounts" | "issuers" | "clientAuthority"
    >,
    ServiceAccountOptions,
    IssuerOptions,
    AuthorizationOptions,
    ClientAuthorityOptions,
    Pick<ApiServerOptions, "metricSources" | "site" | "onSuperseded" | "tracer">,
    Pick<TenancyExtensionOptions, "root" | "homeWorkspaces"> {
  /** A plain API server: no workspaces, no physical clusters. */
  readonly isAlone?: boolean | undefined;
  /** Undefined where nothing is stored in files. */
  readonly rootDirectory?: string | undefined;
  readonly storage: OpenedStorage;
  /** Whether other servers may work on the store. */
  readonly isStoreShared?: boolean | undefined;
  readonly extensions: Extensions;
  readonly random: Random;
  readonly log: ServerLog;
  readonly webhookDenyPrivateAddresses?: boolean | undefined;
  readonly webhookServiceNetworks?: readonly string[] | undefined;
  /** The connection to mounted workspaces, which other servers serve. */
  readonly mounts?: TenancyExtensionOptions["mounts"];
  readonly shards?: TlsShardNetwork | undefined;
  readonly audit?: AuditWiringOptions | undefined;
  readonly limits?: ServerLimits;
  readonly collectGarbage?: () => void;
  readonly markEarly?: NonNullable<ApiServerOptions["webhooks"]>["markEarly"];
}

export interface ControlLoopsToStart
  extends Pick<
    ControllersOptions,
    "caPem" | "eventTtlMs" | "isShared" | "controlLoops" | "wrapTransport"
  > {
  /** No controller connects to physical clusters if omitted. */
  readonly physicalClusters?: PhysicalClusterOptions | undefined;
  /**
   * The address of this server for agents of physical clusters, without a path; no agents are
   * installed while it is unknown.
   */
  readonly agentUrl?: (() => string | undefined) | undefined;
}

interface CoreDependencies extends CoreOptions {
  readonly server: ApiServer;
  /** Undefined, as multicluster is, for a plain API server. */
  readonly workspaces: TenancyExtension | undefined;
  readonly handle: Handle;
  readonly loopback: Loopback;
  readonly multicluster: MulticlusterServer | undefined;
  readonly authorization: Authorization;
  readonly serviceAccounts: ServiceAccounts;
  readonly clientAuthority: CertificateAuthority;
  readonly files: FileWatch;
  readonly identities: InProcessIdentities;
  readonly credential: InternalCredential;
}

/** The administrator of the admin kubeconfig. */
export const adminUser: UserInfo = { username: "kcp-admin", groups: ["system:kcp:admin"] };
/**
 * The owner of the process has all permissions in it, across all logical clusters and in the
 * system's.
 */
export const processUser: UserInfo = {
  ...adminUser,
  groups: [...adminUser.groups, "system:masters"],
};

export class ControlPlaneCore {
  readonly server: ApiServer;
  /** The request handler, middleware included. */
  readonly handle: Handle;
  readonly identities: InProcessIdentities;
  /** The watch of configuration files, which runs until the controllers stop. */
  readonly files: FileWatch;
  readonly #parts: CoreDependencies;
  readonly #stopping = new AbortController();
  #controlLoops: RunningControllers | undefined;
  #controllers: Promise<void>[] = [];

  static async compose(options: CoreOptions): Promise<ControlPlaneCore> {
    const { clock, log } = options;
    const files = new FileWatch({
      clock,
      onError: (error, paths) =>
        log.error({ err: error, paths }, "changed files cannot be used; the old ones stay in use"),
    });
    try {
      return await composeOn(files, options);
    } catch (error) {
      files.stop();
      throw error;
    }
  }

  constructor(coreDependencies: CoreDependencies) {
    this.#parts = coreDependencies;
    this.server = coreDependencies.server;
    this.handle = coreDependencies.handle;
    this.identities = coreDependencies.identities;
    this.files = coreDependencies.files;
  }

  clientFor(cluster: string, user: UserInfo): Client {
    const authorization = `Bearer ${this.identities.tokenFor(user)}`;
    return this.#parts.loopback.client(authorization).inCluster(cluster);
  }

  /** The request handler of the listener, which takes connections of shards, too. */
  get listenerHandle(): Handle {
    const { shards, workspaces } = this.#parts;
    if (shards === undefined) return this.handle;
    return shards.around(this.handle, (link, from) => workspaces?.serveShard(link, from));
  }

  /** The external address of this server, for documents that contain it. */
  servedAt(url: string): void {
    this.#parts.serviceAccounts.servedAt(url);
    this.#parts.shards?.listensAt(url);
  }

  start(): Promise<void> {
    return this.server.start();
  }

  /** Where other servers of the store reach this one; the system's CAs verify it by default. */
  startPeers(url: string | undefined, caPem: PeerAddress["caPem"]): void {
    if (url !== undefined)
      this.#parts.multicluster?.meetPeers({ url: url.replace(/\/+$/, ""), caPem });
  }

  /**
   * Starts the server's own controllers. `caPem` is the CA certificate by which clients verify the
   * server.
   */
  startControlLoops({ physicalClusters, agentUrl, ...options }: ControlLoopsToStart): void {
    const { server } = this;
    const { credential, log, clock, serviceAccounts, clientAuthority } = this.#parts;
    const issueToken: IssueToken = (account, secretName) =>
      serviceAccounts.issuer.issueForSecret(account, secretName);
    const signCertificate = clientSigner({
      authority: clientAuthority,
      now: () => clock.now(),
      clusterUnit: clusterOrganizationalUnit,
    });
    const keys = { issueToken, signCertificate };
    const { caPem } = options;
    const agentServer = () => {
      const url = agentUrl?.();
      return url === undefined ? undefined : { url, caPem };
    };
    const { webhookDenyPrivateAddresses: denyPrivateAddresses } = this.#parts;
    const multicluster =
      physicalClusters &&
      this.#parts.multicluster?.programOf(
        { denyPrivateAddresses, ...physicalClusters },
        agentServer,
      );
    const shared = { ...keys, server, credential, log, clock, multicluster };
    if (options.controlLoops !== false) {
      this.#parts.workspaces?.namespacesBeginWith((namespace) =>
        defaultObjectsIn(namespace, caPem),
      );
    }
    this.#controlLoops = startControllers({ ...options, ...shared });
  }

  /** Starts the embedder's controllers, when the types that they watch are served. */
  startControllers(): void {
    const { controllers = [] } = this.#parts.extensions;
    this.#controllers = controllers.map((program, index) => this.#run(program, index));
  }

  /** Runs before the server drains: controllers finish while the server still responds. */
  async stopControllers(): Promise<void> {
    this.#stopping.abort();
    this.files.stop();
    const stopping = [this.#controlLoops?.stop(), this.#parts.multicluster?.close()];
    await Promise.all([...stopping, ...this.#controllers]);
  }

  /** The last step of a stop, also of a start that failed. */
  async close(): Promise<void> {
    this.files.stop();
    await this.server.close();
    await this.#parts.authorization.close();
  }

  #run(program: ControllerProgram, index: number): Promise<void> {
    const { clock, log, credential, loopback } = this.#parts;
    const client = loopback.client(credential.authorization).inCluster("root");
    const name = program.name === "" ? `controller-${index + 1}` : program.name;
    return this.server.supervisor.runLoop(name, this.#stopping.signal, (signal) =>
      program({ client, clock, log, signal }),
    );
  }
}

/**
 * Creates the authenticators and authorizers first, then the server's dependencies, then the
 * server.
 */
async function composeOn(files: FileWatch, options: CoreOptions): Promise<ControlPlaneCore> {
  const { clock, random, log, rootDirectory, extensions } = options;
  const identities = new InProcessIdentities();
  const credential = createInternalCredential();
  const serviceAccounts = await composeServiceAccounts(options, { rootDirectory, clock, files });
  const clientAuthority = await loadClientAuthority(options, { rootDirectory, clock });
  const parts = { files, identities, serviceAccounts, clientAuthority };
  const apiAudiences = serviceAccounts.audiences;
  const issuers = await composeIssuers(options, { apiAudiences, clock, log, files });
  const authenticator = await composeAuthentication({
    ...options,
    ...parts,
    issuers,
    internalToken: credential.staticToken,
  });
  const authorization = await composeAuthorization(options, options);
  const loopback = new Loopback({ clock, random });
  const processUser = (authorization: string) =>
    authorization === credential.authorization
      ? credential.staticToken.user
      : identities.authenticateToken(authorization.replace(/^bearer /i, ""));
  const gates = { authenticator, authorization, serviceAccounts, processUser };
  const multiclusterOptions = {
    clock,
    log,
    client: () => loopback.client(credential.authorization),
    tokenFor: (user: UserInfo) => identities.tokenFor(user),
    isStoreShared: options.isStoreShared === true,
  };
  const made =
    options.isAlone === true
      ? apiServerAlone(options, gates)
      : wholeServer(options, gates, new MulticlusterServer(multiclusterOptions));
  const { server } = made;
  const handle = withMiddleware(server.handle, extensions.middleware ?? []);
  loopback.leadTo(handle);
  return new ControlPlaneCore({
    ...options,
    ...parts,
    ...made,
    handle,
    loopback,
    authorization,
    credential,
  });
}

type MadeServer = Pick<CoreDependencies, "server" | "workspaces" | "multicluster">;

function apiServerAlone(options: CoreOptions, gates: Gates): MadeServer {
  const server = new ApiServer(serverOptions(options, gates, []));
  return { server, workspaces: undefined, multicluster: undefined };
}

function wholeServer(
  options: CoreOptions,
  gates: Gates,
  multicluster: MulticlusterServer,
): MadeServer {
  const { additions, authorizers, syncerViews } = multicluster;
  const { mounts, root, homeWorkspaces, shards } = options;
  const { processUser } = gates;
  const own = serverOptions(options, gates, authorizers);
  const server = new ApiServer({
    ...own,
    ...additions,
    extension: tenancy({
      gate: workspaceContentAuthorizer,
      mounts,
      root,
      homeWorkspaces,
      syncerViews,
      shards: shards && { ...shards.shard, processUser },
    }),
    admissionPlugins: [...additions.admissionPlugins, ...own.admissionPlugins],
    resources: [...additions.resources, ...own.resources],
  });
  multicluster.serveIn(server);
  return { server, workspaces: server.extension, multicluster };
}

interface Gates {
  /** The users whose tokens only this process knows. */
  readonly processUser: (authorization: string) => UserInfo | undefined;
  readonly authenticator: (objects: ServiceAccountTokenGetter) => RequestAuthenticator;
  readonly authorization: Authorization;
  readonly serviceAccounts: ServiceAccounts;
}

function serverOptions(
  options: CoreOptions,
  { authenticator, authorization, serviceAccounts }: Gates,
  authorizers: readonly Authorizer[],
): Omit<ApiServerOptions, "extension"> &
  Required<Pick<ApiServerOptions, "admissionPlugins" | "resources">> {
  const { storage, clock, random, log, extensions } = options;
  /** The users who may enter a logical cluster. */
  const rules = (rbac: Authorizer) =>
    unionAuthorizer([publicPaths, rbac, ...authorizers, ...(extensions.authorizers ?? [])]);
  return {
    storage,
    snapshots: snapshotsOf(storage),
    clock,
    random,
    log,
    authenticator,
    authorization: (rbac, gate) => authorization.around(gate(rules(rbac))),
    apiAudiences: serviceAccounts.audiences,
    tokens: serviceAccounts.issuer,
    issuerDocuments: serviceAccounts.documents,
    admissionPlugins: extensions.admissionPlugins ?? [],
    resources: extensions.resources ?? [],
    webhooks: {
      denyPrivateAddresses: options.webhookDenyPrivateAddresses === true,
      serviceNetworks: options.webhookServiceNetworks ?? [],
      markEarly: options.markEarly,
    },
    audit: options.audit,
    ...options.limits,
    collectGarbage: options.collectGarbage,
    metricSources: options.metricSources,
    onSuperseded: options.onSuperseded,
    tracer: options.tracer,
    site: options.site,
  };
}
