/**
 * The initializer `system:apibindings`: keeps a new logical cluster in Initializing until its
 * default APIBindings are bound. Where the write that creates the workspace binds all of them,
 * which is the rule, the initializer is omitted and the workspace is Ready in the response.
 */
import type { Draft } from "@kcp-ts/apiserver/registry";
import { copyString } from "@kcp-ts/apiserver/request/copy-string";
import { type Entry, parseObjectKey, type StorageKey } from "@kcp-ts/apiserver/storage";
import { labelsOf } from "@kcp-ts/apiserver/stored-object";
import type { HubEvent } from "@kcp-ts/apiserver/watch-cache";
import { type JsonObject, textsOf } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  clusterScoped,
  logicalClusterKey,
  systemWriteOptions,
  type TenancyDependencies,
} from "./dependencies.ts";
import { KeyedWorkQueue } from "./keyed-work-queue.ts";
import { type Condition, conditionsOf, setCondition } from "./kinds/conditions.ts";
import { logicalClusterName, logicalClusters, systemWrite } from "./kinds/definitions.ts";
import { initializerLabel, put } from "./kinds/phases.ts";
import { type DefaultBinding, member } from "./records.ts";
import {
  bindingsInitializer,
  defaultBindingsOf,
  initializersOf,
  type ResolvedType,
  WorkspaceTypeError,
} from "./workspace-types.ts";

/** The state of the default bindings of a logical cluster. */
export interface DefaultBindingsState {
  readonly isExportMissing: boolean;
  /** The messages for bindings that are not bound yet. */
  readonly incomplete: readonly string[];
}

/**
 * The initializers of a type that a new logical cluster still has when it is stored: those of other
 * controllers, and this one when a binding is incomplete.
 */
export async function remainingInitializers(
  { areDefaultBindingsComplete }: Pick<TenancyDependencies, "areDefaultBindingsComplete">,
  cluster: ClusterName,
  type: ResolvedType,
  ownInitializers: ReadonlySet<string>,
): Promise<readonly string[]> {
  const left = initializersOf(type).filter((id) => !ownInitializers.has(id));
  const bindings = defaultBindingsOf(type);
  const isComplete = bindings.length === 0 || (await areDefaultBindingsComplete(cluster, bindings));
  return isComplete ? left : [...left, bindingsInitializer];
}

export interface BindingsInitializerOptions {
  readonly dependencies: TenancyDependencies;
  readonly onError: (error: unknown) => void;
}

const [waitingLabel] = initializerLabel(bindingsInitializer);
const conditionType = "APIBindingsInitialized";

export class BindingsInitializer {
  readonly #dependencies: TenancyDependencies;
  readonly #jobs: KeyedWorkQueue<StorageKey>;
  /** Nearly always empty. */
  readonly #waiting = new Set<ClusterName>();

  constructor({ dependencies, onError }: BindingsInitializerOptions) {
    this.#dependencies = dependencies;
    this.#jobs = new KeyedWorkQueue({
      clock: dependencies.clock,
      onError,
      work: (key) => this.#work(key),
    });
  }

  stop(): Promise<void> {
    return this.#jobs.stop();
  }

  onLogicalCluster({ key, current }: HubEvent): void {
    if (current !== undefined) this.enqueueIfInitializing(current);
    else if (this.#waiting.size > 0) this.#waiting.delete(parseObjectKey(key).cluster);
  }

  /** Called for a LogicalCluster that was stored, now or before this server started. */
  enqueueIfInitializing(entry: Entry): void {
    const isWaiting = labelsOf(entry)?.[waitingLabel] !== undefined;
    if (!isWaiting && this.#waiting.size === 0) return;
    const { cluster } = parseObjectKey(entry.key);
    if (!isWaiting) this.#waiting.delete(cluster);
    else {
      this.#waiting.add(copyString(cluster));
      this.#jobs.add(entry.key);
    }
  }

  /** Called when a binding is created, deleted or changed. */
  onBindingChanged(cluster: ClusterName): void {
    if (this.#waiting.size > 0 && this.#waiting.has(cluster))
      this.#jobs.add(logicalClusterKey(cluster));
  }

  async #work(key: StorageKey): Promise<undefined> {
    const { cluster } = parseObjectKey(key);
    const record = await this.#dependencies.logicalClusterIndex.get(key);
    if (record === undefined || !record.initializers.includes(bindingsInitializer)) return;
    const condition = await this.#evaluate(cluster, record.type);
    await this.#write(cluster, condition);
  }

  async #evaluate(cluster: ClusterName, type: string | undefined): Promise<Condition> {
    const wanted = await this.#requiredBindings(type);
    if (typeof wanted === "string") return failed("WorkspaceTypesInvalid", "Error", wanted);
    const { isExportMissing, incomplete } = await this.#dependencies.defaultBindingsStateOf(
      cluster,
      wanted,
    );
    if (isExportMissing)
      return failed(
        "APIBindingErrors",
        "Error",
        "encountered errors: unable to complete initialization: unable to find at least 1 APIExport",
      );
    if (incomplete.length === 0) return { type: conditionType, status: "True" };
    const message = `APIBinding(s) not yet fully bound: ${[...incomplete].sort().join(", ")}`;
    return failed("WaitingOnAPIBindings", "Info", message);
  }

  /** Returns the reason when the type cannot be resolved. */
  async #requiredBindings(type = ""): Promise<readonly DefaultBinding[] | string> {
    const at = type.lastIndexOf(":");
    const [path, name] = [type.slice(0, Math.max(at, 0)), type.slice(at + 1)];
    const { types } = this.#dependencies;
    const found = await types.find(path, name);
    if (found === undefined) return `error getting WorkspaceType ${path}|${name}: not found`;
    try {
      return defaultBindingsOf(await types.resolve(found));
    } catch (error) {
      if (!(error instanceof WorkspaceTypeError)) throw error;
      return `error resolving transitive set of workspace types: ${error.message}`;
    }
  }

  async #write(cluster: ClusterName, condition: Condition): Promise<void> {
    const { registry, clock } = this.#dependencies;
    const build = async (old: JsonObject | undefined): Promise<Draft> => {
      const status: Draft = { ...member(old ?? {}, "status") };
      const before = textsOf(status["initializers"]);
      const isDone = condition.status === "True";
      if (!before.includes(bindingsInitializer)) return { ...old };
      if (isDone)
        put(
          status,
          "initializers",
          before.filter((id) => id !== bindingsInitializer),
        );
      status["conditions"] = setCondition(conditionsOf(status), condition, clock.now());
      return { ...old, status };
    };
    const rules = { ...systemWriteOptions, subresource: systemWrite, isDerivedFromLive: true };
    const address = clusterScoped(cluster, logicalClusterName);
    await registry.update(logicalClusters, address, build, rules);
  }
}

function failed(reason: string, severity: "Error" | "Info", message: string): Condition {
  return { type: conditionType, status: "False", severity, reason, message };
}
