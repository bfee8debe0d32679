/**
 * The part that every control plane has, whether it listens or not: a server on an open store, what embedders add, clients in this
 * process, and controllers. `kcp start` puts files and sockets around it, the test server nothing.
 */
import { defaultObjectsIn, type IssueToken } from "@kcp-ts/controllers";
import type { Random } from "@kcp-ts/machinery/base";
import { Client } from "@kcp-ts/sdk";
import {
  type AccountObjects,
  ApiServer,
  type ApiServerOptions,
  type AuditTrailOptions,
  type Authorizer,
  anyOf,
  clusterUnit,
  podMetricsKind,
  publicPaths,
  type RequestAuthenticator,
  type ServerLog,
  type UserInfo,
  workspaceContent,
} from "@kcp-ts/server";
import { type CertificateAuthority, clientSigner } from "../certificates/index.ts";
import { apiAccessAdmission } from "./api-access-admission.ts";
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
import { copiesAdmission } from "./copies-admission.ts";
import {
  type ControllerProgram,
  type Extensions,
  type Handle,
  withMiddleware,
} from "./extensions.ts";
import { FileWatch } from "./file-watch.ts";
import { GivenNamespaces } from "./given-namespaces.ts";
import { InProcessIdentities } from "./in-process-identities.ts";
import { inProcessTransport } from "./in-process-transport.ts";
import { createInternalCredential, type InternalCredential } from "./internal-credential.ts";
import { composeIssuers, type IssuerOptions } from "./issuers.ts";
import { type PeerAddress, Peers } from "./peers.ts";
import { type PhysicalClusterOptions, PhysicalClusters } from "./physical-clusters.ts";
import { placementReviewAuthorizer } from "./placement-reviews.ts";
import { podEndpoints } from "./pod-endpoints.ts";
import {
  composeServiceAccounts,
  type ServiceAccountOptions,
  type ServiceAccounts,
} from "./service-accounts.ts";
import { SharedTargets } from "./shared-targets.ts";
import { snapshotsOf } from "./snapshots.ts";
import type { OpenedStorage } from "./storage.ts";
import { syncerViews } from "./syncer-views.ts";
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
    Pick<ApiServerOptions, "root" | "homeWorkspaces"> {
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
  readonly mounts?: ApiServerOptions["mounts"];
  readonly trail?: AuditTrailOptions | undefined;
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

interface Parts extends CoreOptions {
  readonly authenticator: (objects: AccountObjects) => RequestAuthenticator;
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

export class Core {
  readonly server: ApiServer;
  /** The way in, middleware included. */
  readonly handle: Handle;
  readonly identities: InProcessIdentities;
  /** Looked at until the controllers stop. */
  readonly files: FileWatch;
  readonly #parts: Parts;
  readonly #physicalClusters: PhysicalClusters;
  readonly #peers: Peers;
  readonly #stopping = new AbortController();
  #controlLoops: RunningControllers | undefined;
  #controllers: Promise<void>[] = [];

  static async compose(options: CoreOptions): Promise<Core> {
    const identities = new InProcessIdentities();
    const credential = createInternalCredential();
    const internalToken = credential.staticToken;
    const { clock, log, rootDirectory } = options;
    const files = new FileWatch({
      clock,
      onError: (error, paths) =>
        log.error({ err: error, paths }, "changed files cannot be used; the old ones stay in use"),
    });
    try {
      const serviceAccounts = await composeServiceAccounts(options, {
        rootDirectory,
        clock,
        files,
      });
      const clientAuthority = await loadClientAuthority(options, { rootDirectory, clock });
      const apiAudiences = serviceAccounts.audiences;
      const issuers = await composeIssuers(options, { apiAudiences, clock, log, files });
      const parts = {
        ...options,
        internalToken,
        identities,
        serviceAccounts,
        clientAuthority,
        issuers,
        files,
      };
      const authenticator = await composeAuthentication(parts);
      const authorization = await composeAuthorization(options, options);
      return new Core({ ...parts, authenticator, authorization, credential });
    } catch (error) {
      files.stop();
      throw error;
    }
  }

  private constructor(parts: Parts) {
    const { storage, authenticator, clock, random, log, extensions } = parts;
    this.#parts = parts;
    const client = () => this.#client(parts.credential.authorization);
    const shared = new SharedTargets({ consumers: () => this.server.exportConsumers, client });
    const given = new GivenNamespaces({ client, catalog: () => this.server.catalog });
    this.#peers = new Peers({
      ...{ client, clock, log },
      tokenFor: (user) => parts.identities.tokenFor(user),
      isStoreShared: parts.isStoreShared === true,
    });
    this.#physicalClusters = new PhysicalClusters({
      ...{ client, clock, log, servers: this.#peers },
      authorizer: () => this.server.authorizer,
      sharedTarget: (cluster, name, signal) => shared.offered(cluster, name, signal),
    });
    this.identities = parts.identities;
    this.files = parts.files;
    this.server = new ApiServer({
      storage,
      snapshots: snapshotsOf(storage),
      clock,
      random,
      authenticator,
      authorization: (rbac, gate) => parts.authorization.around(gate(this.#rules(rbac))),
      gate: workspaceContent,
      log,
      apiAudiences: parts.serviceAccounts.audiences,
      tokens: parts.serviceAccounts.issuer,
      issuerDocuments: parts.serviceAccounts.documents,
      admissionPlugins: [
        this.#physicalClusters.admissionPlugin,
        copiesAdmission({
          authorizer: () => this.server.authorizer,
          sharedPlace: (cluster, name) => shared.placeOf(cluster, name),
          given,
          client,
        }),
        apiAccessAdmission(client),
        ...(extensions.admissionPlugins ?? []),
      ],
      syncerViews: (sources) => syncerViews({ ...sources, client, given }),
      furtherSubresources: (authorizer) => {
        const ofPods = podEndpoints({ ...this.#physicalClusters, authorizer, client });
        const ofPeers = this.#peers.endpoint(this.#physicalClusters.connections);
        return (definition, scope) => ofPods(definition, scope) ?? ofPeers(definition, scope);
      },
      furtherReviewers: (authorizer) => this.#physicalClusters.reviewers(authorizer),
      resources: [...this.#physicalClusters.resources, ...(extensions.resources ?? [])],
      besides: [
        {
          definition: podMetricsKind(this.#physicalClusters.podMetrics),
          beside: { group: "", version: "v1", resource: "pods" },
        },
      ],
      webhooks: {
        denyPrivateAddresses: parts.webhookDenyPrivateAddresses === true,
        serviceNetworks: parts.webhookServiceNetworks ?? [],
      },
      ...(parts.mounts === undefined ? {} : { mounts: parts.mounts }),
      ...{ root: parts.root, homeWorkspaces: parts.homeWorkspaces },
      audit: parts.trail,
      ...parts.limits,
      tidyMemory: parts.tidyMemory,
    });
    this.handle = withMiddleware(
      (request) => this.server.handle(request),
      extensions.middleware ?? [],
    );
  }

  /** Of those who may enter a logical cluster. */
  #rules(rbac: Authorizer): Authorizer {
    const { authorizers = [] } = this.#parts.extensions;
    const own = [publicPaths, rbac, this.#peers.authorizer, placementReviewAuthorizer];
    return anyOf([...own, ...authorizers]);
  }

  clientFor(cluster: string, user: UserInfo): Client {
    const authorization = `Bearer ${this.identities.tokenFor(user)}`;
    return this.#client(authorization).inCluster(cluster);
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
    this.#peers.start(address);
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
      clusterUnit,
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
      this.#physicalClusters.programOf({ denyPrivateAddresses, ...physicalClusters }, agentServer);
    const shared = { ...keys, server, credential, log, clock, multicluster };
    if (options.controlLoops !== false) {
      server.namespacesBeginWith((namespace) => defaultObjectsIn(namespace, caPem));
    }
    this.#controlLoops = startControllers({ ...options, ...shared });
  }

  /** The embedder's: when the types they watch are there. */
  startControllers(): void {
    const { controllers = [] } = this.#parts.extensions;
    this.#controllers = controllers.map((program) => this.#run(program));
  }

  /** Before the server drains: a control loop ends in good order while it is still answered. */
  async stopControllers(): Promise<void> {
    this.#stopping.abort();
    this.files.stop();
    const stopping = [
      this.#controlLoops?.stop(),
      this.#peers.stop(),
      this.#physicalClusters.close(),
    ];
    await Promise.all([...stopping, ...this.#controllers]);
  }

  /** The last of it, also of a start that did not come to its end. */
  async close(): Promise<void> {
    this.files.stop();
    await this.server.close();
    await this.#parts.authorization.close();
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
