/**
 * The control loops of the server itself, in its own process: they speak to it as clients do, and could as well be elsewhere.
 *
 * Where several servers share a store, they elect one of them by a Lease: its loops work, the others' wait. Where nobody else can be, nobody is asked.
 */
import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import { hostname } from "node:os";
import type { ApiServer, ServerLog } from "@kcp-ts/apiserver";
import {
  type ErrorContext,
  type IssueToken,
  runControlLoops,
  type SignCertificate,
} from "@kcp-ts/controllers";
import type { Clock } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type MulticlusterOptions, runMulticluster } from "@kcp-ts/multicluster";
import { Client, fencedTransport, formatKey, LeaderElector, type Transport } from "@kcp-ts/sdk";
import { serverTransport } from "@kcp-ts/sdk/client";
import type { InternalCredential } from "./internal-credential.ts";

export interface ControllersOptions {
  /** Started. Its supervisor starts loops again, and its /readyz names those that are down. */
  readonly server: Pick<ApiServer, "handle" | "supervisor">;
  readonly credential: Pick<InternalCredential, "authorization">;
  /** What clients verify this server by. */
  readonly caPem: string;
  readonly issueToken?: IssueToken | undefined;
  readonly signCertificate?: SignCertificate | undefined;
  readonly eventTtlMs?: number | undefined;
  /** Off: only what is said of physical clusters runs. */
  readonly controlLoops?: boolean | undefined;
  /** Physical clusters: left out, nobody connects to them from here. */
  readonly multicluster?: Omit<MulticlusterOptions, "client" | "onError"> | undefined;
  /** Whether other servers work on the same store. */
  readonly isShared?: boolean;
  readonly log: Pick<ServerLog, "debug" | "warn" | "error">;
  readonly clock: Clock;
}

export interface RunningControllers {
  /** Finishes what is under way, then resolves. */
  stop(): Promise<void>;
}

/** Where the servers of one store meet. */
export const controlLoopsLease = {
  cluster: "system:admin",
  namespace: "default",
  name: "kcp-control-loops",
} as const;

export function startControllers(options: ControllersOptions): RunningControllers {
  const { server, credential } = options;
  const transport = serverTransport({ server, authorization: credential.authorization });
  const stopping = new AbortController();
  const { signal } = stopping;
  const running =
    options.isShared === true
      ? server.supervisor.runLoop("leader-election", signal, (stop) =>
          workWhileLeading(transport, options, stop),
        )
      : runLoops(transport, options, signal);
  return {
    async stop() {
      stopping.abort();
      await running;
      await transport.close();
    },
  };
}

async function runLoops(
  transport: Transport,
  options: ControllersOptions,
  signal: AbortSignal,
): Promise<void> {
  const { caPem, issueToken, signCertificate, eventTtlMs, clock, log, multicluster } = options;
  const client = new Client({ transport, clock, userAgent: "kcp-controllers" });
  const onError = (error: unknown, { controller, key }: ErrorContext) => {
    const fields = { err: error, controller, ...(key && { key: formatKey(key) }) };
    // Somebody else wrote first: the next try sees what they wrote.
    if (isStatusError(error, "Conflict")) log.debug(fields, "a controller was overtaken");
    else log.warn(fields, "a controller tries again");
  };
  const { supervisor } = options.server;
  const shared = { client, clock, onError };
  const own = { ...shared, supervisor, caPem, issueToken, signCertificate, eventTtlMs };
  await Promise.all([
    options.controlLoops !== false && runControlLoops(own, signal),
    multicluster !== undefined &&
      supervisor.runLoop("multicluster", signal, (stop) =>
        runMulticluster({ ...multicluster, ...shared }, stop),
      ),
  ]);
}

/** Leads again and again; what is written after the lease was lost is not sent. */
async function workWhileLeading(
  transport: Transport,
  options: ControllersOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = options;
  const { cluster, ...lease } = controlLoopsLease;
  const elector = new LeaderElector({
    client: new Client({ transport, clock, userAgent: "kcp-controllers" }).inCluster(cluster),
    ...{ lease, clock },
    identity: `${hostname()}_${randomUUID()}`,
    onError: (error) => log.debug({ err: error }, "the lease of the control loops has to wait"),
  });
  await elector.run(signal, async (leadership) => {
    log.debug({ lease: lease.name }, "the control loops of this server work now");
    const ending = AbortSignal.any([signal, leadership.signal]);
    // Every loop listens to it, and Node would warn of a leak.
    setMaxListeners(0, ending);
    await runLoops(fencedTransport(transport, leadership), options, ending);
  });
}
