/**
 * The part that every control plane has, whether it listens or not: a server on an open store, what embedders add, clients in this
 * process, and controllers. `kcp start` puts files and sockets around it, the test server nothing.
 */

import {
  ApiServer,
  type ApiServerOptions,
  type AuditWiringOptions,
  type Authorizer,
  clusterOrganizationalUnit,
  publicPaths,
  type RequestAuthenticator,
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
import type { ServerLimits } from "./traffic.ts";

export interface CoreOptions
  extends Omit<
      AuthenticationOptions,
      "internalToken" | "identities" | "files" | "serviceAccounts" | "issuers" | "clientAuthority"
    >,
    ServiceAccountOptions,
    IssuerOptions,
    AuthorizationOptions,
    ClientAuthorityOptions,
    Pick<TenancyExtensionOptions, "root" | "homeWorkspaces"> {
  /** An API server by itself: no workspaces, no physical clusters. */
  readonly isAlone?: boolean | undefined;
  /** Undefined where nothing is kept in files. */
  readonly rootDirectory?: string | undefined;
  readonly storage: OpenedStorage;
  /** Whether other servers may work on it. */
  readonly isStoreShared?: boolean | undefined;
  readonly extensions: Extensions;
  readonly random: Random;
  readonly log: ServerLog;
  readonly webhookDenyPrivateAddresses?: boolean | undefined;
  readonly webhookServiceNetworks?: readonly string[] | undefined;
  /** How workspaces are reached that are served elsewhere. */
  readonly mounts?: TenancyExtensionOptions["mounts"];
  readonly trail?: AuditWiringOptions | undefined;
  readonly limits?: ServerLimits;
  readonly tidyMemory?: (() => void) | undefined;
}

export interface ControlLoopsToStart
  extends Pick<ControllersOptions, "caPem" | "eventTtlMs" | "isShared" | "controlLoops"> {
  /** Nobody connects to physical clusters if left out. */
  readonly physicalClusters?: PhysicalClusterOptions | undefined;
  /** Where agents of physical clusters reach this server, without a path; none are installed while it is not known. */
  readonly agentUrl?: (() => string | undefined) | undefined;
}

interface CoreDependencies extends CoreOptions {
  readonly server: ApiServer;
  /** Undefined, as multicluster, of an API server by itself. */
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

/** The administrator that the admin kubeconfig makes its holder. */
export const adminUser: UserInfo = { username: "kcp-admin", groups: ["system:kcp:admin"] };
/** Whoever runs the process may do everything in it, in all logical clusters at once and in those of the system. */
export const processUser: UserInfo = {
  ...adminUser,
  groups: [...adminUser.groups, "system:masters"],
};

export class ControlPlaneCore {
  readonly server: ApiServer;
  /** The way in, middleware included. */
  readonly handle: Handle;
  readonly identities: InProcessIdentities;
  /** Looked at until the controllers stop. */
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

  constructor(parts: CoreDependencies) {
    this.#parts = parts;
    this.server = parts.server;
    this.handle = parts.handle;
    this.identities = parts.identities;
    this.files = parts.files;
  }

  clientFor(cluster: string, user: UserInfo): Client {
    const authorization = `Bearer ${this.identities.tokenFor(user)}`;
    return this.#parts.loopback.client(authorization).inCluster(cluster);
  }

  /** The address that others reach this server at, for the documents that name it. */
  servedAt(url: string): void {
    this.#parts.serviceAccounts.servedAt(url);
  }

  start(): Promise<void> {
    return this.server.start();
  }

  /** Other servers of the store find this one there. */
  meetPeers(address: PeerAddress): void {
    this.#parts.multicluster?.meetPeers(address);
  }

  /** The server's own. `caPem` is what clients verify it by. */
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

  /** The embedder's: when the types they watch are there. */
  startControllers(): void {
    const { controllers = [] } = this.#parts.extensions;
    this.#controllers = controllers.map((program, index) => this.#run(program, index));
  }

  /** Before the server drains: a control loop ends in good order while it is still answered. */
  async stopControllers(): Promise<void> {
    this.#stopping.abort();
    this.files.stop();
    const stopping = [this.#controlLoops?.stop(), this.#parts.multicluster?.close()];
    await Promise.all([...stopping, ...this.#controllers]);
  }

  /** The last of it, also of a start that did not come to its end. */
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

/** Gates first, then what the server is made with, then the server; each part is given what is there before it. */
async function composeOn(files: FileWatch, options: CoreOptions): Promise<ControlPlaneCore> {
  const { clock, random, log, rootDirectory, extensions } = options;
  const identities = new InProcessIdentities();
  const credential = createInternalCredential();
  const serviceAccounts = await composeServiceAccounts(options, { rootDirectory, clock, files });
  const clientAuthority = await loadClientAuthority(options, { rootDirectory, clock });
  const apiAudiences = serviceAccounts.audiences;
  const issuers = await composeIssuers(options, { apiAudiences, clock, log, files });
  const authenticator = await composeAuthentication({
    ...options,
    ...{ identities, serviceAccounts, clientAuthority, issuers, files },
    internalToken: credential.staticToken,
  });
  const authorization = await composeAuthorization(options, options);
  const loopback = new Loopback({ clock, random });
  const gates = { authenticator, authorization, serviceAccounts };
  const multiclusterOptions = {
    ...{ clock, log },
    client: () => loopback.client(credential.authorization),
    tokenFor: (user: UserInfo) => identities.tokenFor(user),
    isStoreShared: options.isStoreShared === true,
  };
  const made =
    options.isAlone === true
      ? apiServerAlone(options, gates)
      : wholeServer(options, gates, new MulticlusterServer(multiclusterOptions));
  const { server } = made;
  const handle = withMiddleware((request) => server.handle(request), extensions.middleware ?? []);
  loopback.leadTo(handle);
  return new ControlPlaneCore({
    ...options,
    ...{ ...made, handle, loopback, authorization, serviceAccounts },
    ...{ clientAuthority, files, identities, credential },
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
  const { mounts, root, homeWorkspaces } = options;
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
    }),
    admissionPlugins: [...additions.admissionPlugins, ...own.admissionPlugins],
    resources: [...additions.resources, ...own.resources],
  });
  multicluster.serveIn(server);
  return { server, workspaces: server.extension, multicluster };
}

interface Gates {
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
  /** Of those who may enter a logical cluster. */
  const rules = (rbac: Authorizer) =>
    unionAuthorizer([publicPaths, rbac, ...authorizers, ...(extensions.authorizers ?? [])]);
  return {
    storage,
    snapshots: snapshotsOf(storage),
    ...{ clock, random, log, authenticator },
    authorization: (rbac, gate) => authorization.around(gate(rules(rbac))),
    apiAudiences: serviceAccounts.audiences,
    tokens: serviceAccounts.issuer,
    issuerDocuments: serviceAccounts.documents,
    admissionPlugins: extensions.admissionPlugins ?? [],
    resources: extensions.resources ?? [],
    webhooks: {
      denyPrivateAddresses: options.webhookDenyPrivateAddresses === true,
      serviceNetworks: options.webhookServiceNetworks ?? [],
    },
    audit: options.trail,
    ...options.limits,
    tidyMemory: options.tidyMemory,
  };
}
