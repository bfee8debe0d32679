/**
 * Reconciles mounts, which are workspaces that another server serves: the URL and the phase of the
 * mount object in the parent's logical cluster become those of the Workspace.
 *
 * The controller listens to each mount object by its key, so changes are reconciled at once, and it
 * holds no state for other workspaces.
 */
import { type Draft, type ResourceDefinition, storageKeyOf } from "@kcp-ts/apiserver/registry";
import { type Entry, parseObjectKey, type StorageKey } from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type TenancyDependencies, uncancelled } from "./dependencies.ts";
import { type Condition, conditionsOf, setCondition } from "./kinds/conditions.ts";
import { phaseLabel } from "./kinds/phases.ts";
import { member } from "./records.ts";

export interface MountControllerOptions
  extends Pick<TenancyDependencies, "watchCache" | "registry" | "clock" | "definitionOfKind"> {
  /** Requeues a workspace. */
  readonly requeue: (workspace: StorageKey) => void;
  readonly update: (entry: Entry, change: (draft: Draft) => void) => Promise<void>;
}

interface WatchedObject {
  readonly key: StorageKey;
  readonly stop: () => void;
}

interface Reference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

export class MountController {
  readonly #options: MountControllerOptions;
  /** Mount objects with a listener, by the workspace that they are for. */
  readonly #watchedObjects = new Map<StorageKey, WatchedObject>();

  constructor(options: MountControllerOptions) {
    this.#options = options;
  }

  /**
   * Reconciles a workspace with its mount object; returns the milliseconds until the next reconcile
   * when it waits for a change without an event.
   */
  async reconcile(entry: Entry, workspace: JsonObject): Promise<number | undefined> {
    const reference = referenceOf(workspace);
    const { cluster } = parseObjectKey(entry.key);
    const definition = await this.#definitionOf(cluster, reference);
    const object = await this.#readAndWatch(entry.key, cluster, definition, reference);
    const url = urlOf(object);
    const condition = evaluateMount(reference, object, url);
    const { clock } = this.#options;
    await this.#options.update(entry, (draft) => {
      const status = member(draft, "status");
      const phase = condition.status === "True" ? "Ready" : "Unavailable";
      const conditions = setCondition(conditionsOf(status), condition, clock.now());
      draft["status"] = { ...status, phase, conditions };
      if (url !== undefined) draft["spec"] = { ...member(draft, "spec"), URL: url };
      const metadata = member(draft, "metadata");
      const labels = { ...member(metadata, "labels"), [phaseLabel]: phase };
      draft["metadata"] = { ...metadata, labels };
    });
    return definition === undefined ? unknownKindMs : undefined;
  }

  forget(workspace: StorageKey): void {
    this.#watchedObjects.get(workspace)?.stop();
    this.#watchedObjects.delete(workspace);
  }

  async #definitionOf(
    cluster: ClusterName,
    { apiVersion, kind }: Reference,
  ): Promise<ResourceDefinition | undefined> {
    const at = apiVersion.lastIndexOf("/");
    return this.#options.definitionOfKind(
      cluster,
      at < 0 ? "" : apiVersion.slice(0, at),
      apiVersion.slice(at + 1),
      kind,
    );
  }

  /**
   * Reads the mount object; the listener is added before the read, so that every later change
   * requeues the workspace.
   */
  async #readAndWatch(
    workspace: StorageKey,
    cluster: ClusterName,
    definition: ResourceDefinition | undefined,
    { name, namespace }: Reference,
  ): Promise<JsonObject | undefined> {
    const isNameable = name !== "" && !name.includes("/") && !namespace.includes("/");
    if (definition === undefined || !isNameable) {
      this.forget(workspace);
      return undefined;
    }
    const { watchCache } = this.#options;
    const address = { cluster, namespace: definition.isNamespaced ? namespace : "", name };
    const key = storageKeyOf(definition, address);
    if (this.#watchedObjects.get(workspace)?.key !== key) this.#listen(workspace, key);
    const entry = await watchCache.get(key, { kind: "latest" }, uncancelled);
    return entry === undefined ? undefined : decodeObject(entry);
  }

  #listen(workspace: StorageKey, key: StorageKey): void {
    const { watchCache, requeue } = this.#options;
    this.forget(workspace);
    const stop = watchCache.hub.listen(key, {
      onEvent: () => requeue(workspace),
      onLost: ({ code }) => {
        this.#watchedObjects.delete(workspace);
        if (code !== "closed") requeue(workspace);
      },
    });
    this.#watchedObjects.set(workspace, { key, stop });
  }
}

/** The retry interval of mounts whose kind is not served: new CRDs and such mounts are rare. */
const unknownKindMs = 5000;

function referenceOf(workspace: JsonObject): Reference {
  const reference = member(member(member(workspace, "spec"), "mount"), "ref");
  const text = (name: string) => String(reference[name] ?? "");
  return {
    apiVersion: text("apiVersion"),
    kind: text("kind"),
    name: text("name"),
    namespace: text("namespace"),
  };
}

const urlCharactersMax = 2048;

/**
 * The URL of the mount without a trailing slash; undefined when it is not a valid target of
 * requests.
 */
function urlOf(object: JsonObject | undefined): string | undefined {
  const text = member(object ?? {}, "status")["URL"];
  if (typeof text !== "string" || text.length > urlCharactersMax || !URL.canParse(text))
    return undefined;
  const url = new URL(text);
  const isPlain =
    url.username === "" && url.password === "" && url.search === "" && url.hash === "";
  return url.protocol === "https:" && isPlain ? text.replace(/\/+$/, "") : undefined;
}

function evaluateMount(
  { kind, name, namespace }: Reference,
  object: JsonObject | undefined,
  url: string | undefined,
): Condition {
  const isNot = (reason: string, message: string): Condition => ({
    type: "WorkspaceMountReady",
    status: "False",
    severity: "Error",
    reason,
    message,
  });
  if (object === undefined)
    return isNot("MountObjectNotFound", `${kind} "${namespace}/${name}" not found`);
  if (member(object, "status")["phase"] !== "Ready")
    return isNot(
      "MountObjectNotReady",
      `Mount is not reporting ready. See ${kind} "${name}" status for more details`,
    );
  if (url === undefined)
    return isNot("MountObjectNotReady", `status.URL of ${kind} "${name}" is no https URL`);
  return { type: "WorkspaceMountReady", status: "True" };
}
