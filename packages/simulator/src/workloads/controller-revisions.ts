/**
 * The revision history of StatefulSets and DaemonSets: one ControllerRevision for each template,
 * numbered in the order of use.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Client, Indexers, KubernetesObject, ObjectSource, Resource } from "@kcp-ts/sdk";
import {
  type ControllerRevision,
  controlledBy,
  controllerRevisions,
  ownedBy,
  type PodTemplate,
} from "../api/index.ts";
import type { WorkloadContext } from "./context.ts";
import { templateHash } from "./revisions.ts";

export const revisionLabel = "controller-revision-hash";

export interface Templated extends KubernetesObject {
  readonly spec: { readonly template: PodTemplate; readonly revisionHistoryLimit?: number };
}

export class ControllerRevisions {
  readonly #source: ObjectSource<ControllerRevision>;
  readonly #owner: Resource;

  constructor({ clusters }: WorkloadContext, owner: Resource) {
    this.#owner = owner;
    this.#source = clusters.source<ControllerRevision>(controllerRevisions, {
      indexers: controlledBy as Indexers<ControllerRevision>,
    });
  }

  /** The revisions of one owner, oldest first. */
  of({ metadata: { uid = "" } }: KubernetesObject, cluster: string): ControllerRevision[] {
    return this.#source.store
      .byIndex("controller", { cluster: cluster as never, value: uid })
      .sort((a, b) => a.revision - b.revision);
  }

  /** The revision of the owner's current template: created, or made the newest again. */
  async current(owner: Templated, cluster: string, client: Client): Promise<string> {
    const hash = templateHash(owner.spec.template, 0);
    const name = `${owner.metadata.name}-${hash}`;
    const known = this.of(owner, cluster);
    const newest = known.at(-1);
    if (newest?.metadata.name === name) return name;
    const revision = (newest?.revision ?? 0) + 1;
    const there = known.find(({ metadata }) => metadata.name === name);
    if (there !== undefined)
      await client.resource(controllerRevisions).update({ ...there, revision });
    else await this.#create(owner, name, hash, revision, client);
    return name;
  }

  async #create(
    owner: Templated,
    name: string,
    hash: string,
    revision: number,
    client: Client,
  ): Promise<void> {
    const { namespace = "" } = owner.metadata;
    const template = { ...(owner.spec.template as unknown as JsonObject), $patch: "replace" };
    try {
      await client
        .resource(controllerRevisions)
        .create({
          metadata: {
            name,
            namespace,
            labels: { ...owner.spec.template.metadata?.labels, [revisionLabel]: hash },
            ownerReferences: [ownedBy(owner, this.#owner)],
          },
          data: { spec: { template } },
          revision,
        });
    } catch (error) {
      if (!isStatusError(error, "AlreadyExists")) throw error;
    }
  }

  /** Deletes old revisions beyond the limit that no Pod runs any more. */
  async forget(
    owner: Templated,
    cluster: string,
    inUse: ReadonlySet<string>,
    client: Client,
  ): Promise<void> {
    const idle = this.of(owner, cluster).filter(({ metadata }) => !inUse.has(metadata.name));
    const surplus = idle.length - (owner.spec.revisionHistoryLimit ?? 10);
    for (const { metadata } of idle.slice(0, Math.max(0, surplus))) {
      const { name, namespace = "" } = metadata;
      await client
        .resource(controllerRevisions)
        .delete({ name, namespace })
        .catch((error: unknown) => {
          if (!isStatusError(error, "NotFound")) throw error;
        });
    }
  }
}
