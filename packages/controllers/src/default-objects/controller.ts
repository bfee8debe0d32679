/**
 * The default objects of every namespace: the ConfigMap `kube-root-ca.crt` and, where the kind is
 * served, the ServiceAccount `default`. The controller creates them again when they are deleted or
 * changed.
 *
 * Three watches for all logical clusters together, each for one object name only, enqueue
 * namespaces; at the start, and when changes may have been missed, a resync enqueues all incomplete
 * namespaces. The controller keeps no state per namespace.
 */
import { type Clock, runTogether, systemClock } from "@kcp-ts/machinery/base";
import {
  type Client,
  Controller,
  type ControllerOptions,
  type KubernetesObject,
  logicalClusters,
  type ObjectKey,
  type Resource,
  StorelessInformer,
  type StorelessInformerHandler,
} from "@kcp-ts/sdk";
import {
  type ConfigMap,
  configMaps,
  type Namespace,
  namespaces,
  serviceAccounts,
} from "../api/index.ts";
import type { ControlLoop } from "../control-loop.ts";
import { ensureRootCa, ensureServiceAccount, serviceAccountName } from "./ensure.ts";
import { type Member, RecentWrites } from "./recent-writes.ts";
import { reconcileAll } from "./reconcile-all.ts";
import { Resync } from "./resync.ts";
import { isRootCa, rootCaName } from "./root-ca.ts";

export interface DefaultObjectsOptions extends Pick<ControllerOptions, "metrics"> {
  /** The server's client, not that of one cluster. */
  readonly client: Client;
  readonly caPem: string;
  /** Whether the server serves the kind. */
  readonly serviceAccounts: boolean;
  readonly clock?: Clock;
  readonly onError: NonNullable<ControllerOptions["onError"]> & ((error: unknown) => void);
}

const accounts = ["serviceAccount"] as const;
/** Concurrently reconciled namespaces. */
const concurrency = 4;

export function defaultObjectsController(options: DefaultObjectsOptions): ControlLoop {
  const { client, caPem, clock = systemClock, onError } = options;
  const members: readonly Member[] = ["rootCa", ...(options.serviceAccounts ? accounts : [])];
  const lately = new RecentWrites(clock, members);
  const controller = controllerOf(options, lately);
  const enqueue = (key: ObjectKey) => controller.enqueue(key);
  const lost = (member: ObjectKey) => {
    const namespace = namespaceOf(member);
    lately.lacksMember(namespace);
    if (!lately.isGone(namespace)) enqueue(namespace);
  };
  const auditor = new Resync({
    clock,
    onError,
    audit: (signal) => reconcileAll({ ...options, clock, signal, onMissing: enqueue }),
  });
  const follow = <Object extends KubernetesObject>(
    resource: Resource<Object>,
    fieldSelector: string | undefined,
    handler: StorelessInformerHandler<Object>,
  ) =>
    new StorelessInformer<Object>({
      client,
      resource,
      scope: "all-clusters",
      state: "skip",
      selector: { fieldSelector },
      clock,
      onError,
      handler: { ...handler, restarted: () => lately.clear(), synced: () => auditor.request() },
    });
  const followers: readonly ControlLoop[] = [
    // Later changes of a namespace do not affect its default objects.
    follow<Namespace>(namespaces, undefined, {
      observed: (_, { key, origin }) => {
        if (origin !== "added") return;
        lately.added(key);
        if (!lately.isWhole(key)) enqueue(key);
      },
      deleted: (_, key) => lately.deleted(key),
    }),
    follow<ConfigMap>(configMaps, `metadata.name=${rootCaName}`, {
      observed: (one, { key }) => {
        if (isRootCa(one, caPem)) lately.hasMember(namespaceOf(key), "rootCa");
        else lost(key);
      },
      deleted: (_, key) => lost(key),
    }),
    ...(options.serviceAccounts
      ? [
          follow(serviceAccounts, `metadata.name=${serviceAccountName}`, {
            observed: (_, { key }) => lately.hasMember(namespaceOf(key), "serviceAccount"),
            deleted: (_, key) => lost(key),
          }),
        ]
      : []),
  ];
  const worker = { run: (signal: AbortSignal) => controller.run({ signal }) };
  const loops = [...followers, auditor, worker].map((one) => (stop: AbortSignal) => one.run(stop));
  return { run: (signal) => runTogether(signal, loops).finally(() => lately.end()) };
}

function controllerOf(options: DefaultObjectsOptions, lately: RecentWrites): Controller {
  const { client, clock = systemClock, onError, metrics } = options;
  return new Controller({
    name: "default-objects",
    clusters: logicalClusters({ client, clock }),
    concurrency,
    clock,
    ...(metrics === undefined ? {} : { metrics }),
    onError,
    reconcile: async (key, context) => {
      if (!lately.isWhole(key)) await reconcile(key.name, { ...options, ...context });
    },
  });
}

function namespaceOf({ cluster, namespace }: ObjectKey): ObjectKey {
  return { cluster, namespace: "", name: namespace };
}

interface ReconcileOptions extends Pick<DefaultObjectsOptions, "caPem" | "serviceAccounts"> {
  /** The client of the namespace's cluster. */
  readonly client: Client;
  readonly signal: AbortSignal;
}

async function reconcile(name: string, options: ReconcileOptions): Promise<void> {
  const { client, caPem, signal } = options;
  const namespace = await client.resource(namespaces).find({ name }, { signal });
  if (namespace === undefined || namespace.metadata.deletionTimestamp !== undefined) return;
  await Promise.all([
    ensureRootCa(client, name, caPem, signal),
    options.serviceAccounts ? ensureServiceAccount(client, name, signal) : undefined,
  ]);
}
