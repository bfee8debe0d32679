/**
 * The WorkloadStrategies of all logical clusters, and their compilation results. Each applies in
 * its own logical cluster only: tenants may coordinate the same kind in different ways.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { formatGroupResource } from "@kcp-ts/machinery/status";
import {
  type Client,
  type Clusters,
  findCondition,
  type ObjectKey,
  type ObjectStore,
  setCondition,
} from "@kcp-ts/sdk";
import { type WorkloadStrategy, workloadStrategies } from "../api/index.ts";
import { customStrategy, resourceOf } from "./kinds/custom.ts";
import type { Strategy } from "./strategy.ts";

export interface CustomStrategiesOptions {
  readonly client: Client;
  /** The watch of WorkloadStrategies; the caller runs it. */
  readonly clusters: Clusters;
  /** Kinds that have a built-in strategy, as `resource.group`. */
  readonly kindsWithStrategy: ReadonlySet<string>;
  readonly clock: Clock;
  /** Called when a kind is to be coordinated. */
  readonly onKind: (strategy: Strategy) => void;
  readonly onError: (error: unknown, key?: ObjectKey) => void;
}

export interface CustomKind {
  readonly resource: Strategy["copies"];
  /** The path from an object to its Pod template, where the WorkloadStrategy has one. */
  readonly templatePath: readonly string[] | undefined;
}

const fieldManager = "kcp-coordinator";

export class CustomStrategies {
  readonly #options: CustomStrategiesOptions;
  readonly #store: ObjectStore<WorkloadStrategy>;
  /** The strategy of a kind and version for all logical clusters, by kind and version. */
  readonly #kinds = new Map<
    string,
    { readonly strategy: Strategy; readonly listeners: Set<Listener> }
  >();
  /** The compiled strategy of a generation, by uid. */
  readonly #compiled = new Map<
    string,
    { readonly generation: number; readonly result: Strategy | string }
  >();

  constructor(options: CustomStrategiesOptions) {
    this.#options = options;
    const source = options.clusters.source(workloadStrategies);
    this.#store = source.store;
    source.addHandler({
      added: (object, { key }) => this.#changed(object, key),
      updated: (object, { key, previous }) => {
        if (idOf(previous) !== idOf(object)) this.#tell(previous, key);
        this.#changed(object, key);
      },
      deleted: (object, { key }) => {
        this.#compiled.delete(object.metadata.uid ?? "");
        this.#tell(object, key);
      },
    });
  }

  /**
   * The custom kinds with per-cluster objects in a logical cluster; the objects of an invalid
   * WorkloadStrategy stay unchanged, and keep their dependencies.
   */
  in(cluster: string): readonly CustomKind[] {
    const kinds = new Map<string, CustomKind>();
    for (const one of this.#listed(cluster)) {
      const resource = resourceOf(one.spec);
      if (
        kinds.has(idOf(one)) ||
        this.#options.kindsWithStrategy.has(formatGroupResource(resource))
      )
        continue;
      kinds.set(idOf(one), { resource, templatePath: one.spec.podTemplatePath?.split(".") });
    }
    return [...kinds.values()];
  }

  /** Calls the listener once for each kind, including the kinds that are already known. */
  onKind(listener: (kind: Strategy["copies"]) => void): void {
    this.#kindListeners.push(listener);
    for (const { strategy } of this.#told) listener(strategy.copies);
  }

  readonly #kindListeners: ((kind: Strategy["copies"]) => void)[] = [];
  readonly #told = new Set<{ readonly strategy: Strategy }>();

  #tellKind(kind: { readonly strategy: Strategy }): void {
    if (this.#told.has(kind)) return;
    this.#told.add(kind);
    for (const listener of this.#kindListeners) listener(kind.strategy.copies);
  }

  #changed(object: WorkloadStrategy, key: ObjectKey): void {
    const { strategy } = this.#kindOf(object);
    const compiled = this.#compile(object);
    this.#say(object, key, compiled).catch((error: unknown) => this.#options.onError(error, key));
    if (typeof compiled === "string") return;
    this.#options.onKind(strategy);
    this.#tellKind(this.#kindOf(object));
    this.#tell(object, key);
  }

  #tell(object: WorkloadStrategy, { cluster }: ObjectKey): void {
    for (const listener of this.#kindOf(object).listeners) listener(cluster);
  }

  /**
   * One strategy for all logical clusters; it looks up the WorkloadStrategy of the object's logical
   * cluster.
   */
  #kindOf(object: WorkloadStrategy) {
    const id = idOf(object);
    const known = this.#kinds.get(id);
    if (known !== undefined) return known;
    const listeners = new Set<Listener>();
    const resource = resourceOf(object.spec);
    const plain = customStrategy({
      ...object,
      spec: {
        ...object.spec,
        strategy: "Duplicate",
        available: "0",
        observed: "false",
        status: {},
      },
    });
    if (typeof plain === "string") throw new Error(plain);
    const strategy: Strategy = {
      ...plain,
      workloads: resource,
      copies: resource,
      inCluster: (cluster) => this.#inCluster(cluster, id),
      onChange: (listener) => listeners.add(listener),
    };
    const made = { strategy, listeners };
    this.#kinds.set(id, made);
    return made;
  }

  /** The first valid WorkloadStrategy by name. */
  #inCluster(cluster: string, id: string): Strategy | undefined {
    for (const one of this.#listed(cluster)) {
      if (idOf(one) !== id || one.metadata.deletionTimestamp !== undefined) continue;
      const compiled = this.#compile(one);
      if (typeof compiled !== "string") return compiled;
    }
    return undefined;
  }

  #listed(cluster: string): readonly WorkloadStrategy[] {
    const all = this.#store.list({ cluster: cluster as ObjectKey["cluster"] });
    return all.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  }

  #compile(object: WorkloadStrategy): Strategy | string {
    const { uid = "", generation = 0 } = object.metadata;
    const known = this.#compiled.get(uid);
    if (known?.generation === generation) return known.result;
    const name = formatGroupResource(resourceOf(object.spec));
    const result = this.#options.kindsWithStrategy.has(name)
      ? `${name} has a strategy of its own, which cannot be replaced`
      : customStrategy(object);
    this.#compiled.set(uid, { generation, result });
    return result;
  }

  async #say(
    strategy: WorkloadStrategy,
    { cluster }: ObjectKey,
    compiled: Strategy | string,
  ): Promise<void> {
    const type = "Accepted";
    const before = findCondition(strategy.status?.conditions, type);
    const after = setCondition(
      before === undefined ? [] : [before],
      typeof compiled === "string"
        ? { type, status: "False", reason: "Invalid", message: compiled }
        : {
            type,
            status: "True",
            reason: "Valid",
            message: "objects of this kind are coordinated",
          },
      this.#options.clock.now(),
    );
    if (before !== undefined && after[0] === before) return;
    const resource = this.#options.client.inCluster(cluster).resource(workloadStrategies);
    const options = { fieldManager, force: true };
    await resource.sameObject(strategy).applyStatusFields({ conditions: after }, options);
  }
}

type Listener = (cluster: string) => void;

function idOf({ spec }: WorkloadStrategy): string {
  const { group = "", version, resource, kind } = spec;
  return `${resource}.${version}.${group} ${kind}`;
}
