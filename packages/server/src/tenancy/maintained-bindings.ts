/**
 * Default bindings that are kept (`defaultAPIBindingLifecycle: Maintain`): workspaces that are there already get what is added to their type, and get
 * back what they lost.
 *
 * Nothing is held per workspace: when a type says something else, all logical clusters are looked through once.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type Entry, parseObjectKey } from "../storage/index.ts";
import { decodeObject } from "../stored-object/index.ts";
import type { HubEvent } from "../watch-cache/index.ts";
import { JobQueue } from "./job-queue.ts";
import { logicalClusters, workspaceTypes } from "./kinds/definitions.ts";
import { logicalClusterKey, type Parts } from "./parts.ts";
import { type DefaultBinding, readWorkspaceType } from "./records.ts";
import type { Look } from "./survey.ts";
import { maintainedBindingsOf, WorkspaceTypeError } from "./workspace-types.ts";

export interface MaintainedBindingsOptions {
  readonly parts: Parts;
  readonly survey: (looks: readonly Look[]) => void;
  readonly onError: (error: unknown) => void;
}

/** What a workspace is to be bound to for as long as it is there. */
export interface Maintained {
  /** Of the workspace. */
  readonly path: string;
  readonly bindings: readonly DefaultBinding[];
}

const nothing: Maintained = { path: "", bindings: [] };

export class MaintainedBindings {
  readonly #options: MaintainedBindingsOptions;
  readonly #jobs: JobQueue<ClusterName>;

  constructor(options: MaintainedBindingsOptions) {
    const { parts, onError } = options;
    this.#options = options;
    this.#jobs = new JobQueue<ClusterName>({
      clock: parts.clock,
      onError,
      work: (cluster) => this.#settle(cluster),
    });
  }

  /** A type that was changed while nobody was there to see it is as good as one that changes now. */
  start(): void {
    this.#options.survey([{ definition: workspaceTypes, look: (entry) => this.#lookAt(entry) }]);
  }

  stop(): Promise<void> {
    return this.#jobs.stop();
  }

  onType({ current }: HubEvent): void {
    if (current !== undefined) this.#lookAt(current);
  }

  async in(cluster: ClusterName): Promise<Maintained> {
    const { types, logicalClusterIndex } = this.#options.parts;
    const logical = await logicalClusterIndex.get(logicalClusterKey(cluster));
    const type = logical?.type;
    if (logical === undefined || logical.isDeleted || type === undefined) return nothing;
    const at = type.lastIndexOf(":");
    const found = at < 0 ? undefined : await types.find(type.slice(0, at), type.slice(at + 1));
    if (found === undefined) return nothing;
    try {
      const bindings = maintainedBindingsOf(await types.resolve(found));
      return { path: logical.path ?? cluster, bindings };
    } catch (error) {
      // A type that was made unusable keeps nothing.
      if (error instanceof WorkspaceTypeError) return nothing;
      throw error;
    }
  }

  #lookAt(entry: Entry): void {
    if (!readWorkspaceType(decodeObject(entry)).maintainsBindings) return;
    // Which types are one of this one is not known without looking.
    const look = ({ key }: Entry) => this.#jobs.add(parseObjectKey(key).cluster);
    this.#options.survey([{ definition: logicalClusters, look }]);
  }

  async #settle(cluster: ClusterName): Promise<undefined> {
    const { path, bindings } = await this.in(cluster);
    if (bindings.length > 0) await this.#options.parts.keepDefaults(cluster, path, bindings);
  }
}
