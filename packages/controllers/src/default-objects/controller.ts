/**
 * What every namespace has without anybody making it: the ConfigMap `kube-root-ca.crt` and, where the kind is served, the
 * ServiceAccount `default`. Taken away or changed, they come back.
 *
 * Three watches for all logical clusters together, each of one name only; of an object no more is remembered than whether it is right.
 */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  type Clusters,
  Controller,
  type ControllerOptions,
  type KubernetesObject,
  type Mapping,
  type ObjectKey,
  type ObjectSource,
  type Resource,
} from "@kcp-ts/sdk";
import {
  type ConfigMap,
  configMaps,
  type Namespace,
  type NamespacePhase,
  namespaces,
  phaseOf,
  serviceAccounts,
} from "../api/index.ts";
import { isRootCa, rootCaConfigMap, rootCaName, withRootCa } from "./root-ca.ts";

export interface DefaultObjectsOptions extends Pick<ControllerOptions, "metrics" | "onError"> {
  readonly clusters: Clusters;
  readonly caPem: string;
  /** Whether the server has the kind. */
  readonly serviceAccounts: boolean;
  readonly clock?: Clock;
}

/** Namespaces at a time. */
const concurrency = 4;
const serviceAccountName = "default";

type Rightness = "right" | "wrong";

export function defaultObjectsController(options: DefaultObjectsOptions): Controller {
  const { clusters, caPem, clock = systemClock } = options;
  const phases = clusters.source<Namespace, NamespacePhase>(namespaces, { transform: phaseOf });
  const rootCaRightness = (one: ConfigMap): Rightness => (isRootCa(one, caPem) ? "right" : "wrong");
  const rootCas = named<ConfigMap>(clusters, configMaps, rootCaName, rootCaRightness);
  const accounts = options.serviceAccounts
    ? named(clusters, serviceAccounts, serviceAccountName, alwaysRight)
    : undefined;
  const controller = new Controller({
    name: "default-objects",
    clusters,
    concurrency,
    clock,
    ...(options.metrics === undefined ? {} : { metrics: options.metrics }),
    ...(options.onError === undefined ? {} : { onError: options.onError }),
    async reconcile({ cluster, name: namespace }, { client, signal }) {
      if (phases.store.get({ cluster, namespace: "", name: namespace }) !== "Active") return;
      const at = (name: string): ObjectKey => ({ cluster, namespace, name });
      const tasks: Promise<void>[] = [];
      const rootCa = rootCas.source.store.get(at(rootCaName));
      if (rootCa !== "right") tasks.push(ensureRootCa(client, namespace, caPem, { rootCa, signal }));
      if (
        accounts !== undefined &&
        accounts.source.store.get(at(serviceAccountName)) === undefined
      ) {
        tasks.push(ensureServiceAccount(client, namespace, signal));
      }
      await Promise.all(tasks);
    },
  });
  controller.watch<Namespace, NamespacePhase>(namespaces, {
    transform: phaseOf,
    predicate: ({ type, object }) => type !== "deleted" && object === "Active",
  });
  for (const one of [rootCas, accounts]) one?.wake((key) => controller.enqueue(key));
  return controller;
}

interface Named {
  readonly source: ObjectSource<Rightness>;
  wake(enqueue: (namespace: ObjectKey) => void): void;
}

/** The objects of one name in all namespaces, and the namespaces where one of them is not as it should be. */
function named<Object extends KubernetesObject>(
  clusters: Clusters,
  resource: Resource<Object>,
  name: string,
  transform: (object: Object) => Rightness,
): Named {
  const selector = { fieldSelector: `metadata.name=${name}` };
  const source = clusters.source<Object, Rightness>(resource, { selector, transform });
  return {
    source,
    wake(enqueue) {
      const look = (object: Rightness | undefined, key: ObjectKey) => {
        if (object !== "right") for (const one of namespaceOf(object, key)) enqueue(one);
      };
      source.addHandler({
        added: (object, { key }) => look(object, key),
        updated: (object, { key }) => look(object, key),
        deleted: (_, { key }) => look(undefined, key),
      });
    },
  };
}

const alwaysRight = (): Rightness => "right";

const namespaceOf: Mapping<unknown> = (_object, { cluster, namespace }) => [
  { cluster, namespace: "", name: namespace },
];

async function ensureRootCa(
  client: Client,
  namespace: string,
  caPem: string,
  { rootCa, signal }: { readonly rootCa: Rightness | undefined; readonly signal: AbortSignal },
): Promise<void> {
  const resource = client.resource(configMaps);
  const create = () => resource.create(rootCaConfigMap(namespace, caPem), { signal });
  // Most of the time it is simply not there yet. One that we have not heard of is heard of soon, and then looked at.
  if (rootCa === undefined) return createUnlessLate(create);
  const current = await resource.find({ namespace, name: rootCaName }, { signal });
  if (current === undefined) await createUnlessLate(create);
  else if (!isRootCa(current, caPem)) {
    if (current.immutable === true) {
      // Its content can never be mended: it makes room for one that is right, which its deletion brings about.
      const { uid } = current.metadata;
      const preconditions = uid === undefined ? {} : { preconditions: { uid } };
      await resource.delete({ namespace, name: rootCaName }, { ...preconditions, signal });
    } else {
      await resource.update(withRootCa(current, caPem), { signal });
    }
  }
}

async function ensureServiceAccount(
  client: Client,
  namespace: string,
  signal: AbortSignal,
): Promise<void> {
  const resource = client.resource(serviceAccounts);
  await createUnlessLate(() =>
    resource.create({ metadata: { name: serviceAccountName, namespace } }, { signal }),
  );
}

/** Somebody was faster, or the namespace is gone or going: in each case there is nothing left to do. */
async function createUnlessLate(create: () => Promise<unknown>): Promise<void> {
  try {
    await create();
  } catch (error) {
    if (isStatusError(error, "AlreadyExists") || isStatusError(error, "NotFound")) return;
    const causes = isStatusError(error, "Forbidden") ? error.status.details?.causes : undefined;
    if (causes?.some(({ reason }) => reason === "NamespaceTerminating")) return;
    throw error;
  }
}
