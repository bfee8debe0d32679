/**
 * A whole control plane inside a test: the same parts as `kcp start`, on a store in memory, without
 * files and, until asked for, without sockets.
 *
 *     const k = await startTestControlPlane();
 *     await k.client.resource(configMaps).create({ metadata: { name: "a", namespace: "default" } });
 *     await k.close();
 */
import type { ApiServer, ServerLog, UserInfo } from "@kcp-ts/apiserver";
import type { Storage } from "@kcp-ts/apiserver/storage";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import type { Extensions, PhysicalClusterOptions } from "@kcp-ts/controlplane";
import { ControlPlaneCore, processUser } from "@kcp-ts/controlplane/internal";
import { type Clock, systemClock, systemRandom } from "@kcp-ts/machinery/base";
import type { Client } from "@kcp-ts/sdk";
import type { TenancyExtensionOptions } from "@kcp-ts/tenancy";
import { FakeClock } from "@kcp-ts/testkit";
import { Faults } from "./faults.ts";
import { type CrdSource, installCrds } from "./install-crds.ts";
import { formatTestKubeconfig } from "./test-kubeconfig.ts";
import {
  createTestCertificates,
  type ListenOptions,
  listenForTests,
  type TestCertificates,
  type TestListener,
} from "./test-listener.ts";
import { warningsToStderr } from "./warnings-log.ts";

export interface TestControlPlaneOptions extends Extensions {
  /** `fake` is stopped until the test moves it; the real time if omitted. */
  readonly clock?: "fake" | Clock;
  /**
   * Files or folders with CustomResourceDefinitions, or definitions of `defineKind`, installed into
   * the logical cluster root.
   */
  readonly crds?: readonly CrdSource[];
  /** In memory if omitted; closed with the control plane. */
  readonly storage?: Storage;
  /** Namespace deletion, garbage collection and default objects; true if omitted. */
  readonly controlLoops?: boolean;
  /** The options of connections to physical clusters, or false for none. Only with controllers. */
  readonly physicalClusters?: PhysicalClusterOptions | false;
  /** The connection to mounted workspaces. */
  readonly mounts?: TenancyExtensionOptions["mounts"];
  /** Warnings and errors go to stderr if omitted. */
  readonly log?: ServerLog;
}

export interface TestControlPlane<TestClock extends Clock = Clock> {
  /** An administrator's in-process client of the logical cluster root. */
  readonly client: Client;
  readonly clock: TestClock;
  readonly faults: Faults;
  readonly server: ApiServer;
  /**
   * A client of any logical cluster, which exists from its first write on. `*` reads all of them.
   * An administrator's client, unless a user is given, whose permissions are those of RBAC:
   * `clientFor("a", { username: "alice", groups: [] })`.
   */
  clientFor(cluster: string, user?: UserInfo): Client;
  /** Returns the names of the installed CRDs, when they are served. */
  installCrds(sources: readonly CrdSource[], cluster?: string): Promise<readonly string[]>;
  /** Opens a port, once; further calls return the same one. */
  listen(options?: ListenOptions): Promise<TestListener>;
  /** As text, for clients over sockets; opens a port if there is none yet. */
  kubeconfig(options?: KubeconfigOptions): Promise<string>;
  /** Stops controllers, watches and the port. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** All permissions, across all logical clusters, too, so that tests need no RBAC setup. */

export interface KubeconfigOptions {
  /** root if omitted. */
  readonly cluster?: string;
  /** An administrator if omitted. */
  readonly user?: UserInfo;
}

export function startTestControlPlane(
  options: TestControlPlaneOptions & { readonly clock: "fake" },
): Promise<TestControlPlane<FakeClock>>;
export function startTestControlPlane(options?: TestControlPlaneOptions): Promise<TestControlPlane>;
export async function startTestControlPlane(
  options: TestControlPlaneOptions = {},
): Promise<TestControlPlane> {
  const { clock: asked = systemClock, crds = [], storage = new MemoryStorage(), ...rest } = options;
  const { physicalClusters = {}, ...more } = rest;
  const { log = warningsToStderr(), controlLoops = true, mounts = {}, ...extensions } = more;
  const clock = asked === "fake" ? new FakeClock() : asked;
  const faults = new Faults(clock);
  const core = await ControlPlaneCore.compose({
    storage,
    tokens: undefined,
    anonymousAuth: true,
    extensions: {
      ...extensions,
      middleware: [faults.middleware, ...(extensions.middleware ?? [])],
    },
    clock,
    random: systemRandom,
    log,
    mounts,
  });
  const certificates = createTestCertificates();
  const plane = new InProcessControlPlane({ core, clock, faults, storage, certificates, log });
  try {
    await core.start();
    await core.server.bootstrap(unreachableUrl);
    if (controlLoops) {
      const { caPem } = certificates;
      core.startControlLoops({
        caPem,
        physicalClusters: physicalClusters || undefined,
        agentUrl: () => plane.url,
      });
    }
    if (crds.length > 0) await plane.installCrds(crds);
    core.startControllers();
  } catch (error) {
    await plane.close();
    throw error;
  }
  return plane;
}

/** The URL of workspaces, until there is a port. */
const unreachableUrl = "https://localhost:6443";

interface Parts {
  readonly core: ControlPlaneCore;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly storage: Storage;
  readonly certificates: TestCertificates;
  readonly log: ServerLog;
}

class InProcessControlPlane implements TestControlPlane {
  readonly client: Client;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly server: ApiServer;
  readonly #parts: Parts;
  #listener: Promise<TestListener> | undefined;
  /** Undefined while there is no port. */
  url: string | undefined;
  #closing: Promise<void> | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.clock = parts.clock;
    this.faults = parts.faults;
    this.server = parts.core.server;
    this.client = this.clientFor("root");
  }

  clientFor(cluster: string, user: UserInfo = processUser): Client {
    return this.#parts.core.clientFor(cluster, user);
  }

  installCrds(sources: readonly CrdSource[], cluster = "root"): Promise<readonly string[]> {
    return installCrds(this.clientFor(cluster), sources);
  }

  listen(options: ListenOptions = {}): Promise<TestListener> {
    this.#listener ??= this.#listen(options);
    return this.#listener;
  }

  async #listen(options: ListenOptions): Promise<TestListener> {
    const { core } = this.#parts;
    const listener = await listenForTests({ ...this.#parts, ...options, handle: core.handle });
    await core.server.bootstrap(listener.url);
    this.url = listener.url;
    return listener;
  }

  async kubeconfig({
    cluster = "root",
    user = processUser,
  }: KubeconfigOptions = {}): Promise<string> {
    const { url, caPem } = await this.listen();
    const token = this.#parts.core.identities.tokenFor(user);
    return formatTestKubeconfig({ url, caPem, cluster, username: user.username, token });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const { core, faults, storage } = this.#parts;
    // No injected fault may keep controllers from ending.
    faults.clear();
    await core.stopControllers();
    core.server.beginDraining();
    await (await this.#listener)?.close();
    await core.server.drain();
    await core.close();
    await storage.close();
  }
}
