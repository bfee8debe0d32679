/**
 * The decision about one Ingress that is assigned to no cluster: it gets a leaf,
 * `<name>--<cluster>`, in each cluster that has one of its Services, and the addresses that the
 * clusters assign to the leaves are its own.
 *
 * Make before break: an obsolete leaf stays until a desired leaf has an address, and its own
 * address is published until then. An address in an unobserved cluster is withdrawn, unless there
 * are no others.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  defineResource,
  type EventInput,
  type KubernetesObject,
  type ObjectInput,
  type StringMap,
} from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import {
  assignedCluster,
  assignedTargets,
  clusterLabel,
  ingressRootClusterLabel,
  ingressRootNameLabel,
  ingressRootNamespaceLabel,
  ownedByLabel,
} from "../api/index.ts";
import {
  type ClusterInfo,
  clusterCopyName,
  isInternalKey,
  ownerLabelValue,
  ownerReference,
  shortenName,
  withoutInternalKeys,
} from "../coordination/index.ts";
import {
  addressesIn,
  addressText,
  aggregateAddresses,
  withAddresses,
} from "./aggregate-addresses.ts";
import { same } from "./controller-support.ts";
import { type EndpointGracePeriods, endpointVisibilityOf } from "./endpoint-visibility.ts";
import { memberObject, memberObjects, memberText, type Service } from "./objects.ts";

export interface Ingress extends KubernetesObject {
  readonly spec: JsonObject;
  readonly status?: JsonObject;
}

export const ingresses = defineResource<Ingress>(kinds.ingresses);

export interface IngressState {
  /** The logical cluster. */
  readonly cluster: string;
  readonly root: Ingress;
  /** The leaves of the root. */
  readonly leaves: readonly Ingress[];
  /** The existing backend Services. */
  readonly services: readonly Service[];
  /** Names of leaves that other objects have. */
  readonly takenNames: ReadonlySet<string>;
  readonly targets: ReadonlyMap<string, ClusterInfo>;
  readonly gracePeriods: EndpointGracePeriods;
  readonly nowMs: number;
}

export interface IngressDecision {
  readonly creations: readonly ObjectInput<Ingress>[];
  readonly updates: readonly Ingress[];
  readonly removals: readonly Ingress[];
  /** The root's status; the identical object when nothing changes. */
  readonly status: JsonObject | undefined;
  readonly events: readonly EventInput[];
  readonly requeueAtMs: number | undefined;
}

/** The backend Services. */
export function backendsOf({ spec }: Pick<Ingress, "spec">): ReadonlySet<string> {
  const backends = [
    memberObject(spec, "defaultBackend"),
    ...memberObjects(spec, "rules").flatMap((rule) =>
      memberObjects(memberObject(rule, "http"), "paths").map((path) =>
        memberObject(path, "backend"),
      ),
    ),
  ];
  const names = backends.map((backend) => memberText(memberObject(backend, "service"), "name"));
  return new Set(names.filter((name) => name !== undefined));
}

export function splitIngress(state: IngressState): IngressDecision {
  const { root, leaves, services, takenNames } = state;
  const wanted = new Set(services.flatMap(({ metadata }) => [...assignedTargets(metadata.labels)]));
  const byCluster = new Map(leaves.map((leaf) => [clusterOf(leaf), leaf]));
  const isReplaced = [...wanted].some((cluster) => addressesOf(byCluster.get(cluster)).length > 0);
  const creations: ObjectInput<Ingress>[] = [];
  const updates: Ingress[] = [];
  const removals: Ingress[] = [];
  for (const cluster of [...wanted].sort()) {
    const leaf = byCluster.get(cluster);
    if (leaf === undefined) {
      const made = leafFor(state, cluster, undefined);
      if (!takenNames.has(made.metadata.name ?? "")) creations.push(made);
      continue;
    }
    const adjusted = adjustedLeaf(state, cluster, leaf);
    if (adjusted !== leaf) updates.push(adjusted);
  }
  for (const leaf of leaves) {
    if (wanted.has(clusterOf(leaf)) || leaf.metadata.deletionTimestamp !== undefined) continue;
    // Without any Service, there is no cluster to move to.
    const isIdle = addressesOf(leaf).length === 0 && wanted.size > 0;
    if (isReplaced || isIdle || !state.targets.has(clusterOf(leaf))) removals.push(leaf);
  }
  const counted = isReplaced ? leaves.filter((leaf) => wanted.has(clusterOf(leaf))) : leaves;
  const { addresses, requeueAtMs } = aggregateLeaves(state, counted);
  return {
    creations,
    updates,
    removals,
    status: withAddresses(root.status, addresses),
    events: ingressEvents(state),
    requeueAtMs,
  };
}

