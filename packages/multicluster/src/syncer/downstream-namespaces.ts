/**
 * The namespaces in the cluster: created when the first object needs one, rejected when a namespace
 * of that name belongs to another owner, and deleted when the upstream namespace is deleted and the
 * namespace has been empty for a while, both confirmed by live reads. When the SyncTarget is being
 * deleted, each namespace is deleted as soon as it is empty; one with volumes stays, because
 * nothing upstream says that their data may go.
 */
import { onAbort, runTogether } from "@kcp-ts/machinery/base";
import { rootCluster } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  Informer,
  type KubernetesObject,
  type ObjectKey,
  type Resource,
  stringMember,
} from "@kcp-ts/sdk";
import {
  downstreamLabel,
  namespaceLocatorAnnotation,
  namespaceLocatorAnnotations,
  namespaceSignatureAnnotation,
  tenantLabel,
} from "../api/index.ts";
import { runCacheVerifier } from "./cache-verifier.ts";
import { namespaces, persistentVolumeClaims, type SyncContext } from "./context.ts";
import { isProof, namespaceProof } from "./namespace-proof.ts";
import {
  downstreamNamespace,
  formatLocator,
  type NamespaceLocator,
  parseLocator,
  targetKey,
  tenantId,
} from "./origin.ts";
import { isEnforced, podSecurityLabels, securityLabels } from "./pod-security.ts";
import { isObjectNotFound, SyncError } from "./sync-error.ts";

/** How long a namespace has no synced objects and no upstream namespace before it is deleted. */
export const emptyNamespaceDelayMs = 30_000;

/** Several objects that leave a namespace together are one check. */
const leavingDelayMs = 500;
const leavingRetryMs = 5000;

/** The number of cached namespace names; the cache is cleared when it is full. */
const namesMax = 10_000;

interface CachedNamespace {
  readonly metadata: {
    readonly name: string;
    readonly uid: string | undefined;
    readonly resourceVersion: string | undefined;
  };
  readonly locator: NamespaceLocator | undefined;
  readonly proof: string | undefined;
  /** The enforced Pod security level of the namespace. */
  readonly enforced: string | undefined;
  readonly isTerminating: boolean;
}

type At = Pick<ObjectKey, "cluster" | "namespace">;

export interface DownstreamNamespacesOptions {
  readonly context: SyncContext;
  /** Called when a namespace of the syncer has appeared: its objects can be located now. */
  readonly onAdded: (namespace: string) => void;
  /** All resources that are currently synced. */
  readonly resources: () => readonly Resource[];
}

export class DownstreamNamespaces {
  readonly #options: DownstreamNamespacesOptions;
  readonly #informer: Informer<KubernetesObject, CachedNamespace>;
  /** Created by this syncer and not yet observed by the informer. */
  readonly #made = new Set<string>();
  /** What cancels the next check, by the name of the namespace. */
  readonly #planned = new Map<string, () => void>();
  #isLeaving = false;
  /** Namespaces with objects that nothing upstream holds: they stay, and are not waited for. */
  readonly #kept = new Set<string>();
  /** Names are hashes, and are needed all the time. */
  readonly #names = new Map<string, string>();

