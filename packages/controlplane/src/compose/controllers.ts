/**
 * The server's own controllers, in its process: they use the API as any client does, and could run
 * in another process as well.
 *
 * Where several servers share a store, they elect a leader by a Lease: its controllers run, the
 * others' wait. A store for a single server needs no election.
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
import {
  Client,
  fencedTransport,
  formatKey,
  LeaderElector,
  processMetrics,
  type Transport,
} from "@kcp-ts/sdk";
import { serverTransport } from "@kcp-ts/sdk/client";
import type { InternalCredential } from "./internal-credential.ts";

export interface ControllersOptions {
  /**
   * The started server. Its supervisor restarts controllers, and its /readyz names those that are
   * down.
   */
  readonly server: Pick<ApiServer, "handle" | "supervisor">;
  readonly credential: Pick<InternalCredential, "authorization">;
  /** The CA certificate by which clients verify this server. */
  readonly caPem: string;
  readonly issueToken?: IssueToken | undefined;
  readonly signCertificate?: SignCertificate | undefined;
  readonly eventTtlMs?: number | undefined;
  /** Off: only the controllers of physical clusters run. */
  readonly controlLoops?: boolean | undefined;
  /** Options of physical clusters; omitted: no controller of this process connects to them. */
  readonly multicluster?: Omit<MulticlusterOptions, "client" | "onError"> | undefined;
  /** Whether other servers work on the same store. */
  readonly isShared?: boolean;
  /** Wraps the controllers' transport to their own server, as tests do that delay it. */
  readonly wrapTransport?: ((transport: Transport) => Transport) | undefined;
  readonly log: Pick<ServerLog, "debug" | "warn" | "error">;
  readonly clock: Clock;
}

export interface RunningControllers {
  /** Finishes the work in flight, then resolves. */
  stop(): Promise<void>;
}

/** The namespace of the Lease that the servers of one store share. */
export const controlLoopsLease = {
  cluster: "system:admin",
  namespace: "default",
  name: "kcp-control-loops",
} as const;

export function startControllers(options: ControllersOptions): RunningControllers {
  const { server, credential, wrapTransport = (transport) => transport } = options;
  const { authorization } = credential;
  const transport = wrapTransport(serverTransport({ server, authorization }));
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
    // Another server wrote first: the next attempt reads its write.
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

/** Competes for leadership again and again; writes after the loss of the Lease are not sent. */
async function workWhileLeading(
  transport: Transport,
  options: ControllersOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = options;
  const { cluster, ...lease } = controlLoopsLease;
  const elector = new LeaderElector({
    client: new Client({ transport, clock, userAgent: "kcp-controllers" }).inCluster(cluster),
    lease,
    clock,
    metrics: processMetrics,
    identity: `${hostname()}_${randomUUID()}`,
    onError: (error) => log.debug({ err: error }, "the lease of the control loops has to wait"),
  });
  await elector.run(signal, async (leadership) => {
    log.debug({ lease: lease.name }, "the control loops of this server work now");
    const ending = AbortSignal.any([signal, leadership.signal]);
    // Every controller listens to this signal, and Node would warn of a leak.
    setMaxListeners(0, ending);
    await runLoops(fencedTransport(transport, leadership), options, ending);
  });
}
