/**
 * The API access controller: for each workload that requests access to its logical cluster, and
 * each physical cluster that it is in, the controller creates a Secret with a token of the
 * workload's ServiceAccount. The Secret is assigned to that cluster alone, and the syncer syncs it
 * like any other Secret.
 *
 * The token is bound to the Secret, and the Secret is owned by the workload: the token is invalid
 * when the Secret, the workload or the ServiceAccount is deleted. It is renewed after half of its
 * lifetime.
 *
 * No decision is made from a cache: caches only enqueue workloads.
 */
import { type Clock, runTogether, systemClock } from "@kcp-ts/machinery/base";
import {
  type Client,
  Controller,
  EventRecorder,
  type KubernetesObject,
  Manager,
  type ObjectKey,
  type ObjectSource,
  StorelessInformer,
} from "@kcp-ts/sdk";
import { type AgentServer, secrets, serviceAccounts } from "../agent/index.ts";
import { apiAccessLabel, apiAccessResources } from "../api/index.ts";
import { metadataClusters, targetsOf } from "../coordination/index.ts";
import { AccessReconciler } from "./access-reconciler.ts";
import { accountAnnotation, ownerOf, resourceOfOwner } from "./access-secret.ts";

export interface ApiAccessOptions {
  /** A client of the server, for all logical clusters, which may do everything. */
  readonly client: Client;
  /** The address at which Pods reach the control plane; undefined while it is unknown. */
  readonly server: () => AgentServer | undefined;
  readonly tokenSeconds?: number | undefined;
  readonly clock?: Clock;
  /** The number of workloads that are reconciled concurrently. */
  readonly concurrency?: number;
  /** Reports an error that is retried. */
  readonly onError: (error: unknown, key?: ObjectKey) => void;
}

export interface ApiAccess {
  /**
   * Runs until the signal aborts, and resolves when all operations in flight have finished. Called
   * once.
   */
  run(signal: AbortSignal): Promise<void>;
}

/**
 * One day: a cluster that is disconnected for half a day has valid tokens afterwards. Tokens can be
 * revoked at any time.
 */
export const apiAccessTokenSecondsDefault = 86_400;
const concurrencyDefault = 4;
const selector = { labelSelector: `${apiAccessLabel}=true` };

/** The properties of a workload that decide about its access. */
interface WorkloadAccess {
  readonly isAssigned: boolean;
  readonly digest: string;
}

interface AccessSecret {
  /** `<kind>/<name>` of the workload. */
  readonly workload: string | undefined;
  /** `<namespace>/<name>` of the ServiceAccount. */
  readonly account: string;
}

export function apiAccess(options: ApiAccessOptions): ApiAccess {
  const { client, clock = systemClock, onError, concurrency = concurrencyDefault } = options;
  const clusters = metadataClusters({ client, clock, onError });
  const events = new EventRecorder({
    component: "api-access",
    client: (cluster) => client.inCluster(cluster),
    clock,
    onError,
  });
  const tokenSeconds = options.tokenSeconds ?? apiAccessTokenSecondsDefault;
  const controller = new Controller({
    name: "api-access",
    clusters,
    concurrency,
    clock,
    onError,
    reconcile: (key, context) =>
      new AccessReconciler({
        ...options,
        ...context,
        clock,
        events,
        tokenSeconds,
        key,
      }).reconcile(),
  });
  for (const resource of apiAccessResources) {
    controller.watch<KubernetesObject, WorkloadAccess>(resource, {
      selector,
      transform: seenWorkload,
      predicate: (change) =>
        change.type === "updated"
          ? change.object.digest !== change.previous.digest
          : change.object.isAssigned,
      map: (_seen, { name, ...place }) => [{ ...place, name: `${resource.kind}/${name}` }],
    });
  }
  const made = { selector, transform: seenSecret, indexers: byAccount };
  const source = clusters.source<KubernetesObject, AccessSecret>(secrets, made);
  controller.watch<KubernetesObject, AccessSecret>(secrets, { ...made, map: workloadOf });
  const follower = accountFollower(options, source, (key) => controller.enqueue(key));
  return {
    async run(signal) {
      const manager = new Manager({ clusters: [clusters], controllers: [controller] });
      await runTogether(signal, [(stop) => manager.run(stop), (stop) => follower.run(stop)]);
      await events.flush();
    },
  };
}

/**
 * Watches accounts that are created, deleted, or created again under the same name. There is one in
 * every namespace: none of them is cached.
 */
function accountFollower(
  { client, clock, onError }: ApiAccessOptions,
  { store }: ObjectSource<AccessSecret>,
  enqueue: (key: ObjectKey) => void,
): StorelessInformer<KubernetesObject> {
  const changed = ({ cluster, namespace, name }: ObjectKey) => {
    for (const key of store.keysByIndex("account", { cluster, value: `${namespace}/${name}` })) {
      const seen = store.get(key);
      if (seen !== undefined) for (const one of workloadOf(seen, key)) enqueue(one);
    }
  };
  return new StorelessInformer({
    client,
    resource: serviceAccounts,
    scope: "all-clusters",
    state: "skip",
    handler: {
      observed: (_account, { key }) => changed(key),
      deleted: (_account, key) => changed(key),
      synced: () => {
        for (const [key, seen] of store.entries())
          for (const one of workloadOf(seen, key)) enqueue(one);
      },
    },
    clock,
    onError,
  });
}

function seenWorkload(object: KubernetesObject): WorkloadAccess {
  const { uid, generation, deletionTimestamp = "" } = object.metadata;
  const targets = [...targetsOf(object)].sort();
  return {
    isAssigned: targets.length > 0,
    digest: [uid, generation, deletionTimestamp, ...targets].join(),
  };
}

function seenSecret(secret: KubernetesObject): AccessSecret {
  const owner = ownerOf(secret);
  const isOfPods = owner !== undefined && resourceOfOwner(owner) !== undefined;
  const { namespace = "", annotations } = secret.metadata;
  return {
    workload: isOfPods ? `${owner.kind}/${owner.name}` : undefined,
    account: `${namespace}/${annotations?.[accountAnnotation] ?? ""}`,
  };
}

const byAccount = { account: { values: ({ account }: AccessSecret) => [account] } };

function workloadOf({ workload }: AccessSecret, key: ObjectKey): readonly ObjectKey[] {
  return workload === undefined ? [] : [{ ...key, name: workload }];
}