  constructor(options: DownstreamNamespacesOptions) {
    this.#options = options;
    const { target, downstream, clock, random, onError } = options.context;
    this.#informer = new Informer({
      client: downstream,
      resource: namespaces,
      scope: { cluster: rootCluster },
      selector: { labelSelector: `${downstreamLabel}=${targetKey(target)}` },
      transform: cachedNamespace,
      clock,
      random,
      onError,
    });
    options.context.podSecurity.onChange(() => {
      for (const { metadata } of this.#informer.store.list())
        this.#secure(metadata.name, "exactly");
    });
    this.#informer.addHandler({
      added: ({ metadata: { name } }) => {
        this.#made.delete(name);
        options.onAdded(name);
        this.#secure(name, "exactly");
        this.#plan(name);
      },
      updated: (now, { previous }) => {
        const { name } = now.metadata;
        if (now.proof !== previous.proof) options.onAdded(name);
        if (now.enforced !== previous.enforced) this.#secure(name, "at least");
      },
      deleted: ({ metadata: { name } }) => void this.#made.delete(name),
    });
  }

  async run(): Promise<void> {
    const { downstream: client, target, signal, clock, random, onError } = this.#options.context;
    const labelSelector = `${downstreamLabel}=${targetKey(target)}`;
    const scope = { cluster: rootCluster };
    const audited = { informer: this.#informer, client, scope, labelSelector };
    await runTogether(signal, [
      (stop) => this.#informer.run(stop),
      (stop) => runCacheVerifier({ ...audited, clock, random, onError }, stop),
    ]);
  }

  get hasSynced(): boolean {
    return this.#informer.hasSynced;
  }

  synced(signal: AbortSignal): Promise<void> {
    return this.#informer.synced(signal);
  }

  nameFor(at: At): string {
    const id = `${at.cluster}|${at.namespace}`;
    const known = this.#names.get(id);
    if (known !== undefined) return known;
    const name = downstreamNamespace(this.#options.context.target, at);
    if (this.#names.size >= namesMax) this.#names.clear();
    this.#names.set(id, name);
    return name;
  }

  /**
   * The upstream namespace of a downstream namespace; undefined for a namespace that this syncer
   * did not create.
   */
  locate(name: string): At | undefined {
    const at = this.#saidOf(name);
    return at !== undefined && this.#isProven(at, this.#cached(name)?.proof) ? at : undefined;
  }

  /** The upstream namespace by the annotation alone, which any client in the cluster can write. */
  #saidOf(name: string): At | undefined {
    const locator = this.#cached(name)?.locator;
    return locator !== undefined && this.#isOurs(name, locator) ? locator : undefined;
  }

  #isProven(at: At, proof: string | undefined): boolean {
    const { target, namespaceKey } = this.#options.context;
    return isProof(namespaceProof(namespaceKey, target, at), proof);
  }

  /**
   * Resolves when the namespace exists and belongs to the syncer. Throws a SyncError when it
   * belongs to another owner.
   */
  async ensure(at: At): Promise<string> {
    const name = this.nameFor(at);
    if (this.#made.has(name)) return name;
    const cached = this.#cached(name);
    if (cached !== undefined && !cached.isTerminating && this.locate(name) !== undefined)
      return name;
    const { context } = this.#options;
    const resource = context.downstream.resource(namespaces);
    const { signal } = context;
    const found = await resource.find({ name }, { signal });
    if (found === undefined) {
      try {
        await resource.create(this.#namespace(name, at), { signal });
      } catch (error) {
        if (!isStatusError(error, "AlreadyExists")) throw error;
        await this.#adopt(name, at, await resource.get({ name }, { signal }));
      }
    } else {
      await this.#adopt(name, at, found);
    }
    this.#made.add(name);
    return name;
  }

  /**
   * Enforces the Pod security level for tenants in the namespace, whichever client has changed the
   * namespace, and whenever it was created. A stricter level that the cluster's administrator sets
   * stays until the syncer restarts.
   */
  #secure(name: string, how: "exactly" | "at least"): void {
    const cached = this.#cached(name);
    const at = this.#saidOf(name);
    if (cached === undefined || at === undefined || cached.isTerminating) return;
    const labels = this.#securityOf(at);
    const wanted = labels[podSecurityLabels.enforce];
    const isRight =
      how === "exactly" ? cached.enforced === wanted : isEnforced(cached.enforced, wanted);
    if (wanted === undefined || isRight) return;
    const { downstream, signal, onError } = this.#options.context;
    downstream
      .resource(namespaces)
      .sameObject(cached)
      .mergePatch({ metadata: { labels } }, { signal })
      .catch((error: unknown) => {
        if (!signal.aborted) onError(error);
      });
  }

  #securityOf({ cluster }: At): Readonly<Record<string, string>> {
    const { target, podSecurity } = this.#options.context;
    return securityLabels(podSecurity.current, cluster === target.cluster);
  }

  /** Called when a synced object in the namespace was deleted: the namespace may be empty now. */
  emptied(name: string): void {
    this.#kept.delete(name);
    this.#plan(name);
  }

  /** Called when the SyncTarget is being deleted: nothing is synced to its cluster any more. */
  leave(): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    for (const cancel of this.#planned.values()) cancel();
    this.#planned.clear();
    for (const { metadata } of this.#informer.store.list()) this.#plan(metadata.name);
  }

  /** Whether a namespace may be left that this syncer has still to delete. */
  get hasNamespaces(): boolean {
    const { hasSynced, store } = this.#informer;
    return !hasSynced || store.list().some((one) => this.#isToDelete(one));
  }

  #isToDelete({ metadata: { name }, isTerminating }: CachedNamespace): boolean {
    return !isTerminating && !this.#kept.has(name) && this.#saidOf(name) !== undefined;
  }

  /**
   * Adopts an existing namespace with the syncer's annotation when an object is assigned to it, and
   * not before: it was created before signatures existed.
   */
  async #adopt(name: string, at: At, namespace: KubernetesObject): Promise<void> {
    const { proof } = this.#check(name, namespace);
    if (this.#isProven(at, proof)) return;
    const { downstream, signal } = this.#options.context;
    const { annotations, labels } = this.#namespace(name, at).metadata;
    await downstream
      .resource(namespaces)
      .sameObject(namespace)
      .mergePatch({ metadata: { annotations, labels } }, { signal });
  }

  #check(name: string, namespace: KubernetesObject): CachedNamespace {
    const cached = cachedNamespace(namespace);
    const { locator, isTerminating } = cached;
    if (locator === undefined || !this.#isOurs(name, locator)) {
      const whose =
        locator === undefined
          ? "was not made by a syncer"
          : `belongs to SyncTarget ${locator.syncTarget.name} (uid ${locator.syncTarget.uid}) of another control plane`;
      throw new SyncError(
        "NamespaceCollision",
        `the namespace ${name} in the cluster ${whose}; delete or rename it there`,
      );
    }
    if (isTerminating) {
      throw new SyncError(
        "NamespaceTerminating",
        `its namespace ${name} in the cluster is being deleted; it is made again when that is over`,
      );
    }
    return cached;
  }

  #isOurs(name: string, locator: NamespaceLocator): boolean {
    const { target } = this.#options.context;
    return locator.syncTarget.uid === target.uid && this.nameFor(locator) === name;
  }

  #namespace(name: string, at: At) {
    const { target, namespaceKey } = this.#options.context;
    const proof = namespaceProof(namespaceKey, target, at);
    return {
      metadata: {
        name,
        labels: {
          [downstreamLabel]: targetKey(target),
          [tenantLabel]: tenantId(target, at.cluster),
          ...this.#securityOf(at),
        },
        annotations: {
          [namespaceLocatorAnnotation]: formatLocator(target, at),
          ...(proof === undefined ? {} : { [namespaceSignatureAnnotation]: proof }),
        },
      },
    };
  }

  #cached(name: string): CachedNamespace | undefined {
    return this.#informer.store.get({ cluster: rootCluster, namespace: "", name });
  }

  #plan(name: string, delayMs = this.#isLeaving ? leavingDelayMs : emptyNamespaceDelayMs): void {
    const { clock, signal, onError } = this.#options.context;
    if (this.#planned.has(name)) return;
    const timer = clock.schedule(delayMs, () => {
      stopListening();
      this.#planned.delete(name);
      this.#clean(name).catch((error: unknown) => {
        onError(error);
        if (!signal.aborted) this.#plan(name, this.#isLeaving ? leavingRetryMs : undefined);
      });
    });
    const stopListening = onAbort(signal, () => timer.cancel());
    this.#planned.set(name, () => {
      stopListening();
      timer.cancel();
    });
  }

  async #clean(name: string): Promise<void> {
    const cached = this.#cached(name);
    const at = this.#saidOf(name);
    if (cached === undefined || at === undefined || cached.isTerminating) return;
    const { signal, downstream } = this.#options.context;
    if (!this.#isLeaving && (await this.#hasUpstreamNamespace(at))) return;
    for (const resource of this.#options.resources()) {
      if (!resource.namespaced) continue;
      const selector = { namespace: name, labelSelector: `${downstreamLabel}` };
      const { items } = await downstream.resource(resource).list({ ...selector, limit: 1, signal });
      if (items.length === 0) continue;
      this.#kept.add(name);
      return;
    }
    if (this.#isLeaving && (await this.#mayHaveVolumes(name))) {
      this.#kept.add(name);
      return;
    }
    try {
      await downstream.resource(namespaces).sameObject(cached).remove({ signal });
    } catch (error) {
      if (!isStatusError(error, "NotFound") && !isStatusError(error, "Conflict")) throw error;
    }
  }

  /**
   * Whether a claim may be in the namespace, also one that no syncer made: a StatefulSet leaves its
   * claims behind. A syncer that may not list claims cannot tell.
   */
  async #mayHaveVolumes(namespace: string): Promise<boolean> {
    const { downstream, signal } = this.#options.context;
    try {
      const claims = downstream.resource(persistentVolumeClaims);
      return (await claims.list({ namespace, limit: 1, signal })).items.length > 0;
    } catch (error) {
      if (isStatusError(error, "NotFound")) return false;
      if (isStatusError(error, "Forbidden")) return true;
      throw error;
    }
  }

  /** Only a response that no namespace has this name proves its absence. */
  async #hasUpstreamNamespace({ cluster, namespace: name }: At): Promise<boolean> {
    const { upstreamIn, signal } = this.#options.context;
    try {
      await upstreamIn(cluster).resource(namespaces).get({ name }, { signal });
      return true;
    } catch (error) {
      if (!isObjectNotFound(error, name)) throw error;
      return false;
    }
  }
}

function cachedNamespace({ metadata }: KubernetesObject): CachedNamespace {
  const { name, uid, resourceVersion, labels, annotations, deletionTimestamp } = metadata;
  const text = namespaceLocatorAnnotations
    .map((annotation) => stringMember(annotations, annotation))
    .find((value) => value !== undefined);
  const isTerminating = deletionTimestamp !== undefined;
  return {
    metadata: { name, uid, resourceVersion },
    locator: parseLocator(text),
    proof: stringMember(annotations, namespaceSignatureAnnotation),
    enforced: stringMember(labels, podSecurityLabels.enforce),
    isTerminating,
  };
}
