/**
 * What the agent of a physical cluster sees of the logical cluster that its SyncTarget is in: `/services/syncer/<cluster>/<SyncTarget>/<uid>`.
 *
 * Its own SyncTarget and the imports of its own APIs; of what is synced, the objects that are assigned to it or still held by it; nothing
 * else. Who may use the view says the verb `sync` on the SyncTarget. A token of an agent opens this view and no other.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { statusError } from "@kcp-ts/machinery/status";
import {
  apiResourceImports,
  clusterLabels,
  concernedTargets,
  serviceImports,
  stateLabel,
  stateLabelPrefix,
  stateUpsync,
  syncerFieldManager,
  syncerFinalizer,
  syncTargets,
} from "@kcp-ts/multicluster";
import type { Client } from "@kcp-ts/sdk";
import {
  type Authorizer,
  type Catalog,
  type Draft,
  type ResourceDefinition,
  type SeenObject,
  type ShownPart,
  type SyncerScope,
  type SyncerViews,
  shownPart,
} from "@kcp-ts/server";

export interface SyncerViewsOptions {
  readonly authorizer: Authorizer;
  readonly catalog: Catalog;
  /** May do everything. */
  readonly client: () => Client;
}

/** Nobody defines anything in there: what it serves is built in, and the same everywhere. */
const systemCluster = "system:admin" as ClusterName;
const discoveryPath = /^\/apis?(\/|$)/;
const readVerbs = ["get", "list", "watch"];
const refused = { allowed: false, reason: "" };

export function syncerViews({ authorizer, catalog, client }: SyncerViewsOptions): SyncerViews {
  return {
    async authorize(service, attributes) {
      const { user, cluster, isResourceRequest, path, verb } = attributes;
      const isSystemDiscovery =
        cluster === systemCluster && !isResourceRequest && discoveryPath.test(path);
      if (cluster !== service.cluster && !(isSystemDiscovery && verb === "get")) return refused;
      const { group, version, resource } = syncTargets;
      const { cluster: home, target: name, uid } = service;
      const { allowed } = await authorizer.authorize({
        ...{ user, cluster: home, group, version, resource, name, verb: "sync" },
        subresource: "",
        namespace: "",
        path: `/apis/${group}/${version}/${resource}/${name}`,
        isResourceRequest: true,
      });
      // Whether there is such a SyncTarget is known only to those who may sync to it.
      if (!allowed) return refused;
      const found = await client().inCluster(home).resource(syncTargets).find({ name });
      if (found?.metadata.uid === uid) return { allowed: true, reason: "" };
      return { allowed: false, reason: `SyncTarget ${name} with uid ${uid} is not there` };
    },
    catalogOf: (service, cluster) =>
      cluster === systemCluster && service.cluster !== systemCluster
        ? undefined
        : new SyncerView(service, catalog),
  };
}

class SyncerView implements Catalog {
  readonly #service: SyncerScope;
  readonly #base: Catalog;

  constructor(service: SyncerScope, base: Catalog) {
    this.#service = service;
    this.#base = base;
  }

  async find(
    cluster: ClusterName | "*",
    group: string,
    version: string,
    resource: string,
  ): Promise<ResourceDefinition | undefined> {
    const base = await this.#base.find(cluster, group, version, resource);
    return base && this.#shown(base);
  }

  async all(cluster: ClusterName | "*"): Promise<readonly ResourceDefinition[]> {
    const shown = (await this.#base.all(cluster)).map((base) => this.#shown(base));
    return (await Promise.all(shown)).filter((one) => one !== undefined);
  }

  async #shown(base: ResourceDefinition): Promise<ResourceDefinition | undefined> {
    if (base.isReview === true) return undefined;
    const part = await this.#partOf(base);
    return part && shownPart(base, part);
  }

  async #partOf({ group, version, resource }: ResourceDefinition): Promise<ShownPart | undefined> {
    const { target } = this.#service;
    switch (group === "" ? resource : `${resource}.${group}`) {
      case `${syncTargets.resource}.${syncTargets.group}`:
        return {
          verbs: readVerbs,
          statusVerbs: ["get", "patch"],
          isShown: ({ name }) => name === target,
        };
      case `${apiResourceImports.resource}.${apiResourceImports.group}`:
        return importsOf(target);
      case "namespaces":
        // Whether one is gone is looked at before its counterpart in the cluster is deleted.
        return { verbs: ["get"], isShown: () => true };
      case "events":
        return eventsOf(target);
    }
    const isNative = (await this.#base.find(systemCluster, group, version, resource)) !== undefined;
    if (!isNative) return assignedTo(target);
    const { verbs, ...read } = assignedTo(target);
    // What is native has a meaning here: nobody brings such an object up from a cluster.
    return syncedNatives.has(group === "" ? resource : `${resource}.${group}`)
      ? { ...read, verbs: verbs.filter((verb) => verb !== "create" && verb !== "delete") }
      : undefined;
  }
}

