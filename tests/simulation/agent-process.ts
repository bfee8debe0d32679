/**
 * An agent of a SyncTarget in Pull mode: the program that `kcp syncer --import-apis` runs, as a
 * process in its cluster. It dials the control plane with a token of its own; what it does not get
 * in a system is a tunnel.
 */
import {
  accountNamespace,
  agentId,
  agentViewPath,
  requestToken,
  runAgent,
  serviceAccounts,
  syncTargets,
} from "@kcp-ts/multicluster";
import { Client, type Transport } from "@kcp-ts/sdk";
import type { SeededRandom } from "@kcp-ts/testkit";
import { ProcessClock, type SimulatedEventLoop } from "./event-loop.ts";
import type { SimulatedLink } from "./simulated-network.ts";

export interface AgentIdentity {
  readonly target: Parameters<typeof runAgent>[0]["target"];
  readonly token: string;
}

export interface AgentProcessOptions {
  readonly loop: SimulatedEventLoop;
  readonly random: SeededRandom;
  readonly identity: AgentIdentity;
  readonly resources: readonly string[];
  /** The connections to the control plane and to the cluster, and the links that they pass. */
  readonly upstream: Transport;
  readonly downstream: Transport;
  readonly links: readonly SimulatedLink[];
  readonly onError: (error: unknown, controller: string) => void;
}

const enrolPollMs = 50;
const day = 86_400;

/** The identity that an installed agent finds in its Secret; undefined without the SyncTarget. */
export async function enrolAgent(
  loop: SimulatedEventLoop,
  client: Client,
  at: { readonly cluster: string; readonly name: string },
): Promise<AgentIdentity | undefined> {
  for (;;) {
    const found = await client.resource(syncTargets).find({ name: at.name });
    if (found === undefined || found.metadata.deletionTimestamp !== undefined) return undefined;
    const { uid = "" } = found.metadata;
    const target = {
      cluster: at.cluster as AgentIdentity["target"]["cluster"],
      name: at.name,
      uid,
    };
    const account = { namespace: accountNamespace, name: agentId(target) };
    if ((await client.resource(serviceAccounts).find(account)) !== undefined) {
      const token = await requestToken(client, account, { expirationSeconds: day });
      return { target, token };
    }
    await new Promise<void>((resolve) => {
      loop.schedule(enrolPollMs, resolve);
    });
  }
}

export class AgentProcess {
  readonly identity: AgentIdentity;
  readonly #clock: ProcessClock;
  readonly #links: readonly SimulatedLink[];

  constructor(options: AgentProcessOptions) {
    const { loop, random, identity, resources, upstream, downstream, links, onError } = options;
    this.identity = identity;
    this.#links = links;
    this.#clock = new ProcessClock(loop);
    const clock = this.#clock;
    const basePath = agentViewPath(identity.target);
    const agent = {
      upstream: new Client({ transport: upstream, basePath, clock, random }),
      downstream: new Client({ transport: downstream, clock, random }),
      target: identity.target,
      resources,
      clock,
      random,
      onError: (error: unknown, { controller }: { readonly controller: string }) =>
        onError(error, controller),
    };
    runAgent(agent, new AbortController().signal).catch((error: unknown) =>
      onError(error, "agent"),
    );
  }

  /** As by SIGKILL. */
  end(): void {
    this.#clock.end();
    for (const link of this.#links) link.end();
  }
}
