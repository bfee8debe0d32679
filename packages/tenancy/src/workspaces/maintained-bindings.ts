/**
 * Default bindings that are kept (`defaultAPIBindingLifecycle: Maintain`): workspaces that are there already get what is added to their type, and get
 * back what they lost.
 *
 * Nothing is held per workspace: when a type says something else, all logical clusters are looked through once. That is done for one change at a time;
 * whatever changes meanwhile is seen to by one more walk. A walk does what it finds to do itself, so that it takes no more than a survey's share.
 */

import { type Entry, parseObjectKey } from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import type { HubEvent } from "@kcp-ts/apiserver/watch-cache";
import { jsonEqual } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { KeyedWorkQueue } from "./job-queue.ts";
import { logicalClusters, workspaceTypes } from "./kinds/definitions.ts";
import { logicalClusterKey, type TenancyDependencies } from "./parts.ts";
import {
  type DefaultBinding,
  type LogicalClusterRecord,
  readLogicalCluster,
  readWorkspaceType,
  type WorkspaceTypeRecord,
} from "./records.ts";
import type { ScanTask } from "./survey.ts";
import { maintainedBindingsOf, WorkspaceTypeError } from "./workspace-types.ts";

export interface DefaultApiBindingLifecycleOptions {
  readonly parts: TenancyDependencies;
  /** Resolves when it has come to an end. */
  readonly survey: (looks: readonly ScanTask[]) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/** What a workspace is to be bound to for as long as it is there. */
export interface MaintainedBindingSet {
  /** Of the workspace. */
  readonly path: string;
  readonly bindings: readonly DefaultBinding[];
}

const nothing: MaintainedBindingSet = { path: "", bindings: [] };

/** Workspaces that are bound at once. */
const boundAtOnce = 20;
const retryMs = 1000;

export class DefaultApiBindingLifecycleController {
  readonly #options: DefaultApiBindingLifecycleOptions;
  /** Those in which something failed. */
  readonly #jobs: KeyedWorkQueue<ClusterName>;
  /** A walk is under way, and whether another is wanted. */
  #walking: "no" | "yes" | "again" = "no";
  #isStopped = false;

  constructor(options: DefaultApiBindingLifecycleOptions) {
    const { parts, onError } = options;
    this.#options = options;
    this.#jobs = new KeyedWorkQueue<ClusterName>({
      clock: parts.clock,
      onError,
      work: (cluster) => this.#settle(cluster),
    });
  }

  /** A type that was changed while nobody was there to see it is as good as one that changes now. */
  start(): void {
    const look = (entry: Entry) => {
      if (recordOf(entry).maintainsBindings) this.#walk();
    };
    void this.#options.survey([{ definition: workspaceTypes, look }]);
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    return this.#jobs.stop();
  }

  onType({ current, previous }: HubEvent): void {
    if (current === undefined) return;
    const now = recordOf(current);
    if (!now.maintainsBindings) return;
    const before = previous === undefined ? undefined : recordOf(previous);
    // Which types are one of this one is not known without looking.
    if (before === undefined || !isSameDefaults(now, before)) this.#walk();
  }

  async in(cluster: ClusterName): Promise<MaintainedBindingSet> {
    const logical = await this.#options.parts.logicalClusterIndex.get(logicalClusterKey(cluster));
    return logical === undefined ? nothing : this.#ofLogicalCluster(cluster, logical);
  }

  async #ofLogicalCluster(
    cluster: ClusterName,
    { type, path, isDeleted }: LogicalClusterRecord,
  ): Promise<MaintainedBindingSet> {
    const { types } = this.#options.parts;
    const at = type?.lastIndexOf(":") ?? -1;
    if (isDeleted || type === undefined || at < 0) return nothing;
    const found = await types.find(type.slice(0, at), type.slice(at + 1));
    if (found === undefined) return nothing;
    try {
      return { path: path ?? cluster, bindings: maintainedBindingsOf(await types.resolve(found)) };
    } catch (error) {
      // A type that was made unusable keeps nothing.
      if (error instanceof WorkspaceTypeError) return nothing;
      throw error;
    }
  }

  #walk(): void {
    if (this.#walking === "no") void this.#walkAll();
    else this.#walking = "again";
  }

  async #walkAll(): Promise<void> {
    do {
      this.#walking = "yes";
      const look = (entry: Entry) => this.#lookAt(entry);
      await this.#options.survey([{ definition: logicalClusters, look, atOnce: boundAtOnce }]);
    } while (this.#isAgainWanted());
    this.#walking = "no";
  }

  #isAgainWanted(): boolean {
    return this.#walking === "again" && !this.#isStopped;
  }

  /** Read from what is at hand: nobody asks for most of them, and those that are asked for stay in the index. */
  async #lookAt(entry: Entry): Promise<void> {
    const { cluster } = parseObjectKey(entry.key);
    try {
      const record = readLogicalCluster(decodeObject(entry));
      await this.#keep(cluster, await this.#ofLogicalCluster(cluster, record));
    } catch (error) {
      if (this.#isStopped) return;
      this.#options.onError(error);
      this.#jobs.addLater(cluster, retryMs);
    }
  }

  async #settle(cluster: ClusterName): Promise<undefined> {
    await this.#keep(cluster, await this.in(cluster));
  }

  async #keep(cluster: ClusterName, { path, bindings }: MaintainedBindingSet): Promise<void> {
    if (bindings.length > 0) await this.#options.parts.keepDefaults(cluster, path, bindings);
  }
}

function recordOf(entry: Entry): WorkspaceTypeRecord {
  return readWorkspaceType(decodeObject(entry));
}

/** As far as bindings go. */
function isSameDefaults(a: WorkspaceTypeRecord, b: WorkspaceTypeRecord): boolean {
  const said = ({ maintainsBindings, defaultBindings, extends: extended }: WorkspaceTypeRecord) => [
    maintainsBindings,
    defaultBindings.map((one) => [one.path, one.export]),
    extended.map(({ path, name }) => [path ?? null, name]),
  ];
  return jsonEqual(said(a), said(b));
}
