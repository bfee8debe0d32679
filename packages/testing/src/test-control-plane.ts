/**
 * A whole control plane inside a test: the same parts as `kcp start`, on a store in memory, without files and, until asked for, without sockets.
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
import { installCrds } from "./install-crds.ts";
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
  /** `fake` stands still until the test moves it; the real time if left out. */
  readonly clock?: "fake" | Clock;
  /** Files or folders with CustomResourceDefinitions, installed into the logical cluster root. */
  readonly crds?: readonly string[];
  /** In memory if left out; closed with the control plane. */
  readonly storage?: Storage;
  /** Namespace deletion, garbage collection and what new namespaces get; true if left out. */
  readonly controlLoops?: boolean;
  /** How physical clusters are connected to, or false for not at all. Only with control loops. */
  readonly physicalClusters?: PhysicalClusterOptions | false;
  /** How workspaces are reached that are served elsewhere. */
  readonly mounts?: TenancyExtensionOptions["mounts"];
  /** Warnings and errors go to stderr if left out. */
  readonly log?: ServerLog;
}

export interface TestControlPlane<TestClock extends Clock = Clock> {
  /** An administrator's, in the logical cluster root; in this process. */
  readonly client: Client;
  readonly clock: TestClock;
  readonly faults: Faults;
  readonly server: ApiServer;
  /**
   * In any logical cluster: it exists from its first write on. `*` reads all of them. An administrator's, unless a user is given, who
   * may do what roles and bindings say: `clientFor("a", { username: "alice", groups: [] })`.
   */
  clientFor(cluster: string, user?: UserInfo): Client;
  /** Returns the names of what was installed, when it is served. */
  installCrds(paths: readonly string[], cluster?: string): Promise<readonly string[]>;
  /** Opens a port, once; asking again tells the same one. */
  listen(options?: ListenOptions): Promise<TestListener>;
  /** As text, for clients over sockets; opens a port if there is none yet. */
  kubeconfig(options?: KubeconfigOptions): Promise<string>;
  /** Ends controllers, watches and the port. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** May do everything, in all logical clusters at once too: tests get on with what they are about. */

export interface KubeconfigOptions {
  /** root if left out. */
  readonly cluster?: string;
  /** An administrator if left out. */
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

/** What workspaces say of where they are, until there is a port. */
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

  installCrds(paths: readonly string[], cluster = "root"): Promise<readonly string[]> {
    return installCrds(this.clientFor(cluster), paths);
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
    // Nothing that was broken on purpose may keep controllers from ending.
    faults.clear();
    await core.stopControllers();
    core.server.beginDraining();
    await (await this.#listener)?.close();
    await core.server.drain();
    await core.close();
    await storage.close();
  }
}
