/**
 * All control loops of an API server, as one thing that runs: over any client that may do everything in every logical cluster.
 *
 * It knows nothing of where the server is; and running it twice, in two processes, does no harm but work.
 */
import { type Clock, sleep, systemClock } from "@kcp-ts/machinery/base";
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
  customResources,
  discoveredResources,
  GarbageCollector,
  type GraphNode,
  offeredResources,
} from "./garbage-collector/index.ts";
import { namespaceController } from "./namespace/index.ts";
import { resourceQuotaController } from "./resource-quota/index.ts";
import { type IssueToken, serviceAccountTokensController } from "./service-account-tokens/index.ts";

export interface ControlLoopsOptions {
  /** Of the server, not of one cluster of it. */
  readonly client: Client;
  /** What clients verify the server by; goes into every namespace. */
  readonly caPem: string;
  /** Fills the secrets in which people want tokens of service accounts; without it nobody does. */
  readonly issueToken?: IssueToken | undefined;
  /** Signs requests for client certificates; without it nobody does. */
  readonly signCertificate?: SignCertificate | undefined;
  /** How long an Event lives after it was last written. */
  readonly eventTtlMs?: number;
  readonly clock?: Clock;
  /** What went wrong and is tried again, for a log. */
  readonly onError: (error: unknown, context: ErrorContext) => void;
}

export interface ErrorContext {
  readonly controller: string;
  readonly key?: ObjectKey;
}

/** Works until the signal aborts, and resolves when what was under way is finished. */
export async function runControlLoops(
  given: ControlLoopsOptions,
  signal: AbortSignal,
): Promise<void> {
  const options = { ...given, client: given.client.withPreconditions("required") };
  const { client, caPem, clock = systemClock, onError } = options;
  const report = (controller: string) => (error: unknown, key?: ObjectKey) =>
    onError(error, key === undefined ? { controller } : { controller, key });
  const serves = await untilKnown(options, signal);
  if (serves === undefined) return;
  const loops: ControlLoop[] = [
    namespaceController({ client, clock, onError: report("namespace") }),
    defaultObjectsController({
      client,
      caPem,
      serviceAccounts: serves(serviceAccounts),
      clock,
      onError: report("default-objects"),
    }),
    credentials(options, report),
  ];
  const events = new EventRecorder({
    component: "garbage-collector-controller",
    client: (cluster) => client.inCluster(cluster),
    clock,
    onError: report("garbage-collector"),
  });
  const collected = { client, clock, onError: report("garbage-collector") };
  loops.push(
    new GarbageCollector({
      client,
      clock,
      resources: allResources([
        discoveredResources(collected),
        ...(serves(customResourceDefinitions) ? [customResources(collected)] : []),
        ...(serves(apiResourceSchemas) ? [offeredResources(collected)] : []),
      ]),
      onError: report("garbage-collector"),
      onInvalidNamespace: (node, reference) => recordInvalidNamespace(events, node, reference),
    }),
  );
  if (serves({ group: "", resource: "events" })) {
    const { eventTtlMs: ttlMs = eventTtlMsDefault } = options;
    loops.push(eventExpiry({ client, ttlMs, clock, onError: report("event-expiry") }));
  }
  if (serves(resourceQuotas)) loops.push(quotaLoop(options, report));
  await Promise.all(loops.map((loop) => loop.run(signal)));
  await events.flush();
}

/** What counts for quotas. */
function quotaLoop(
  { client, clock = systemClock }: ControlLoopsOptions,
  report: (controller: string) => (error: unknown, key?: ObjectKey) => void,
): ControlLoop {
  const clusters = logicalClusters({ client, clock, onError: report("informer") });
  const onError = report("resource-quota");
  const options = { client, clusters, clock, onError, onWatchError: onError };
  const { controller, close } = resourceQuotaController(options);
  return {
    async run(signal) {
      await new Manager({ clusters: [clusters], controllers: [controller] }).run(signal);
      await close();
    },
  };
}

/** What makes tokens and certificates, as far as there are keys to make them with. */
function credentials(
  options: ControlLoopsOptions,
  report: (controller: string) => (error: unknown, key?: ObjectKey) => void,
): ControlLoop {
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

const retryMs = 1000;
const eventTtlMsDefault = 3_600_000;

/** A server that cannot be asked yet is asked again; undefined when the signal aborts first. */
async function untilKnown(
  { client, clock = systemClock, onError }: ControlLoopsOptions,
  signal: AbortSignal,
): Promise<ServesKind | undefined> {
  while (!signal.aborted) {
    try {
      return await servedKinds(client, signal);
    } catch (error) {
      if (signal.aborted) break;
      onError(error, { controller: "control-loops" });
    }
    await sleep(clock, retryMs, signal).catch(() => {
      // Only the signal ends it early, which the loop sees.
    });
  }
  return undefined;
}

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
