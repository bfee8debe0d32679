/**
 * Mounts: workspaces that are served elsewhere. What an object of their own logical cluster says of where, and whether it is there, becomes
 * their URL and their phase.
 *
 * Each such object is listened to by its key, so a change of it is known at once, and nothing is kept for workspaces that are no mounts.
 */

import type { Draft, ResourceDefinition } from "@kcp-ts/apiserver/registry";
import { type Entry, parseObjectKey, type StorageKey } from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type Condition, conditionsOf, setCondition } from "./kinds/conditions.ts";
import { phaseLabel } from "./kinds/phases.ts";
import { type TenancyDependencies, uncancelled } from "./parts.ts";
import { member } from "./records.ts";

export interface MountControllerOptions
  extends Pick<TenancyDependencies, "watchCache" | "registry" | "clock" | "kindIn"> {
  /** Has a workspace settled again. */
  readonly again: (workspace: StorageKey) => void;
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
  /** What is listened to, by the workspace that it is for. */
  readonly #followed = new Map<StorageKey, WatchedObject>();

  constructor(options: MountControllerOptions) {
    this.#options = options;
  }

  /** Brings a workspace to what its mount object says; milliseconds until to look again, when nobody tells of what is waited for. */
  async settle(entry: Entry, workspace: JsonObject): Promise<number | undefined> {
    const reference = referenceOf(workspace);
    const { cluster } = parseObjectKey(entry.key);
    const definition = await this.#definitionOf(cluster, reference);
    const object = await this.#follow(entry.key, cluster, definition, reference);
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
    this.#followed.get(workspace)?.stop();
    this.#followed.delete(workspace);
  }

  async #definitionOf(
    cluster: ClusterName,
    { apiVersion, kind }: Reference,
  ): Promise<ResourceDefinition | undefined> {
    const at = apiVersion.lastIndexOf("/");
    return this.#options.kindIn(
      cluster,
      at < 0 ? "" : apiVersion.slice(0, at),
      apiVersion.slice(at + 1),
      kind,
    );
  }

  /** The object as it is now; from before it is read every change of it comes back here. */
  async #follow(
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
    const { registry, watchCache } = this.#options;
    const address = { cluster, namespace: definition.isNamespaced ? namespace : "", name };
    const key = registry.key(definition, address);
    if (this.#followed.get(workspace)?.key !== key) this.#listen(workspace, key);
    const entry = await watchCache.get(key, { kind: "latest" }, uncancelled);
    return entry === undefined ? undefined : decodeObject(entry);
  }

  #listen(workspace: StorageKey, key: StorageKey): void {
    const { watchCache, again } = this.#options;
    this.forget(workspace);
    const stop = watchCache.hub.listen(key, {
      onEvent: () => again(workspace),
      onLost: ({ code }) => {
        this.#followed.delete(workspace);
        if (code !== "closed") again(workspace);
      },
    });
    this.#followed.set(workspace, { key, stop });
  }
}

/** Definitions come seldom, and mounts that wait for one are few: they look now and then. */
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

/** Where the mount is, without a slash at the end; undefined when it says nothing that requests could be sent to. */
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