function clusterOf({ metadata }: Ingress): string {
  return assignedCluster(metadata.labels) ?? "";
}

function addressesOf(ingress: Ingress | undefined): readonly JsonObject[] {
  return addressesIn(ingress?.status);
}

interface AggregatedLeaves {
  readonly addresses: readonly JsonObject[];
  readonly requeueAtMs: number | undefined;
}

function aggregateLeaves(
  { root, targets, gracePeriods, nowMs }: IngressState,
  leaves: readonly Ingress[],
): AggregatedLeaves {
  const shown = new Set(addressesOf(root).map(addressText));
  const times: number[] = [];
  const given = leaves.map((leaf) => {
    const [cluster, addresses] = [clusterOf(leaf), addressesOf(leaf)];
    const isShown = shown.size === 0 || addresses.some((one) => shown.has(addressText(one)));
    const wasWithdrawn = addresses.length > 0 && !isShown;
    const { isVisible, untilMs } = endpointVisibilityOf(
      targets.get(cluster),
      wasWithdrawn,
      nowMs,
      gracePeriods,
    );
    if (untilMs !== undefined) times.push(untilMs);
    return { cluster, isVisible, addresses };
  });
  const requeueAtMs = times.length === 0 ? undefined : Math.min(...times);
  return { addresses: aggregateAddresses(given), requeueAtMs };
}

function adjustedLeaf(state: IngressState, cluster: string, leaf: Ingress): Ingress {
  const { metadata } = leafFor(state, cluster, leaf);
  const { labels = {}, annotations = {} } = metadata;
  const { spec } = state.root;
  const isSame =
    same(spec, leaf.spec) &&
    same(labels, leaf.metadata.labels ?? {}) &&
    same(annotations, leaf.metadata.annotations ?? {});
  return isSame ? leaf : { ...leaf, metadata: { ...leaf.metadata, labels, annotations }, spec };
}

function leafFor(
  { cluster: logical, root }: IngressState,
  cluster: string,
  leaf: Ingress | undefined,
): ObjectInput<Ingress> {
  const { name, namespace = "", labels, annotations } = root.metadata;
  return {
    metadata: {
      name: clusterCopyName(name, cluster),
      namespace,
      labels: {
        ...withoutInternalKeys(labels),
        ...ofMachinery(leaf?.metadata.labels),
        [clusterLabel]: cluster,
        [ownedByLabel]: ownerLabelValue(name),
        [ingressRootClusterLabel]: labelValue(logical),
        [ingressRootNameLabel]: ownerLabelValue(name),
        [ingressRootNamespaceLabel]: namespace,
      },
      annotations: {
        ...withoutInternalKeys(annotations),
        ...ofMachinery(leaf?.metadata.annotations),
      },
      ownerReferences: [ownerReference(ingresses, root)],
    },
    spec: root.spec,
  };
}

function ofMachinery(map: StringMap | undefined): StringMap {
  return Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => isInternalKey(key)));
}

/** Names of logical clusters may contain colons. */
function labelValue(text: string): string {
  return shortenName(text.replaceAll(":", "."), 63);
}

function ingressEvents({ root, services, takenNames }: IngressState): readonly EventInput[] {
  const events: EventInput[] = [];
  const found = new Set(services.map(({ metadata }) => metadata.name));
  const missing = [...backendsOf(root)].filter((name) => !found.has(name)).sort();
  if (missing.length > 0) {
    const message = `Services ${missing.join(", ")} do not exist in this namespace; requests to them are not answered until they do`;
    events.push({ type: "Warning", reason: "ServiceNotFound", message });
  }
  if (takenNames.size > 0) {
    const message = `other Ingresses have the names of its parts: ${[...takenNames].sort().join(", ")}; delete or rename them`;
    events.push({ type: "Warning", reason: "NameConflict", message });
  }
  return events;
}
