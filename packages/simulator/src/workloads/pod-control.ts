/**
 * Creates and deletes the Pods of an owner, with expectations: the part that all workload
 * controllers share.
 */
import { generateName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import type {
  Client,
  Indexers,
  KubernetesObject,
  ObjectInput,
  ObjectSource,
  Resource,
} from "@kcp-ts/sdk";
import {
  controlledBy,
  controllerOf,
  createUnread,
  isTerminating,
  ownedBy,
  type Pod,
  type PodTemplate,
  pods,
} from "../api/index.ts";
import type { WorkloadContext } from "./context.ts";
import { Expectations } from "./expectations.ts";

/** The limit on concurrent creations. */
const createConcurrencyMax = 64;
const nameTriesMax = 8;

export interface PodOfTemplate {
  readonly owner: KubernetesObject;
  readonly template: PodTemplate;
  /** Generated from the owner's name if omitted. */
  readonly name?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

export class PodControl {
  readonly source: ObjectSource<Pod>;
  readonly #expectations: Expectations;
  readonly #context: WorkloadContext;
  readonly #owner: Resource;

  constructor(context: WorkloadContext, owner: Resource) {
    this.#context = context;
    this.#owner = owner;
    this.#expectations = new Expectations(context.clock);
    this.source = context.clusters.source<Pod>(pods, { indexers: controlledBy as Indexers<Pod> });
    this.source.addHandler({
      added: (pod) => this.#saw(pod, "created"),
      updated: (pod, { previous }) => {
        if (isTerminating(pod) && !isTerminating(previous)) this.#saw(pod, "deleted");
      },
      deleted: (pod) => this.#saw(pod, "deleted"),
    });
  }

  /** All Pods of the owner, terminating and completed ones included. */
  of({ metadata: { uid = "" } }: KubernetesObject, cluster: string): Pod[] {
    return this.source.store.byIndex("controller", { cluster: cluster as never, value: uid });
  }

  /** Whether the cache has observed all writes. */
  isObserved({ metadata: { uid = "" } }: KubernetesObject): boolean {
    return this.#expectations.isMet(uid);
  }

  forget(uid: string): void {
    this.#expectations.forget(uid);
  }

  /** The name is given or generated here: so it is known before the server responds. */
  async create(client: Client, options: PodOfTemplate): Promise<string> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#createOne(client, options);
      } catch (error) {
        const isTaken = options.name === undefined && isStatusError(error, "AlreadyExists");
        if (!isTaken || tries >= nameTriesMax) throw this.#tellFailed(options, error);
      }
    }
  }

  async #createOne(client: Client, options: PodOfTemplate): Promise<string> {
    const { owner } = options;
    const name = options.name ?? generateName(`${owner.metadata.name}-`, this.#context.random);
    const ownerUid = owner.metadata.uid ?? "";
    this.#expectations.creating(ownerUid, name);
    try {
      await createUnread(client, pods, podOf({ ...options, name }, options, this.#owner));
      this.#context.recordEvent(owner, {
        type: "Normal",
        reason: "SuccessfulCreate",
        message: `Created pod: ${name}`,
      });
      return name;
    } catch (error) {
      this.#expectations.created(ownerUid, name);
      throw error;
    }
  }

  #tellFailed({ owner }: PodOfTemplate, error: unknown): unknown {
    this.#context.recordEvent(owner, {
      type: "Warning",
      reason: "FailedCreate",
      message: `Error creating: ${error instanceof Error ? error.message : String(error)}`,
    });
    return error;
  }

  /**
   * Creates in batches that double while all succeed, so that an owner whose Pods are rejected does
   * not send hundreds of requests.
   */
  async createMany(client: Client, count: number, options: PodOfTemplate): Promise<void> {
    let batch = 1;
    for (let left = count; left > 0; ) {
      const size = Math.min(batch, left, createConcurrencyMax);
      const results = await Promise.allSettled(
        Array.from({ length: size }, () => this.create(client, options)),
      );
      const failed = results.find((one) => one.status === "rejected");
      // A namespace that is being deleted accepts no Pods, and its owners are deleted with it: as
      // in Kubernetes, there is no retry.
      if (failed !== undefined && isNamespaceGoing(failed.reason)) return;
      if (failed !== undefined) throw failed.reason;
      left -= size;
      batch *= 2;
    }
  }

  async delete(client: Client, owner: KubernetesObject, pod: Pod): Promise<void> {
    const { name, namespace, uid = "" } = pod.metadata;
    const ownerUid = owner.metadata.uid ?? "";
    this.#expectations.deleting(ownerUid, uid);
    try {
      await client
        .resource(pods)
        .delete(
          { name, ...(namespace === undefined ? {} : { namespace }) },
          { preconditions: { uid } },
        );
      this.#context.recordEvent(owner, {
        type: "Normal",
        reason: "SuccessfulDelete",
        message: `Deleted pod: ${name}`,
      });
    } catch (error) {
      this.#expectations.deleted(ownerUid, uid);
      if (!isStatusError(error, "NotFound") && !isStatusError(error, "Conflict")) throw error;
    }
  }

  async deleteMany(
    client: Client,
    owner: KubernetesObject,
    victims: readonly Pod[],
  ): Promise<void> {
    for (let at = 0; at < victims.length; at += createConcurrencyMax)
      await Promise.all(
        victims.slice(at, at + createConcurrencyMax).map((pod) => this.delete(client, owner, pod)),
      );
  }

  #saw(pod: Pod, what: "created" | "deleted"): void {
    const owner = controllerOf(pod);
    if (owner?.kind !== this.#owner.kind) return;
    const { name, uid = "" } = pod.metadata;
    this.#expectations.created(owner.uid, name);
    if (what === "deleted") this.#expectations.deleted(owner.uid, uid);
  }
}

function podOf(
  options: PodOfTemplate & { readonly name: string },
  asked: PodOfTemplate,
  ownerResource: Resource,
): ObjectInput<Pod> {
  const { owner, template, name, labels, annotations, spec } = options;
  const { name: ownerName, namespace } = owner.metadata;
  const templateAnnotations = { ...template.metadata?.annotations, ...annotations };
  return {
    metadata: {
      name,
      ...(asked.name === undefined ? { generateName: `${ownerName}-` } : {}),
      ...(namespace === undefined ? {} : { namespace }),
      labels: { ...template.metadata?.labels, ...labels },
      ...(Object.keys(templateAnnotations).length === 0
        ? {}
        : { annotations: templateAnnotations }),
      ownerReferences: [ownedBy(owner, ownerResource)],
    },
    spec: { ...template.spec, ...spec } as Pod["spec"],
  };
}

function isNamespaceGoing(error: unknown): boolean {
  return (
    isStatusError(error, "Forbidden") &&
    error.status.details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") === true
  );
}
