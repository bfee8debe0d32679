/**
 * `run`: a whole program of controllers. It connects, watches, logs, stops on SIGINT and SIGTERM
 * after the reconciles in flight, and, if asked to, elects a leader and serves metrics and health.
 */
import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import { hostname } from "node:os";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import {
  Client,
  consoleLog,
  explainError,
  FailureLog,
  type Log,
  type ObjectName,
} from "../client/index.ts";
import {
  type Clusters,
  type Controller,
  type ControllerDefinition,
  Manager,
  serveOperations,
  singleCluster,
} from "../controller/index.ts";
import { connectDefault } from "../kubeconfig/index.ts";
import { LeaderElector, type LeaderElectorOptions } from "../leader-election/index.ts";
import { MetricsRegistry } from "../metrics/index.ts";

export interface RunProgramOptions {
  readonly controllers: readonly (ControllerDefinition | Controller)[];
  /**
   * Where they work; a client stands for the one cluster that it is a client of. The cluster of the
   * kubeconfig, or of the Pod, if omitted.
   */
  readonly clusters?: Clusters | Client;
  /** Stops the program; SIGINT and SIGTERM do, if omitted. */
  readonly signal?: AbortSignal;
  /** Lines on stderr if omitted. */
  readonly log?: Log;
  /** Of several processes with the same lease one works, and the others wait with full caches. */
  readonly leaderElection?: LeaderElectionSettings;
  /** Serves `/metrics`, `/healthz`, `/livez` and `/readyz`; 0 selects a free port. */
  readonly port?: number;
  /** The address of the port; all addresses if omitted, as a kubelet needs it. */
  readonly host?: string;
  readonly metrics?: MetricsRegistry;
}

export interface LeaderElectionSettings
  extends Pick<LeaderElectorOptions, "leaseDurationMs" | "renewDeadlineMs" | "retryPeriodMs"> {
  readonly lease: ObjectName;
  /** The host's name and a random suffix if omitted. */
  readonly identity?: string;
  /** The cluster that has the lease; needed where `clusters` is not a client. */
  readonly client?: Client;
}

/** Resolves when the program was stopped. Rejects when it cannot work, with a reason. */
export async function run(options: RunProgramOptions): Promise<void> {
  const { log = consoleLog, metrics = new MetricsRegistry() } = options;
  const connection = options.clusters === undefined ? await connectDefault() : undefined;
  const stop = stopSignal(options.signal, log);
  const ended = new AbortController();
  let server: Server | undefined;
  try {
    const { clusters, client } = placeOf(options.clusters ?? connection?.client, log, metrics);
    const controllers = options.controllers.map((one) =>
      "bind" in one ? one.bind(clusters, { log, metrics }) : one,
    );
    const manager = new Manager({
      clusters: [clusters],
      controllers,
      onUnhealthy: (check, reason) => log.warn(`health: ${check}: ${explainError(reason)}`),
      ...electorOf(options.leaderElection, client, log, metrics),
    });
    const startedAtMs = systemClock.monotonic();
    if (options.port !== undefined)
      server = await serve(options.port, options.host, manager, metrics);
    const names = controllers.map(({ name }) => name).join(", ");
    log.info(`${names} started${portText(server)}`);
    const running = manager.run(stop.signal);
    void reportSync(clusters, ended.signal, () =>
      log.info(`caches are complete after ${Math.round(systemClock.monotonic() - startedAtMs)} ms`),
    );
    await running;
    log.info(`${names} stopped`);
  } finally {
    ended.abort();
    stop.release();
    server?.closeAllConnections();
    server?.close();
    await connection?.close();
  }
}

function placeOf(
  given: Clusters | Client | undefined,
  log: Log,
  metrics: MetricsRegistry,
): { readonly clusters: Clusters; readonly client: Client | undefined } {
  if (given instanceof Client)
    return { clusters: singleCluster({ client: given, log, metrics }), client: given };
  if (given === undefined) throw new Error("run needs clusters or a kubeconfig");
  given.useLog?.(log);
  return { clusters: given, client: undefined };
}

function electorOf(
  settings: LeaderElectionSettings | undefined,
  clusterClient: Client | undefined,
  log: Log,
  metrics: MetricsRegistry,
): { readonly elector?: LeaderElector } {
  if (settings === undefined) return {};
  const { identity = `${hostname()}-${randomBytes(4).toString("hex")}`, ...rest } = settings;
  const client = settings.client ?? clusterClient;
  if (client === undefined) {
    throw new Error("leaderElection.client is needed: the client of the cluster with the lease");
  }
  const failures = new FailureLog(log);
  const onError = (error: unknown) => failures.failed(`leader election: ${explainError(error)}`);
  return { elector: new LeaderElector({ ...rest, client, identity, metrics, onError }) };
}

interface StopSignal {
  readonly signal: AbortSignal;
  release(): void;
}

/** A second signal ends the process at once, as it does without a handler. */
function stopSignal(given: AbortSignal | undefined, log: Log): StopSignal {
  if (given !== undefined) return { signal: given, release() {} };
  const stop = new AbortController();
  const names = ["SIGINT", "SIGTERM"] as const;
  const release = () => {
    for (const name of names) process.removeListener(name, onSignal);
  };
  const onSignal = (name: NodeJS.Signals) => {
    release();
    log.info(`${name}: reconciles in flight may finish; once more ends the program at once`);
    stop.abort();
  };
  for (const name of names) process.on(name, onSignal);
  return { signal: stop.signal, release };
}

/** The message says it all: a stack of the SDK would hide it. */
class PortError extends Error {
  static override readonly name: string = "PortError";
  override readonly name = "PortError";

  constructor(port: number, why: string) {
    super(`${why}. Next: give run another port than ${port}, or 0 for a free one`);
    this.stack = `${this.name}: ${this.message}`;
  }
}

const syncPollMs = 50;

async function reportSync(
  clusters: Clusters,
  signal: AbortSignal,
  onSynced: () => void,
): Promise<void> {
  // Of clusters that come and go there is no moment at which all caches are complete.
  if (clusters.hasSynced) return;
  while (!signal.aborted) {
    await sleep(systemClock, syncPollMs);
    if (clusters.hasSynced) return onSynced();
  }
}

async function serve(
  port: number,
  host: string | undefined,
  { health, readiness }: Manager,
  metrics: MetricsRegistry,
): Promise<Server> {
  const server = createServer((request, response) => {
    void serveOperations({ metrics, health, readiness }, request.url ?? "/").then(
      ({ status, contentType, body }) =>
        response.writeHead(status, { "content-type": contentType }).end(body),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", ({ message }) => reject(new PortError(port, message)));
    server.listen(port, host, resolve);
  });
  return server;
}

function portText(server: Server | undefined): string {
  const address = server?.address();
  return typeof address === "object" && address !== null ? `, metrics on port ${address.port}` : "";
}