/** Of what the control plane serves by itself, what workloads take along. */
const syncedNatives: ReadonlySet<string> = new Set([
  "configmaps",
  "secrets",
  "serviceaccounts",
  `${serviceImports.resource}.${serviceImports.group}`,
]);

/** What is synced to the target, or is still there. */
function assignedTo(target: string): ShownPart {
  const finalizer = Buffer.from(syncerFinalizer(target));
  const isShown = (seen: SeenObject) => {
    const { labels } = seen;
    if (labels !== undefined && concernedTargets({ labels }).has(target)) return true;
    if (!seen.mentions(finalizer)) return false;
    const { finalizers } = metadataOf(seen.object());
    return Array.isArray(finalizers) && finalizers.includes(syncerFinalizer(target));
  };
  return {
    verbs: [...readVerbs, "create", "patch", "delete"],
    statusVerbs: ["get", "patch"],
    isShown,
    check: (draft, old) => checkLabels(draft, old, target),
  };
}

/** An agent assigns nothing to anybody: it takes its own state off, and what it brings up says so. What it brought up, it labels. */
function checkLabels(draft: Draft, old: JsonObject | undefined, target: string): void {
  const [now, before] = [labelsOf(draft), labelsOf(old ?? {})];
  const own = stateLabel(target);
  if (old === undefined && now.get(own) !== stateUpsync)
    throw refusal(draft, `an agent creates only what has the label ${own}: ${stateUpsync}`);
  const isCopy = (old === undefined ? now : before).get(own) === stateUpsync;
  for (const label of new Set([...now.keys(), ...before.keys()])) {
    if (label === own || now.get(label) === before.get(label)) continue;
    if (isCopy && !assigns(label)) continue;
    throw refusal(draft, `an agent does not change the label ${label}`);
  }
}

function assigns(label: string): boolean {
  return label.startsWith(stateLabelPrefix) || clusterLabels.includes(label);
}

/** `<plural>.<location>.<version>.<group>`: neither of the first two has a dot in it. */
function importsOf(target: string): ShownPart {
  return {
    verbs: [...readVerbs, "create", "patch", "delete"],
    statusVerbs: ["get"],
    isShown: ({ name }) => name.split(".")[1] === target,
    check: (draft) => {
      const { spec } = draft;
      const isOwn =
        isJsonObject(spec) &&
        spec["location"] === target &&
        String(metadataOf(draft)["name"]).split(".")[1] === target;
      if (!isOwn) throw refusal(draft, `an agent imports only what ${target} serves`);
    },
  };
}

/** Written, and counted up; never read. Those that are copied up say where from; those of the agent itself speak of the cluster. */
function eventsOf(target: string): ShownPart {
  const isOwn = (event: JsonObject) =>
    labelsOf(event).get(stateLabel(target)) === stateUpsync ||
    (event["reportingComponent"] === syncerFieldManager &&
      String(event["message"])
        .split(/[^-a-z0-9]/i)
        .includes(target));
  return {
    verbs: ["create", "patch"],
    isShown: (seen) => isOwn(seen.object()),
    check: (draft) => {
      if (!isOwn(draft)) throw refusal(draft, `an agent tells only of ${target}`);
    },
  };
}

function metadataOf(object: JsonObject): JsonObject {
  const { metadata } = object as { metadata?: JsonValue };
  return isJsonObject(metadata) ? metadata : {};
}

function labelsOf(object: JsonObject): ReadonlyMap<string, JsonValue | undefined> {
  const { labels } = metadataOf(object) as { labels?: JsonValue };
  return new Map(isJsonObject(labels) ? Object.entries(labels) : []);
}

function refusal(draft: Draft, message: string): Error {
  const resource = String(draft["kind"]).toLowerCase();
  return statusError.forbidden({ group: "", resource }, String(metadataOf(draft)["name"]), message);
}
