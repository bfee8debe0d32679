/**
 * The traffic of the demo: a client in one cluster that sends a request to an endpoint of the
 * Service, and to the next endpoint if the first does not answer. Which endpoints there are is read
 * from the EndpointSlices in that cluster; a simulated Pod answers if it is ready and its cluster
 * can be reached.
 */
import { type DynamicObject, defineResource, findCondition, stringMember } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import type { SimulatedCluster } from "@kcp-ts/simulator";

const endpointSlices = defineResource<DynamicObject>(kinds.endpointSlices);
const pods = defineResource<DynamicObject>(kinds.pods);
const serviceLabel = "multicluster.kubernetes.io/service-name";
const sourceLabel = "multicluster.kubernetes.io/source-cluster";

export interface TrafficCounts {
  /** The cluster of the client. */
  readonly from: string;
  readonly answered: number;
  /** The answered requests whose first endpoint did not answer. */
  readonly retried: number;
  readonly failed: number;
  /** The endpoints that the client knows, by their cluster. */
  readonly endpoints: Readonly<Record<string, number>>;
}

export interface DemoTrafficOptions {
  readonly service: string;
  readonly from: string;
  readonly clusters: ReadonlyMap<string, SimulatedCluster>;
  readonly isReachable: (cluster: string) => boolean;
}

interface Endpoint {
  readonly cluster: string;
  readonly address: string;
}

export class DemoTraffic {
  readonly #options: DemoTrafficOptions;
  #requests = 0;
  #answered = 0;
  #retried = 0;
  #failed = 0;

  constructor(options: DemoTrafficOptions) {
    this.#options = options;
  }

  /** Sends one request; undefined while the client knows no endpoint and had none before. */
  async send(): Promise<TrafficCounts | undefined> {
    const { from } = this.#options;
    const known = await this.#endpoints();
    if (known.length === 0 && this.#answered === 0) return undefined;
    const first = this.#requests++ % Math.max(1, known.length);
    const inTurn = [...known.slice(first), ...known.slice(0, first)];
    const ready = await this.#answering();
    const tries = inTurn.findIndex(({ cluster, address }) => ready.has(`${cluster} ${address}`));
    if (tries < 0) this.#failed++;
    else this.#answered++;
    if (tries > 0) this.#retried++;
    const endpoints: Record<string, number> = {};
    for (const { cluster } of known) endpoints[cluster] = (endpoints[cluster] ?? 0) + 1;
    const counts = { answered: this.#answered, retried: this.#retried, failed: this.#failed };
    return { from, ...counts, endpoints };
  }

  async #endpoints(): Promise<readonly Endpoint[]> {
    const { from, service, clusters } = this.#options;
    const labelSelector = `${serviceLabel}=${service}`;
    const found = await clusters.get(from)?.client.resource(endpointSlices).list({ labelSelector });
    return (found?.items ?? []).flatMap(({ metadata, ...rest }) => {
      const cluster = stringMember(metadata.labels, sourceLabel) ?? "";
      // A slice without endpoints has a null, as in Kubernetes.
      const { endpoints } = rest as unknown as {
        readonly endpoints:
          | readonly {
              readonly addresses?: readonly string[];
              readonly conditions?: { readonly ready?: boolean };
            }[]
          | null;
      };
      return (endpoints ?? [])
        .filter(({ conditions }) => conditions?.ready !== false)
        .flatMap(({ addresses = [] }) => addresses.map((address) => ({ cluster, address })));
    });
  }

  async #answering(): Promise<ReadonlySet<string>> {
    const ready = new Set<string>();
    for (const [name, { client }] of this.#options.clusters) {
      if (!this.#options.isReachable(name)) continue;
      const { items } = await client.resource(pods).list({});
      for (const pod of items) {
        const { podIP, conditions } = (pod["status"] ?? {}) as {
          readonly podIP?: string;
          readonly conditions?: readonly { type: string; status: string }[];
        };
        const isReady = findCondition(conditions as never, "Ready")?.status === "True";
        if (podIP !== undefined && isReady) ready.add(`${name} ${podIP}`);
      }
    }
    return ready;
  }
}
