/**
 * A process of the control plane: the program that `kcp start` runs, without files and sockets, on
 * a disk that outlives it.
 */
import type { ServerLog } from "@kcp-ts/apiserver";
import type { Storage, Write } from "@kcp-ts/apiserver/storage";
import { ControlPlaneCore, processUser } from "@kcp-ts/controlplane/internal";
import type { ConnectFunction } from "@kcp-ts/multicluster";
import { Client, type Transport } from "@kcp-ts/sdk";
import { serverTransport } from "@kcp-ts/sdk/client";
import type { SeededRandom } from "@kcp-ts/testkit";
import { type BeforeCommit, CrashingStorage } from "./crashing-storage.ts";
import { ProcessClock, type SimulatedEventLoop } from "./event-loop.ts";
import type { SimulatedLink } from "./simulated-network.ts";

export interface ControlPlaneProcessOptions {
  readonly loop: SimulatedEventLoop;
  readonly disk: Storage;
  readonly random: SeededRandom;
  readonly log: ServerLog;
  readonly syncedResources: readonly string[];
  /** The transport to the cluster of a kubeconfig's server, through the network of this process. */
  readonly transportTo: (server: string, process: ControlPlaneProcess) => Transport;
  /** Wraps the connection of the controllers to their own server. */
  readonly wrapLoopback: (transport: Transport) => Transport;
  readonly link: (name: string) => SimulatedLink;
  readonly clockErrorMs: () => number;
  readonly beforeCommit: BeforeCommit;
  readonly onCommit: (write: Write) => void;
  readonly onCrash: () => void;
}

/** Nothing in a simulation verifies it. */
const caPem = "simulated";
export const externalUrl = "https://kcp.simulation";

export class ControlPlaneProcess {
  readonly clock: ProcessClock;
  readonly core: ControlPlaneCore;
  readonly #storage: CrashingStorage;
  readonly #links: SimulatedLink[];
  readonly #endings: (() => void)[] = [];
  /** Resolves when the process has ended. */
  readonly ended = new Promise<undefined>((resolve) => {
    this.#endings.push(() => resolve(undefined));
  });

  private constructor(parts: {
    readonly clock: ProcessClock;
    readonly core: ControlPlaneCore;
    readonly storage: CrashingStorage;
    readonly loopback: SimulatedLink;
  }) {
    this.clock = parts.clock;
    this.core = parts.core;
    this.#storage = parts.storage;
    this.#links = [parts.loopback];
  }

  static async start(options: ControlPlaneProcessOptions): Promise<ControlPlaneProcess> {
    const { loop, disk, random, log, transportTo, beforeCommit, onCommit } = options;
    const clock = new ProcessClock(loop, options.clockErrorMs);
    // Of several commits under way, the first to crash ends the process.
    let hasCrashed = false;
    const storage = new CrashingStorage({
      disk,
      beforeCommit,
      onCommit,
      onCrash: () => {
        if (hasCrashed) return;
        hasCrashed = true;
        clock.end();
        storage.end();
        started?.end();
        options.onCrash();
      },
    });
    let started: ControlPlaneProcess | undefined;
    const core = await ControlPlaneCore.compose({
      storage,
      tokens: undefined,
      anonymousAuth: true,
      extensions: {},
      clock,
      random,
      log,
      mounts: {},
    });
    const loopback = options.link("loopback");
    const process = new ControlPlaneProcess({ clock, core, storage, loopback });
    started = process;
    const connect: ConnectFunction = (kubeconfig, settings) => {
      const context = kubeconfig.contexts.get(kubeconfig.currentContext ?? "");
      const { server } = kubeconfig.clusters.get(context?.cluster ?? "") ?? { server: "" };
      const transport = transportTo(server, process);
      const client = new Client({ ...settings.client, clock, random, transport });
      return { client, transport, namespace: "default", close: () => transport.close() };
    };
    await core.start();
    await core.server.bootstrap(externalUrl);
    core.startControlLoops({
      caPem,
      physicalClusters: { connect, resourcesToSync: options.syncedResources },
      agentUrl: () => externalUrl,
      wrapTransport: (transport) => options.wrapLoopback(loopback.wrap(transport)),
    });
    return process;
  }

  /** A client of a user of this process, without faults. */
  clientFor(cluster: string): Client {
    return this.core.clientFor(cluster, processUser);
  }

  /** A transport for requests with a bearer token, as an agent sends them. */
  transportWith(token: string): Transport {
    return serverTransport({ server: this.core, authorization: `Bearer ${token}` });
  }

  /** Ends with the process. */
  owns(link: SimulatedLink): SimulatedLink {
    this.#links.push(link);
    return link;
  }

  /** As by SIGKILL: nothing of the process runs on, and its connections break. */
  end(): void {
    this.clock.end();
    this.#storage.end();
    for (const link of this.#links) link.end();
    for (const end of this.#endings) end();
  }
}
