/**
 * Services: the addresses of their Pods, as Endpoints and EndpointSlices; and an external address.
 */
import { type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import { byNamespace, type Client, Controller, type Indexers, type ObjectKey } from "@kcp-ts/sdk";
import {
  endpointSlices,
  endpoints,
  isReady,
  isTerminating,
  ownedBy,
  type Pod,
  pods,
  type Service,
  type ServicePort,
  services,
} from "../api/index.ts";
import type { WorkloadContext } from "./context.ts";
import { assignAddress } from "./load-balancer.ts";
import { hashText } from "./revisions.ts";

/** The limit on addresses in one slice, and in Endpoints, as in Kubernetes. */
const addressesMax = 1000;

export function serviceController(context: WorkloadContext): Controller {
  const all = new Services(context);
  return new Controller({
    name: "endpoints",
    ...context,
    concurrency: 4,
    reconcile: (key, { client }) => all.reconcile(key, client),
  })
    .watch(services)
    .watch(pods, { map: (pod, key) => all.selecting(pod, key) });
}

class Services {
  readonly #found;
  readonly #pods;

  constructor({ clusters }: WorkloadContext) {
    this.#found = clusters.source<Service>(services, {
      indexers: byNamespace as Indexers<Service>,
    });
    this.#pods = clusters.source<Pod>(pods);
  }

  /** The Services that select a Pod. */
  *selecting({ metadata }: Pod, { cluster, namespace }: ObjectKey): Iterable<ObjectKey> {
    const found = this.#found.store.byIndex("namespace", { cluster, value: namespace });
    for (const service of found)
      if (isSelected(service, metadata.labels ?? {}))
        yield { cluster, namespace, name: service.metadata.name };
  }

  async reconcile(key: ObjectKey, client: Client): Promise<undefined> {
    const service = this.#found.store.get(key);
    // Slices are garbage-collected with their owner; Endpoints have no owner and are deleted here.
    if (service === undefined) return this.#remove(key, client);
    if (isTerminating(service)) return;
    await assignAddress(service, client);
    if (Object.keys(service.spec.selector ?? {}).length === 0) return;
    const behind = this.#pods.store
      .list({ cluster: key.cluster, namespace: key.namespace })
      .filter((pod) => isSelected(service, pod.metadata.labels ?? {}))
      .filter(({ status }) => status?.podIP !== undefined)
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
      .slice(0, addressesMax);
    await this.#writeSlice(service, behind, client);
    await this.#writeEndpoints(service, behind, client);
  }

  async #writeSlice(service: Service, behind: readonly Pod[], client: Client): Promise<void> {
    const { name, namespace = "" } = service.metadata;
    const resource = client.resource(endpointSlices);
    const target = { name: `${name}-${hashText(name).slice(0, 5)}`, namespace };
    const wanted = {
      addressType: "IPv4",
      endpoints: behind.map(endpointOf),
      ports: (service.spec.ports ?? []).map((port) => slicePort(port, behind[0])),
    };
    // As in Kubernetes: a slice has the labels of its Service.
    const labels = {
      ...service.metadata.labels,
      "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
      "kubernetes.io/service-name": name,
    };
    const present = await resource.find(target);
    if (present === undefined) {
      const ownerReferences = [ownedBy(service, services)];
      await resource.create({ metadata: { ...target, labels, ownerReferences }, ...wanted });
      return;
    }
    const isSame =
      same(present.endpoints, wanted.endpoints) &&
      same(present.ports, wanted.ports) &&
      same(present.metadata.labels, labels);
    const metadata = { ...present.metadata, labels };
    if (!isSame) await resource.update({ ...present, ...wanted, metadata });
  }

  async #writeEndpoints(service: Service, behind: readonly Pod[], client: Client): Promise<void> {
    const { name, namespace = "" } = service.metadata;
    const resource = client.resource(endpoints);
    const [ready, others] = [behind.filter(isReady), behind.filter((pod) => !isReady(pod))];
    const subsets =
      behind.length === 0
        ? []
        : [
            {
              ...(ready.length === 0 ? {} : { addresses: ready.map(addressOf) }),
              ...(others.length === 0 ? {} : { notReadyAddresses: others.map(addressOf) }),
              ports: (service.spec.ports ?? []).map((port) => slicePort(port, behind[0])),
            },
          ];
    const present = await resource.find({ name, namespace });
    if (present === undefined) await resource.create({ metadata: { name, namespace }, subsets });
    else if (!same(present.subsets ?? [], subsets)) await resource.update({ ...present, subsets });
  }

  async #remove({ name, namespace }: ObjectKey, client: Client): Promise<undefined> {
    await client
      .resource(endpoints)
      .delete({ name, namespace })
      .catch((error: unknown) => {
        if (!isStatusError(error, "NotFound")) throw error;
      });
  }
}

function isSelected({ spec }: Service, labels: Readonly<Record<string, string>>): boolean {
  const selector = Object.entries(spec.selector ?? {});
  return selector.length > 0 && selector.every(([key, value]) => labels[key] === value);
}

function endpointOf(pod: Pod): JsonObject {
  const isServing = isReady(pod);
  const terminating = isTerminating(pod);
  return {
    addresses: [pod.status?.podIP ?? ""],
    conditions: { ready: isServing && !terminating, serving: isServing, terminating },
    targetRef: targetOf(pod),
    ...(pod.spec.nodeName === undefined ? {} : { nodeName: pod.spec.nodeName }),
  };
}

function addressOf(pod: Pod): JsonObject {
  return {
    ip: pod.status?.podIP ?? "",
    ...(pod.spec.nodeName === undefined ? {} : { nodeName: pod.spec.nodeName }),
    targetRef: targetOf(pod),
  };
}

function targetOf({ metadata }: Pod): JsonObject {
  const { name, namespace = "", uid = "" } = metadata;
  return { kind: "Pod", name, namespace, uid };
}

/** The Pod port of a Service port: by number, or by the name in their containers. */
function slicePort(
  { name, port, protocol = "TCP", targetPort }: ServicePort,
  pod: Pod | undefined,
): JsonObject {
  const named = pod?.spec.containers
    .flatMap(({ ports = [] }) => ports)
    .find((one) => one.name === targetPort)?.containerPort;
  const number = typeof targetPort === "number" ? targetPort : (named ?? port);
  return { ...(name === undefined ? {} : { name }), port: number, protocol };
}

function same(a: unknown, b: unknown): boolean {
  return jsonEqual(a as JsonValue, b as JsonValue);
}
