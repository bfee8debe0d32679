/**
 * Watches of the resources that quotas count: one for each resource, over all logical clusters,
 * from the first quota that counts it until the last one is removed. Objects are not kept; their
 * events enqueue the quotas of their namespace.
 */
import { type Clock, sleep } from "@kcp-ts/machinery/base";
import { type Client, clusterOf, formatResource, type ObjectKey, type Resource } from "@kcp-ts/sdk";
import { apiBindings, customResourceDefinitions } from "@kcp-ts/sdk/kinds";
import { metadataClient } from "../api/index.ts";

export interface FollowedResourcesOptions {
  readonly client: Client;
  readonly clock: Clock;
  /**
   * Called when objects were added, deleted or changed in a namespace with a quota that counts
   * them; without a namespace, any quota may be affected.
   */
  readonly onChange: (quotas: Iterable<ObjectKey>) => void;
  readonly onError: (error: unknown) => void;
  /** A watch has ended for good, which it never should. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * The kinds that define resources in a logical cluster: a quota that waits for a resource is
 * enqueued by every change of these.
 */
const definitions: readonly Resource[] = [customResourceDefinitions, apiBindings];

export interface UseOptions {
  readonly isClusterScoped: boolean;
  /** A resource that the quota counts is not defined yet. */
  readonly isWaiting: boolean;
  readonly signal: AbortSignal;
}

interface Followed {
  /**
   * Quotas that count the resource, by namespace; those of complete clusters under the empty one.
   */
  readonly users: Map<string, Map<string, ObjectKey>>;
  readonly stop: AbortController;
  readonly isOpen: Promise<void>;
  running: Promise<void>;
}

const retryMs = 1000;

/**
 * Resources of the core group whose objects use less or more as they change: Pods that end, and
 * Services of another type.
 */
const measured: ReadonlySet<string> = new Set(["persistentvolumeclaims", "pods", "services"]);
const changeDelayMs = 2000;

export class FollowedResources {
  readonly #options: FollowedResourcesOptions;
  readonly #everywhere: Client;
  readonly #followed = new Map<string, Followed>();
  /** The resources that each quota counts at present. */
  readonly #uses = new Map<string, readonly Resource[]>();

  constructor(options: FollowedResourcesOptions) {
    this.#options = options;
    this.#everywhere = metadataClient(options.client.inCluster("*"), "kcp-resource-quota");
  }

  get size(): number {
    return this.#followed.size;
  }

  /**
   * From here on events of these resources enqueue the quota; resolves when the watches are
   * accepted.
   */
  async use(
    quota: ObjectKey,
    resources: readonly Resource[],
    { isClusterScoped, isWaiting, signal }: UseOptions,
  ): Promise<void> {
    this.drop(quota);
    const awaited = isWaiting ? definitions : [];
    this.#uses.set(idOf(quota), [...resources, ...awaited]);
    const namespace = isClusterScoped ? "" : quota.namespace;
    await Promise.all([
      ...resources.map((resource) => this.#hear(quota, resource, namespace, signal)),
      ...awaited.map((resource) => this.#hear(quota, resource, "", signal)),
    ]);
  }

  #hear(
    quota: ObjectKey,
    resource: Resource,
    namespace: string,
    signal: AbortSignal,
  ): Promise<void> {
    const place = placeOf(quota.cluster, namespace);
    const followed = this.#follow(resource);
    const quotas = followed.users.get(place) ?? new Map<string, ObjectKey>();
    quotas.set(idOf(quota), quota);
    followed.users.set(place, quotas);
    return Promise.race([followed.isOpen, aborted(signal)]);
  }

  drop(quota: ObjectKey): void {
    const id = idOf(quota);
    for (const resource of this.#uses.get(id) ?? []) {
      const name = formatResource(resource);
      const followed = this.#followed.get(name);
      if (followed === undefined) continue;
      for (const [place, quotas] of followed.users) {
        quotas.delete(id);
        if (quotas.size === 0) followed.users.delete(place);
      }
    }
    this.#uses.delete(id);
  }

  /**
   * Ends watches that no quota needs: called from time to time, because a quota that is reconciled
   * again releases its resources first.
   */
  sweep(): void {
    for (const [name, { users, stop }] of this.#followed) {
      if (users.size > 0) continue;
      stop.abort();
      this.#followed.delete(name);
    }
  }

  async close(): Promise<void> {
    const running = [...this.#followed.values()];
    for (const { stop } of running) stop.abort();
    await Promise.all(running.map((one) => one.running));
  }

  #follow(resource: Resource): Followed {
    const name = formatResource(resource);
    const known = this.#followed.get(name);
    if (known !== undefined) return known;
    let open: () => void = () => {};
    const isOpen = new Promise<void>((resolve) => {
      open = resolve;
    });
    const followed: Followed = {
      users: new Map(),
      stop: new AbortController(),
      isOpen,
      running: Promise.resolve(),
    };
    followed.running = this.#run(resource, followed, open).catch(this.#options.onFailure);
    this.#followed.set(name, followed);
    return followed;
  }

  async #run(resource: Resource, followed: Followed, open: () => void): Promise<void> {
    const { signal } = followed.stop;
    const { clock, onError, onChange } = this.#options;
    let isFirst = true;
    while (!signal.aborted) {
      try {
        // Changes during the gap are unknown, so the quotas are counted again.
        if (!isFirst) for (const quotas of followed.users.values()) onChange(quotas.values());
        isFirst = false;
        await this.#watch(resource, followed, open);
      } catch (error) {
        if (signal.aborted) return;
        onError(error);
        await sleep(clock, retryMs, signal).catch(() => {
          // Only the signal ends the wait early, and the loop checks the signal.
        });
      }
    }
  }

  async #watch(resource: Resource, { users, stop }: Followed, open: () => void): Promise<void> {
    const { signal } = stop;
    const objects = this.#everywhere.resource(resource);
    const { metadata } = await objects.listMetadata({ limit: 1, signal });
    const { resourceVersion } = metadata;
    const isDefinition = definitions.includes(resource);
    const changed = new Map<string, ObjectKey>();
    const isMeasured = resource.group === "" && measured.has(resource.resource);
    for await (const event of objects.watch({ resourceVersion, signal, onOpen: open })) {
      const isCounted = event.type === "ADDED" || event.type === "DELETED";
      if (!isCounted && !(event.type === "MODIFIED" && (isDefinition || isMeasured))) continue;
      const cluster = clusterOf(event.object) ?? "";
      for (const namespace of new Set(["", event.object.metadata.namespace ?? ""])) {
        const quotas = users.get(placeOf(cluster, namespace));
        if (quotas === undefined) continue;
        if (isCounted || isDefinition) this.#options.onChange(quotas.values());
        else this.#collect(quotas, changed, signal);
      }
    }
  }

  /** Many objects change at once, when a rollout begins or ends: they are counted once. */
  #collect(
    quotas: ReadonlyMap<string, ObjectKey>,
    changed: Map<string, ObjectKey>,
    signal: AbortSignal,
  ): void {
    const isWaiting = changed.size > 0;
    for (const [id, quota] of quotas) changed.set(id, quota);
    if (isWaiting) return;
    const count = () => {
      const due = [...changed.values()];
      changed.clear();
      this.#options.onChange(due);
    };
    sleep(this.#options.clock, changeDelayMs, signal).then(count, () => {
      // Only the signal ends the wait early, and nobody counts any more.
    });
  }
}

function idOf({ cluster, namespace, name }: ObjectKey): string {
  return `${cluster}/${namespace}/${name}`;
}

function placeOf(cluster: string, namespace: string): string {
  return `${cluster}/${namespace}`;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
