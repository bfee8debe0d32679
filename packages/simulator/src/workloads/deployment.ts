/**
 * Deployments: one ReplicaSet for each revision of the template, and the rollout from one to the
 * next.
 */
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  Controller,
  enqueueOwner,
  type Indexers,
  type ObjectInput,
  type ObjectKey,
  type ObjectSource,
  type ReconcileResult,
} from "@kcp-ts/sdk";
import {
  controlledBy,
  type Deployment,
  deployments,
  isTerminating,
  ownedBy,
  type Pod,
  pods,
  type ReplicaSet,
  replicaSets,
  writeStatus,
} from "../api/index.ts";
import type { WorkloadContext } from "./context.ts";
import { deploymentStatus, type Progress } from "./deployment-status.ts";
import {
  desiredAnnotation,
  hashLabel,
  isSameTemplate,
  maxAnnotation,
  nextRevision,
  revisionAnnotation,
  revisionOf,
  setAnnotations,
  setOfTemplate,
  templateHash,
} from "./revisions.ts";
import {
  byAge,
  isScaling,
  newSetReplicas,
  type Resize,
  replicasOf,
  rollingLimitsOf,
  scaleDownOldSets,
  scaleProportionally,
} from "./rollout.ts";

export function deploymentController(context: WorkloadContext): Controller {
  const found = context.clusters.source(deployments);
  const sets = context.clusters.source<ReplicaSet>(replicaSets, {
    indexers: controlledBy as Indexers<ReplicaSet>,
  });
  const running = context.clusters.source<Pod>(pods, { indexers: controlledBy as Indexers<Pod> });
  return new Controller({
    name: "deployment",
    ...context,
    concurrency: 8,
    async reconcile(key, { client }) {
      const deployment = found.store.get(key);
      if (deployment === undefined || isTerminating(deployment)) return undefined;
      const owned = byAge(
        sets.store
          .byIndex("controller", { cluster: key.cluster, value: deployment.metadata.uid ?? "" })
          .filter((set) => !isTerminating(set)),
      );
      return new Rollout({ context, client, key, deployment, owned, running }).run();
    },
  })
    .watch(deployments)
    .watch(replicaSets, { map: enqueueOwner(deployments) });
}

interface RolloutInput {
  readonly context: WorkloadContext;
  readonly client: Client;
  readonly key: ObjectKey;
  readonly deployment: Deployment;
  /** Oldest first. */
  readonly owned: readonly ReplicaSet[];
  readonly running: ObjectSource<Pod>;
}

/** One reconcile of one Deployment: at most one step, then its status. */
class Rollout {
  readonly #facts: RolloutInput;
  #current: ReplicaSet | undefined;
  #old: readonly ReplicaSet[];
  #progress: Progress | undefined;
  #collisions: number | undefined;
  #deployment: Deployment;

  constructor(facts: RolloutInput) {
    this.#facts = facts;
    this.#deployment = facts.deployment;
    this.#current = setOfTemplate(facts.deployment, facts.owned);
    this.#old = facts.owned.filter((set) => set !== this.#current);
    this.#collisions = facts.deployment.status?.collisionCount;
  }

