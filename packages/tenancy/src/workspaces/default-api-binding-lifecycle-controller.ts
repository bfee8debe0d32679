/**
 * Maintains default bindings (`defaultAPIBindingLifecycle: Maintain`): existing workspaces get the
 * bindings that are added to their type, and get deleted ones back.
 *
 * The controller holds no state per workspace: when a type changes, all logical clusters are
 * scanned once. One scan runs at a time; all changes during a scan are covered by one more scan. A
 * scan writes the missing bindings itself, so that the writes count towards the scan's share of the
 * time.
 */
import { type Entry, parseObjectKey } from "@kcp-ts/apiserver/storage";
import { decodeObject } from "@kcp-ts/apiserver/stored-object";
import type { HubEvent } from "@kcp-ts/apiserver/watch-cache";
import { jsonEqual } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { ScanTask } from "./background-scan.ts";
import { logicalClusterKey, type TenancyDependencies } from "./dependencies.ts";
import { KeyedWorkQueue } from "./keyed-work-queue.ts";
import { logicalClusters, workspaceTypes } from "./kinds/definitions.ts";
import {
  type DefaultBinding,
  type LogicalClusterRecord,
  readLogicalCluster,
  readWorkspaceType,
  type WorkspaceTypeRecord,
} from "./records.ts";
import { maintainedBindingsOf, WorkspaceTypeError } from "./workspace-types.ts";

export interface DefaultApiBindingLifecycleOptions {
  readonly dependencies: TenancyDependencies;
  /** Resolves when the scan has ended. */
  readonly scan: (looks: readonly ScanTask[]) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/** The bindings that a workspace keeps for its lifetime. */
export interface MaintainedBindingSet {
  /** The path of the workspace. */
  readonly path: string;
  readonly bindings: readonly DefaultBinding[];
}

const nothing: MaintainedBindingSet = { path: "", bindings: [] };

/** Workspaces that are bound concurrently. */
const boundAtOnce = 20;
const retryMs = 1000;

export class DefaultApiBindingLifecycleController {
  readonly #options: DefaultApiBindingLifecycleOptions;
  /** Retries workspaces in which a binding failed. */
  readonly #jobs: KeyedWorkQueue<ClusterName>;
  /** Whether a scan is running, and whether another is required. */
  #scanning: "no" | "yes" | "again" = "no";
  #isStopped = false;

  constructor(options: DefaultApiBindingLifecycleOptions) {
    const { dependencies, onError } = options;
    this.#options = options;
    this.#jobs = new KeyedWorkQueue<ClusterName>({
      clock: dependencies.clock,
      onError,
      work: (cluster) => this.#reconcile(cluster),
    });
  }

  /** Every type counts as changed, because a change during this server's downtime is unknown. */
  start(): void {
    const visit = (entry: Entry) => {
      if (recordOf(entry).maintainsBindings) this.#startScan();
    };
    void this.#options.scan([{ definition: workspaceTypes, visit }]);
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    return this.#jobs.stop();
  }

  onType({ current, previous }: Pick<HubEvent, "current" | "previous">): void {
    if (current === undefined) return;
    const now = recordOf(current);
    if (!now.maintainsBindings) return;
    const before = previous === undefined ? undefined : recordOf(previous);
    // The types that extend this one are unknown without a scan.
    if (before === undefined || !isSameDefaults(now, before)) this.#startScan();
  }

  async maintainedIn(cluster: ClusterName): Promise<MaintainedBindingSet> {
    const logical = await this.#options.dependencies.logicalClusterIndex.get(
      logicalClusterKey(cluster),
    );
    return logical === undefined ? nothing : this.#ofLogicalCluster(cluster, logical);
  }

  async #ofLogicalCluster(
    cluster: ClusterName,
    { type, path, isDeleted }: LogicalClusterRecord,
  ): Promise<MaintainedBindingSet> {
    const { types } = this.#options.dependencies;
    const at = type?.lastIndexOf(":") ?? -1;
    if (isDeleted || type === undefined || at < 0) return nothing;
    const found = await types.find(type.slice(0, at), type.slice(at + 1));
    if (found === undefined) return nothing;
    try {
      return { path: path ?? cluster, bindings: maintainedBindingsOf(await types.resolve(found)) };
    } catch (error) {
      // A type that has become invalid maintains nothing.
      if (error instanceof WorkspaceTypeError) return nothing;
      throw error;
    }
  }

  #startScan(): void {
    if (this.#scanning === "no") void this.#scanAll();
    else this.#scanning = "again";
  }

  async #scanAll(): Promise<void> {
    do {
      this.#scanning = "yes";
      const visit = (entry: Entry) => this.#inspect(entry);
      await this.#options.scan([{ definition: logicalClusters, visit, pageSize: boundAtOnce }]);
    } while (this.#isRescanWanted());
    this.#scanning = "no";
  }

  #isRescanWanted(): boolean {
    return this.#scanning === "again" && !this.#isStopped;
  }

  /**
   * Reads the scanned entry instead of the index: most entries are not requested again, and
   * requested ones stay in the index.
   */
  async #inspect(entry: Entry): Promise<void> {
    const { cluster } = parseObjectKey(entry.key);
    try {
      const record = readLogicalCluster(decodeObject(entry));
      await this.#maintain(cluster, await this.#ofLogicalCluster(cluster, record));
    } catch (error) {
      if (this.#isStopped) return;
      this.#options.onError(error);
      this.#jobs.addAfter(cluster, retryMs);
    }
  }

  async #reconcile(cluster: ClusterName): Promise<undefined> {
    await this.#maintain(cluster, await this.maintainedIn(cluster));
  }

  async #maintain(cluster: ClusterName, { path, bindings }: MaintainedBindingSet): Promise<void> {
    if (bindings.length > 0)
      await this.#options.dependencies.maintainDefaultBindings(cluster, path, bindings);
  }
}

function recordOf(entry: Entry): WorkspaceTypeRecord {
  return readWorkspaceType(decodeObject(entry));
}

/** Whether the default bindings of two types are equal. */
function isSameDefaults(a: WorkspaceTypeRecord, b: WorkspaceTypeRecord): boolean {
  const said = ({ maintainsBindings, defaultBindings, extends: extended }: WorkspaceTypeRecord) => [
    maintainsBindings,
    defaultBindings.map((one) => [one.path, one.export]),
    extended.map(({ path, name }) => [path ?? null, name]),
  ];
  return jsonEqual(said(a), said(b));
}
