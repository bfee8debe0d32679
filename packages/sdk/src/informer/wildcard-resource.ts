/**
 * WildcardResource: the objects of one resource in all logical clusters.
 *
 * A server has one schema of a built-in type, and serves its objects over all clusters. Of a custom
 * resource each cluster has a definition of its own, and only metadata is served over all of them.
 * Then the watch of the metadata says what has changed, and each changed object is read in its own
 * cluster. An object that cannot be read there is reported and left out: one tenant's definition
 * must not stop the watch of all others.
 */
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  type KubernetesObject,
  type ListMeta,
  type MemberOptions,
  type PageOptions,
  type PartialObjectMetadata,
  type Resource,
  type ResourceClient,
  startDeadline,
  UnreadableObjectError,
  type WatchEvent,
  type WatchOptions,
} from "../client/index.ts";
import { clusterOf } from "./object-key.ts";

/** What an informer needs of a resource. */
export type ListWatch<Object extends KubernetesObject> = Pick<
  ResourceClient<Object>,
  "batches" | "watchBatches"
>;

/** Objects that are read at the same time. */
const readsMax = 32;
/** A conversion webhook of a tenant may be slow. */
const readTimeoutMs = 10_000;

export class WildcardResource<Object extends KubernetesObject> implements ListWatch<Object> {
  readonly #client: Client;
  readonly #resource: Resource<Object>;
  readonly #whole: ResourceClient<Object>;
  readonly #metadata: ResourceClient<PartialObjectMetadata>;
  readonly #onSplit: () => void;
  #isSplit = false;

  /** The client is that of all clusters. `onSplit` is called when only metadata is served there. */
  constructor(client: Client, resource: Resource<Object>, onSplit: () => void) {
    this.#onSplit = onSplit;
    this.#client = client;
    this.#resource = resource;
    this.#whole = client.resource(resource);
    this.#metadata = client.withMetadataOnly().resource(resource as Resource<never>);
  }

  async *batches(options: PageOptions & MemberOptions = {}): AsyncGenerator<Object[], ListMeta> {
    if (!this.#isSplit) {
      const first = await this.#orSplit(this.#whole.batches(options));
      if (first !== undefined) return yield* first;
    }
    const { members, ...list } = options;
    const parts = this.#metadata.batches(list);
    try {
      let next = await parts.next();
      for (; next.done !== true; next = await parts.next()) {
        yield await this.#readAll(next.value, options);
      }
      return next.value;
    } finally {
      await parts.return({});
    }
  }

  async *watchBatches(
    options: WatchOptions & MemberOptions = {},
  ): AsyncGenerator<WatchEvent<Object>[]> {
    if (!this.#isSplit) {
      const first = await this.#orSplit(this.#whole.watchBatches(options));
      if (first !== undefined) {
        yield* first;
        return;
      }
    }
    const { members, ...watch } = options;
    for await (const batch of this.#metadata.watchBatches(watch)) {
      yield await this.#readEvents(batch, options);
    }
  }

  /**
   * The stream with its first result, or undefined when whole objects are not served over all
   * clusters and their metadata is.
   */
  async #orSplit<Batch, End>(
    stream: AsyncGenerator<Batch, End>,
  ): Promise<AsyncGenerator<Batch, End> | undefined> {
    try {
      return resumed(await stream.next(), stream);
    } catch (error) {
      if (!isStatusError(error, "NotFound")) throw error;
      try {
        await this.#metadata.list({ limit: 1, retriesMax: 0 });
      } catch (second) {
        // The first error is the one about the request that was made.
        if (isStatusError(second, "NotFound")) throw error;
        throw second;
      }
      this.#isSplit = true;
      this.#onSplit();
      return undefined;
    }
  }

  async #readEvents(
    batch: readonly WatchEvent<PartialObjectMetadata>[],
    options: Reading,
  ): Promise<WatchEvent<Object>[]> {
    const changed = batch.filter(({ type }) => type === "ADDED" || type === "MODIFIED");
    const objects = changed.map(({ object }) => object as PartialObjectMetadata);
    const read = await this.#readMap(objects, options);
    return batch.flatMap((event): WatchEvent<Object>[] => {
      if (event.type === "BOOKMARK") return [event];
      // The last state of a deleted object is known by its metadata only.
      if (event.type === "DELETED") return [{ type: "DELETED", object: this.#bare(event.object) }];
      const object = read.get(event.object);
      return object === undefined ? [] : [{ type: event.type, object }];
    });
  }

  async #readAll(batch: readonly PartialObjectMetadata[], options: Reading): Promise<Object[]> {
    const read = await this.#readMap(batch, options);
    return batch.flatMap((one) => read.get(one) ?? []);
  }

  /** The objects that still exist, by their metadata. */
  async #readMap(
    batch: readonly PartialObjectMetadata[],
    options: Reading,
  ): Promise<Map<PartialObjectMetadata, Object>> {
    const found = new Map<PartialObjectMetadata, Object>();
    if (options.members !== undefined && isMetadataOnly(options.members)) {
      for (const one of batch) found.set(one, this.#bare(one));
      return found;
    }
    const left = batch.values();
    const worker = async () => {
      for (const one of left) {
        const object = await this.#read(one, options);
        if (object !== undefined) found.set(one, object);
      }
    };
    await Promise.all(Array.from({ length: readsMax }, worker));
    return found;
  }

  async #read(
    { metadata }: PartialObjectMetadata,
    { signal, onUnreadable }: Reading,
  ): Promise<Object | undefined> {
    const { name, namespace } = metadata;
    const cluster = clusterOf({ apiVersion: "", kind: "", metadata });
    if (cluster === undefined) return undefined;
    const { clock } = this.#client;
    const what = `reading ${name} in ${cluster}`;
    const deadline = startDeadline({ clock, timeoutMs: readTimeoutMs, signal, what });
    try {
      const client = this.#client.inCluster(cluster).resource(this.#resource);
      return await client.find({ name, namespace }, { signal: deadline.signal });
    } catch (error) {
      const isTenants = isStatusError(error) || deadline.signal.aborted;
      if (!isTenants || signal?.aborted === true || onUnreadable === undefined) throw error;
      const text = `${namespace ?? ""}/${name} cannot be read in ${cluster}`;
      onUnreadable(new UnreadableObjectError(text, { cause: error }));
      return undefined;
    } finally {
      deadline.cancel();
    }
  }

  #bare({ metadata }: PartialObjectMetadata): Object {
    const { group, version, kind } = this.#resource;
    const apiVersion = group === "" ? version : `${group}/${version}`;
    return { apiVersion, kind, metadata } satisfies KubernetesObject as Object;
  }
}

type Reading = MemberOptions & { readonly signal?: AbortSignal | undefined };

function isMetadataOnly(members: object): boolean {
  return Object.keys(members).every((name) => name === "metadata");
}

async function* resumed<Batch, End>(
  first: IteratorResult<Batch, End>,
  rest: AsyncGenerator<Batch, End>,
): AsyncGenerator<Batch, End> {
  let next = first;
  try {
    for (; next.done !== true; next = await rest.next()) yield next.value;
    return next.value;
  } finally {
    // A consumer that leaves early cancels the request, too.
    if (next.done !== true) await rest.return(undefined as End);
  }
}