  async run(): Promise<ReconcileResult> {
    const { spec } = this.#deployment;
    this.#notePause();
    if (spec.paused === true || isScaling(this.#deployment, this.#facts.owned)) {
      if (this.#current !== undefined) await this.#ensureCurrent();
      await this.#resize(scaleProportionally(this.#deployment, this.#current, this.#old));
      if (spec.paused === true) await this.#forgetOld();
    } else if (spec.strategy?.type === "Recreate") await this.#recreate();
    else await this.#roll();
    return this.#writeStatus();
  }

  async #roll(): Promise<void> {
    await this.#ensureCurrent();
    const current = this.#current as ReplicaSet;
    const replicas = newSetReplicas(this.#deployment, current, this.#old);
    if (await this.#resize([{ set: current, replicas }])) return;
    if (await this.#resize(scaleDownOldSets(this.#deployment, current, this.#old))) return;
    await this.#forgetOld();
  }

  async #recreate(): Promise<void> {
    if (await this.#resize(this.#old.filter((set) => replicasOf(set) > 0).map(toNone))) return;
    if (this.#old.some((set) => this.#hasPods(set))) return;
    await this.#ensureCurrent();
    const current = this.#current as ReplicaSet;
    await this.#resize([{ set: current, replicas: this.#deployment.spec.replicas ?? 1 }]);
    await this.#forgetOld();
  }

  #hasPods({ metadata: { uid = "" } }: ReplicaSet): boolean {
    const { running, key } = this.#facts;
    return running.store
      .byIndex("controller", { cluster: key.cluster, value: uid })
      .some(({ status }) => status?.phase !== "Succeeded" && status?.phase !== "Failed");
  }

  /** The ReplicaSet of the current template: created, or its annotations updated. */
  async #ensureCurrent(): Promise<void> {
    const revision = nextRevision(this.#old);
    const { client } = this.#facts;
    if (this.#current === undefined) this.#current = await this.#create(revision);
    else {
      const annotations = setAnnotations(this.#deployment, this.#current, revision);
      const minReadySeconds = this.#deployment.spec.minReadySeconds ?? 0;
      const isSame =
        same(annotations, this.#current.metadata.annotations ?? {}) &&
        (this.#current.spec.minReadySeconds ?? 0) === minReadySeconds;
      if (!isSame) {
        const metadata = { ...this.#current.metadata, annotations };
        const spec = { ...this.#current.spec, minReadySeconds };
        this.#current = await client
          .resource(replicaSets)
          .update({ ...this.#current, metadata, spec });
      }
      if (!this.#deployment.status?.conditions?.some(({ type }) => type === "Progressing"))
        this.#note(
          "True",
          "FoundNewReplicaSet",
          `Found new replica set "${this.#current.metadata.name}"`,
        );
    }
    await this.#noteRevision(revisionOf(this.#current));
  }

  async #create(revision: number): Promise<ReplicaSet> {
    const { client, key } = this.#facts;
    const input = this.#newSet(revision);
    const resource = client.resource(replicaSets);
    try {
      const made = await resource.create(input);
      const { name } = made.metadata;
      this.#note("True", "NewReplicaSetCreated", `Created new replica set "${name}"`);
      this.#tellScaled(made, 0, replicasOf(made));
      return made;
    } catch (error) {
      if (!isStatusError(error, "AlreadyExists")) throw error;
      const { name = "" } = input.metadata;
      const there = await resource.get({ name, namespace: key.namespace });
      const isOurs =
        there.metadata.ownerReferences?.some(({ uid }) => uid === this.#deployment.metadata.uid) &&
        isSameTemplate(there.spec.template, this.#deployment.spec.template);
      if (isOurs) return there;
      // Another template has the same hash: the next collision count is tried.
      this.#collisions = (this.#collisions ?? 0) + 1;
      await this.#writeStatus();
      throw error;
    }
  }

  #newSet(revision: number): ObjectInput<ReplicaSet> {
    const { metadata, spec } = this.#deployment;
    const hash = templateHash(spec.template, this.#collisions ?? 0);
    const labels = { ...spec.template.metadata?.labels, [hashLabel]: hash };
    const replicas = newSetReplicas(this.#deployment, undefined, this.#old);
    return {
      metadata: {
        name: `${metadata.name}-${hash}`,
        namespace: metadata.namespace ?? "",
        labels,
        annotations: {
          ...setAnnotations(this.#deployment, undefined, revision),
          ...this.#sizeAnnotations(),
        },
        ownerReferences: [ownedBy(this.#deployment, deployments)],
      },
      spec: {
        replicas,
        ...(spec.minReadySeconds === undefined ? {} : { minReadySeconds: spec.minReadySeconds }),
        selector: {
          ...spec.selector,
          matchLabels: { ...spec.selector.matchLabels, [hashLabel]: hash },
        },
        template: { ...spec.template, metadata: { ...spec.template.metadata, labels } },
      },
    };
  }

  #sizeAnnotations(): Record<string, string> {
    const replicas = this.#deployment.spec.replicas ?? 1;
    return {
      [desiredAnnotation]: String(replicas),
      [maxAnnotation]: String(replicas + rollingLimitsOf(this.#deployment).surge),
    };
  }

  async #noteRevision(revision: number): Promise<void> {
    const { annotations } = this.#deployment.metadata;
    if (annotations?.[revisionAnnotation] === String(revision)) return;
    const metadata = {
      ...this.#deployment.metadata,
      annotations: { ...annotations, [revisionAnnotation]: String(revision) },
    };
    this.#deployment = await this.#facts.client
      .resource(deployments)
      .update({ ...this.#deployment, metadata });
  }

  /**
   * Whether any ReplicaSet changed its size. Annotations with the Deployment's desired replicas are
   * updated with the size.
   */
  async #resize(resizes: readonly Resize[]): Promise<boolean> {
    let isChanged = false;
    for (const { set, replicas } of resizes) {
      const annotations = { ...set.metadata.annotations, ...this.#sizeAnnotations() };
      const before = replicasOf(set);
      if (before === replicas && same(annotations, set.metadata.annotations ?? {})) continue;
      const resized = await this.#facts.client
        .resource(replicaSets)
        .update({
          ...set,
          metadata: { ...set.metadata, annotations },
          spec: { ...set.spec, replicas },
        });
      if (set === this.#current) this.#current = resized;
      else this.#old = this.#old.map((one) => (one === set ? resized : one));
      if (before === replicas) continue;
      isChanged = true;
      this.#tellScaled(set, before, replicas);
    }
    return isChanged;
  }

  #tellScaled({ metadata: { name } }: ReplicaSet, before: number, after: number): void {
    if (before === after) return;
    const way = after > before ? "up" : "down";
    this.#facts.context.recordEvent(this.#deployment, {
      type: "Normal",
      reason: "ScalingReplicaSet",
      message: `Scaled ${way} replica set ${name} from ${before} to ${after}`,
    });
  }

  /** Deletes old revisions beyond the limit, when none of their Pods run. */
  async #forgetOld(): Promise<void> {
    const limit = this.#deployment.spec.revisionHistoryLimit ?? 10;
    const idle = this.#old.filter(
      (set) =>
        replicasOf(set) === 0 &&
        (set.status?.replicas ?? 0) === 0 &&
        (set.metadata.generation ?? 0) <= (set.status?.observedGeneration ?? 0),
    );
    if (this.#old.length <= limit) return;
    const surplus = idle
      .sort((a, b) => revisionOf(a) - revisionOf(b))
      .slice(0, this.#old.length - limit);
    for (const { metadata } of surplus) {
      const { name, namespace = "", uid = "" } = metadata;
      await this.#facts.client
        .resource(replicaSets)
        .delete({ name, namespace }, { preconditions: { uid } })
        .catch((error: unknown) => {
          if (!isStatusError(error, "NotFound")) throw error;
        });
    }
  }

  #notePause(): void {
    const known = this.#deployment.status?.conditions?.find(({ type }) => type === "Progressing");
    if (known?.reason === "ProgressDeadlineExceeded") return;
    const isPaused = this.#deployment.spec.paused === true;
    if (isPaused && known?.reason !== "DeploymentPaused")
      this.#note("Unknown", "DeploymentPaused", "Deployment is paused");
    else if (!isPaused && known?.reason === "DeploymentPaused")
      this.#note("Unknown", "DeploymentResumed", "Deployment is resumed");
  }

  #note(status: Progress["status"], reason: string, message: string): void {
    this.#progress = { status, reason, message };
  }

  async #writeStatus(): Promise<ReconcileResult> {
    const { context, client } = this.#facts;
    const status = deploymentStatus({
      deployment: this.#deployment,
      progress: this.#progress,
      current: this.#current,
      old: this.#old,
      collisionCount: this.#collisions,
      knowsTerminatingReplicas: context.knowsTerminatingReplicas,
      nowMs: context.clock.now(),
    });
    if (!same(status, this.#deployment.status ?? {}))
      await writeStatus(client, deployments, this.#deployment, status);
    const progressing = status.conditions?.find(({ type }) => type === "Progressing");
    const isWaiting =
      progressing?.status === "True" && progressing.reason !== "NewReplicaSetAvailable";
    if (!isWaiting || this.#deployment.spec.paused === true) return undefined;
    const seconds = this.#deployment.spec.progressDeadlineSeconds ?? 600;
    const dueMs = Date.parse(progressing.lastUpdateTime ?? "") + (seconds + 1) * 1000;
    return { requeueAfterMs: Math.max(1000, dueMs - context.clock.now()) };
  }
}

function toNone(set: ReplicaSet): Resize {
  return { set, replicas: 0 };
}

function same(a: unknown, b: unknown): boolean {
  return jsonEqual(a as JsonValue, b as JsonValue);
}
