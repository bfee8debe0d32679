/**
 * All controllers of an API server, as one component: over a client with all permissions in every
 * logical cluster.
 *
 * The controllers may run in the server's process or in another one; running them in two processes
 * at once is safe and only repeats work.
 */
import { type Clock, type Supervisor, systemClock, TaskGroup } from "@kcp-ts/machinery/base";
import {
  type Client,
  type Controller,
  EventRecorder,
  logicalClusters,
  Manager,
  type ObjectKey,
  type OwnerReference,
} from "@kcp-ts/sdk";
import {
  apiResourceSchemas,
  customResourceDefinitions,
  resourceQuotas,
  type ServesKind,
  servedKinds,
  serviceAccounts,
} from "./api/index.ts";
import {
  certificateRequestsController,
  type SignCertificate,
} from "./certificate-requests/index.ts";
import type { ControlLoop } from "./control-loop.ts";
import { defaultObjectsController } from "./default-objects/index.ts";
import { eventExpiry } from "./event-expiry/index.ts";
import {
  allResources,
  customResourceSource,
  customResources,
  discoveredResources,
  GarbageCollector,
  type GraphNode,
} from "./garbage-collector/index.ts";
import { namespaceController } from "./namespace/index.ts";
import { resourceQuotaController } from "./resource-quota/index.ts";
import { type IssueToken, serviceAccountTokensController } from "./service-account-tokens/index.ts";

export interface ControlLoopsOptions {
  /** The server's client, not that of one cluster. */
  readonly client: Client;
  /**
   * The CA certificate by which clients verify the server; it is published into every namespace.
   */
  readonly caPem: string;
  /** Issues tokens for service account token Secrets; without it these Secrets stay empty. */
  readonly issueToken?: IssueToken | undefined;
  /** Signs requests for client certificates; without it requests are not signed. */
  readonly signCertificate?: SignCertificate | undefined;
  /** How long an Event lives after its last write. */
  readonly eventTtlMs?: number | undefined;
  readonly clock?: Clock;
  /** Restarts a controller that ends or fails. */
  readonly supervisor: Supervisor;
  /** Called with errors that are retried, for a log. */
  readonly onError: (error: unknown, context: ErrorContext) => void;
}

export interface ErrorContext {
  readonly controller: string;
  readonly key?: ObjectKey;
}

/** Runs until the signal aborts, and resolves when the work in flight is finished. */
export async function runControlLoops(
  given: ControlLoopsOptions,
  signal: AbortSignal,
): Promise<void> {
  const options = { ...given, client: given.client.withRequiredPreconditions() };
  const { client, supervisor } = options;
  let serves: ServesKind = () => false;
  await supervisor.runTask("control-loops", signal, async (stop) => {
    serves = await servedKinds(client, stop);
  });
  if (signal.aborted) return;
  const loops = Object.entries(controlLoops(options, serves));
  await Promise.all(
    loops.map(([name, make]) => supervisor.runLoop(name, signal, (stop) => make().run(stop))),
  );
}

type Report = (controller: string) => (error: unknown, key?: ObjectKey) => void;

/** The controllers by name; a controller runs once, and is created again to be restarted. */
function controlLoops(
  options: ControlLoopsOptions,
  serves: ServesKind,
): Readonly<Record<string, () => ControlLoop>> {
  const { client, caPem, clock = systemClock, onError } = options;
  const report: Report = (controller) => (error, key) =>
    onError(error, key === undefined ? { controller } : { controller, key });
  const { eventTtlMs: ttlMs = eventTtlMsDefault } = options;
  const hasEvents = serves({ group: "", resource: "events" });
  return {
    namespace: () => namespaceController({ client, clock, onError: report("namespace") }),
    "default-objects": () =>
      defaultObjectsController({
        client,
        caPem,
        serviceAccounts: serves(serviceAccounts),
        clock,
        onError: report("default-objects"),
      }),
    credentials: () => credentials(options, report),
    "garbage-collector": () => garbageCollector(options, serves, report("garbage-collector")),
    ...(hasEvents && {
      "event-expiry": () => eventExpiry({ client, ttlMs, clock, onError: report("event-expiry") }),
    }),
    ...(serves(resourceQuotas) && { "resource-quota": () => quotaLoop(options, report) }),
  };
}

function garbageCollector(
  { client, clock = systemClock }: ControlLoopsOptions,
  serves: ServesKind,
  onError: (error: unknown) => void,
): ControlLoop {
  const collected = { client, clock, onError };
  return {
    async run(signal) {
      const events = new EventRecorder({
        component: "garbage-collector-controller",
        client: (cluster) => client.inCluster(cluster),
        clock,
        onError,
      });
      const collector = new GarbageCollector({
        ...collected,
        resources: allResources([
          discoveredResources(collected),
          ...(serves(customResourceDefinitions) ? [customResources(collected)] : []),
          ...(serves(apiResourceSchemas) ? [customResourceSource(collected)] : []),
        ]),
        onInvalidNamespace: (node, reference) => recordInvalidNamespace(events, node, reference),
      });
      await collector.run(signal);
      await events.flush();
    },
  };
}

/** The controllers of quotas. */
function quotaLoop(
  { client, clock = systemClock }: ControlLoopsOptions,
  report: Report,
): ControlLoop {
  const onError = report("resource-quota");
  return {
    async run(signal) {
      const running = new TaskGroup(signal);
      const clusters = logicalClusters({ client, clock, onError: report("informer") });
      const { controller, close } = resourceQuotaController({
        client,
        clusters,
        clock,
        onError,
        onWatchError: onError,
        onWatchFailure: (error) => running.fail(error),
      });
      const manager = new Manager({ clusters: [clusters], controllers: [controller] });
      running.start((stop) => manager.run(stop));
      try {
        await running.join();
      } finally {
        await close();
      }
    },
  };
}

/** The controllers that issue tokens and certificates, as far as the keys for them are given. */
function credentials(options: ControlLoopsOptions, report: Report): ControlLoop {
  const { client, issueToken: issue, signCertificate: sign, caPem, clock = systemClock } = options;
  const clusters = logicalClusters({ client, clock, onError: report("informer") });
  const controllers: Controller[] = [];
  if (issue !== undefined) {
    const onError = report("service-account-tokens");
    controllers.push(serviceAccountTokensController({ clusters, caPem, issue, clock, onError }));
  }
  if (sign !== undefined) {
    const onError = report("certificate-requests");
    controllers.push(certificateRequestsController({ clusters, sign, clock, onError }));
  }
  return new Manager({ clusters: [clusters], controllers });
}

const eventTtlMsDefault = 3_600_000;

function recordInvalidNamespace(
  events: EventRecorder,
  node: GraphNode,
  { apiVersion, kind, name, uid }: OwnerReference,
): void {
  const { cluster, resource, namespace, resourceVersion } = node;
  events.record(
    cluster,
    {
      apiVersion:
        resource.group === "" ? resource.version : `${resource.group}/${resource.version}`,
      kind: resource.kind,
      metadata: {
        name: node.name,
        uid: node.uid,
        resourceVersion,
        ...(namespace === "" ? {} : { namespace }),
      },
    },
    {
      type: "Warning",
      reason: "OwnerRefInvalidNamespace",
      message: `ownerRef [${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}] does not exist in namespace "${namespace}"`,
    },
  );
}
