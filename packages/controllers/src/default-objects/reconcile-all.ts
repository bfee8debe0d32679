/**
 * Finds all incomplete namespaces of all logical clusters, cluster by cluster.
 *
 * Namespaces, ConfigMaps and ServiceAccounts are listed concurrently, in pages. All three lists are
 * in the order of clusters, so that memory holds only one cluster's items of each list. The lists
 * are of slightly different revisions: an object that seems to be missing is a reason to reconcile,
 * not a fact.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type Client,
  clusterOf,
  type KubernetesObject,
  type ObjectKey,
  type ObjectList,
  type Resource,
} from "@kcp-ts/sdk";
import {
  type ConfigMap,
  configMaps,
  type Namespace,
  namespaces,
  serviceAccounts,
} from "../api/index.ts";
import { YieldTimer } from "../pace/index.ts";
import { serviceAccountName } from "./ensure.ts";
import { isRootCa, rootCaName } from "./root-ca.ts";

export interface ReconcileAllOptions {
  /** The server's client, not that of one cluster. */
  readonly client: Client;
  readonly caPem: string;
  readonly serviceAccounts: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called with each namespace that must be reconciled. */
  readonly onMissing: (namespace: ObjectKey) => void;
}

/** Small, because memory holds three pages. */
const pageObjects = 250;

export async function reconcileAll(options: ReconcileAllOptions): Promise<void> {
  const { caPem, clock, signal, onMissing } = options;
  const pace = new YieldTimer(clock);
  const rootCas = new Sorted(
    sharesOf(options, configMaps, `metadata.name=${rootCaName}`, (one: ConfigMap) =>
      isRootCa(one, caPem) ? one.metadata.namespace : undefined,
    ),
  );
  const accounts = options.serviceAccounts
    ? new Sorted(
        sharesOf(
          options,
          serviceAccounts,
          `metadata.name=${serviceAccountName}`,
          ({ metadata }) => metadata.namespace,
        ),
      )
    : undefined;
  try {
    for await (const { cluster, names } of sharesOf(options, namespaces, undefined, livingName)) {
      const withCa = await rootCas.of(cluster);
      const withAccount = await accounts?.of(cluster);
      for (const name of names) {
        if (withCa.has(name) && withAccount?.has(name) !== false) continue;
        onMissing({ cluster, namespace: "", name });
      }
      await pace.rest(signal);
    }
  } finally {
    await Promise.all([rootCas.close(), accounts?.close()]);
  }
}

function livingName({ metadata }: Namespace): string | undefined {
  return metadata.deletionTimestamp === undefined ? metadata.name : undefined;
}

/** One cluster's items of a list. */
interface Share {
  readonly cluster: ClusterName;
  readonly names: ReadonlySet<string>;
}

async function* sharesOf<Object extends KubernetesObject>(
  { client, signal }: ReconcileAllOptions,
  resource: Resource<Object>,
  fieldSelector: string | undefined,
  nameOf: (object: Object) => string | undefined,
): AsyncGenerator<Share> {
  const objects = client.inCluster("*").resource(resource);
  let cluster: ClusterName | undefined;
  let names = new Set<string>();
  let next: string | undefined;
  do {
    const page: ObjectList<Object> = await objects.list({
      fieldSelector,
      limit: pageObjects,
      continue: next,
      signal,
    });
    for (const object of page.items) {
      const from = clusterOf(object);
      if (from !== cluster) {
        if (cluster !== undefined) yield { cluster, names };
        cluster = from;
        names = new Set();
      }
      const name = nameOf(object);
      if (name !== undefined) names.add(name);
    }
    next = page.metadata.continue;
  } while (next);
  if (cluster !== undefined) yield { cluster, names };
}

const nothing: ReadonlySet<string> = new Set();

/** Reads the items of clusters, which must be requested in the order of the list. */
class Sorted {
  readonly #shares: AsyncGenerator<Share>;
  #next: Share | undefined;
  #isDone = false;

  constructor(shares: AsyncGenerator<Share>) {
    this.#shares = shares;
  }

  async of(cluster: ClusterName): Promise<ReadonlySet<string>> {
    while (!this.#isDone && (this.#next === undefined || isBefore(this.#next.cluster, cluster))) {
      const { value, done } = await this.#shares.next();
      this.#isDone = done === true;
      this.#next = done === true ? undefined : value;
    }
    return this.#next?.cluster === cluster ? this.#next.names : nothing;
  }

  async close(): Promise<void> {
    await this.#shares.return(undefined);
  }
}

/** In the order of storage keys, where a slash follows the name. */
function isBefore(a: ClusterName, b: ClusterName): boolean {
  return `${a}/` < `${b}/`;
}
