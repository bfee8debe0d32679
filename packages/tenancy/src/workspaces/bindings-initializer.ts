/**
 * The initializer `system:apibindings`: holds a new logical cluster back until what its type binds it to is bound. Where all of it is bound by the
 * write that makes the workspace, which is the rule, there is nothing to wait for and the workspace is ready in the answer.
 */

import type { Draft } from "@kcp-ts/apiserver/registry";
import { copyString } from "@kcp-ts/apiserver/request/own-text";
import { type Entry, parseObjectKey, type StorageKey } from "@kcp-ts/apiserver/storage";
import { labelsOf } from "@kcp-ts/apiserver/stored-object";
import type { HubEvent } from "@kcp-ts/apiserver/watch-cache";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { KeyedWorkQueue } from "./job-queue.ts";
import { type Condition, conditionsOf, setCondition } from "./kinds/conditions.ts";
import { logicalClusterName, logicalClusters, systemWrite } from "./kinds/definitions.ts";
import { initializerLabel, put, textsOf } from "./kinds/phases.ts";
import {
  clusterScoped,
  logicalClusterKey,
  systemWriteOptions,
  type TenancyDependencies,
} from "./parts.ts";
import { type DefaultBinding, member } from "./records.ts";
import {
  bindingsInitializer,
  defaultBindingsOf,
  initializersOf,
  type ResolvedType,
  WorkspaceTypeError,
} from "./workspace-types.ts";

/** How far the default bindings of a logical cluster are. */
export interface DefaultBindingsState {
  readonly isExportMissing: boolean;
  /** What is yet to be bound, in words. */
  readonly incomplete: readonly string[];
}

/** Initializers of a type that a new logical cluster still has when it is stored: those of others, and ours when there is something to wait for. */
export async function remainingInitializers(
  { defaultsComplete }: Pick<TenancyDependencies, "defaultsComplete">,
  cluster: ClusterName,
  type: ResolvedType,
  ownInitializers: ReadonlySet<string>,
): Promise<readonly string[]> {
  const left = initializersOf(type).filter((id) => !ownInitializers.has(id));
  const bindings = defaultBindingsOf(type);
  const isComplete = bindings.length === 0 || (await defaultsComplete(cluster, bindings));
  return isComplete ? left : [...left, bindingsInitializer];
}

export interface BindingsInitializerOptions {
  readonly parts: TenancyDependencies;
  readonly onError: (error: unknown) => void;
}

const [waitingLabel] = initializerLabel(bindingsInitializer);
const conditionType = "APIBindingsInitialized";

export class BindingsInitializer {
  readonly #parts: TenancyDependencies;
  readonly #jobs: KeyedWorkQueue<StorageKey>;
  /** Nearly always none. */
  readonly #waiting = new Set<ClusterName>();

  constructor({ parts, onError }: BindingsInitializerOptions) {
    this.#parts = parts;
    this.#jobs = new KeyedWorkQueue({
      clock: parts.clock,
      onError,
      work: (key) => this.#work(key),
    });
  }

  stop(): Promise<void> {
    return this.#jobs.stop();
  }

  onLogicalCluster({ key, current }: HubEvent): void {
    if (current !== undefined) this.look(current);
    else if (this.#waiting.size > 0) this.#waiting.delete(parseObjectKey(key).cluster);
  }

  /** One that was stored, now or before this server began. */
  look(entry: Entry): void {
    const isWaiting = labelsOf(entry)?.[waitingLabel] !== undefined;
    if (!isWaiting && this.#waiting.size === 0) return;
    const { cluster } = parseObjectKey(entry.key);
    if (!isWaiting) this.#waiting.delete(cluster);
    else {
      this.#waiting.add(copyString(cluster));
      this.#jobs.add(entry.key);
    }
  }

  /** A binding came, went or changed. */
  bindingChanged(cluster: ClusterName): void {
    if (this.#waiting.size > 0 && this.#waiting.has(cluster))
      this.#jobs.add(logicalClusterKey(cluster));
  }

  async #work(key: StorageKey): Promise<undefined> {
    const { cluster } = parseObjectKey(key);
    const record = await this.#parts.logicalClusterIndex.get(key);
    if (record === undefined || !record.initializers.includes(bindingsInitializer)) return;
    const condition = await this.#judge(cluster, record.type);
    await this.#write(cluster, condition);
  }

  async #judge(cluster: ClusterName, type: string | undefined): Promise<Condition> {
    const wanted = await this.#wantedBy(type);
    if (typeof wanted === "string") return failed("WorkspaceTypesInvalid", "Error", wanted);
    const { isExportMissing, incomplete } = await this.#parts.defaultsIn(cluster, wanted);
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

  /** Why not, when it cannot be said. */
  async #wantedBy(type = ""): Promise<readonly DefaultBinding[] | string> {
    const at = type.lastIndexOf(":");
    const [path, name] = [type.slice(0, Math.max(at, 0)), type.slice(at + 1)];
    const { types } = this.#parts;
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
    const { registry, clock } = this.#parts;
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
    const rules = { ...systemWriteOptions, subresource: systemWrite, isDerived: true };
    const address = clusterScoped(cluster, logicalClusterName);
    await registry.update(logicalClusters, address, build, rules);
  }
}

function failed(reason: string, severity: "Error" | "Info", message: string): Condition {
  return { type: conditionType, status: "False", severity, reason, message };
}
