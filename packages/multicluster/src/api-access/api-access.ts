/**
 * The controller of access to logical clusters: for each workload that asks for it, and each physical cluster that it is in, a Secret with a token of the
 * workload's ServiceAccount. It is assigned to that cluster alone, and whoever syncs there takes it along like any other Secret.
 *
 * The token is bound to the Secret, and the Secret belongs to the workload: with either of the three, or the ServiceAccount, the token is over. It is renewed when
 * half of its life is.
 *
 * Nothing is decided from a cache: it only says what to look at.
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
import { AccessReconciler } from "./access-round.ts";
import { accountAnnotation, ownerOf, resourceOfOwner } from "./access-secret.ts";

export interface ApiAccessOptions {
  /** Of the server, not of one cluster of it. Must be allowed everything. */
  readonly client: Client;
  /** Where Pods reach the control plane; undefined while that is not known. */
  readonly server: () => AgentServer | undefined;
  readonly tokenSeconds?: number | undefined;
  readonly clock?: Clock;
  /** Workloads at a time. */
  readonly concurrency?: number;
  /** What went wrong and is tried again. */
  readonly onError: (error: unknown, key?: ObjectKey) => void;
}

export interface ApiAccess {
  /** Works until the signal aborts, and resolves when what was under way is finished. Call it once. */
  run(signal: AbortSignal): Promise<void>;
}

/** A day: a cluster that is cut off for half of one finds its tokens still good. They can be taken back at any moment. */
export const apiAccessTokenSecondsDefault = 86_400;
const concurrencyDefault = 4;
const selector = { labelSelector: `${apiAccessLabel}=true` };

/** What of a workload decides about its access. */
interface WorkloadAccess {
  readonly isPlaced: boolean;
  readonly digest: string;
}

interface AccessSecret {
  /** `<kind>/<name>` of the workload. */
  readonly workload: string | undefined;
  /** `<namespace>/<name>`. */
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
      new AccessReconciler({ ...options, ...context, clock, events, tokenSeconds, key }).run(),
  });
  for (const resource of apiAccessResources) {
    controller.watch<KubernetesObject, WorkloadAccess>(resource, {
      selector,
      transform: seenWorkload,
      predicate: (change) =>
        change.type === "updated"
          ? change.object.digest !== change.previous.digest
          : change.object.isPlaced,
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

/** Accounts that come, go, or come again under the same name. There is one in every namespace: none of them is kept. */
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
      told: (_account, { key }) => changed(key),
      deleted: (_account, key) => changed(key),
      caughtUp: () => {
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
    isPlaced: targets.length > 0,
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
