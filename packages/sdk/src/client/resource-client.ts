/**
 * ResourceClient: the verbs of one resource.
 *
 * One method per verb of the API. A method returns the server's response; a delete, whose response
 * may be a Status, returns nothing by default.
 */
import { yieldToEventLoop } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { isStatusError, StatusError } from "@kcp-ts/machinery/status";
import type { CallOptions, Client, ClientRequest } from "./client.ts";
import { ListReader } from "./list-stream.ts";
import type {
  ApplyInput,
  KubernetesObject,
  ListMeta,
  MetadataInput,
  ObjectList,
  OrUndefined,
  PartialObjectMetadata,
  Table,
  WriteInput,
} from "./object.ts";
import { type ObjectIdentity, ObservedObject } from "./observed-object.ts";
import {
  type ApplyOptions,
  applyContentType,
  type DeleteOptions,
  type GetOptions,
  type ListOptions,
  type MemberOptions,
  type ObjectName,
  type PageOptions,
  type Patch,
  patchContentTypes,
  type SelectorOptions,
  type TableOptions,
  type WatchOptions,
  type WriteOptions,
} from "./options.ts";
import { type LazyList, readList } from "./parse-list.ts";
import { withQuery } from "./query.ts";
import {
  apiVersionOf,
  formatResource,
  type Resource,
  type ResourcePath,
  resourcePath,
} from "./resource.ts";
import { ItemCounter } from "./response-limits.ts";
import { approximateBytes, HeldBytes } from "./response-memory.ts";
import { type RetryOptions, retryOnConflict } from "./retry-on-conflict.ts";
import { type StatusOf, statusPatch } from "./status-patch.ts";
import { SubresourceClient } from "./subresource-client.ts";
import { type WatchEvent, watchBatches } from "./watch.ts";

const pageSizeDefault = 500;
const tableAccept = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json";

export class ResourceClient<Object extends KubernetesObject> {
  readonly client: Client;
  readonly resource: Resource<Object>;

  constructor(client: Client, resource: Resource<Object>) {
    this.client = client;
    this.resource = resource;
  }

  async get(target: ObjectName, options: GetOptions = {}): Promise<Object> {
    const path = this.#path(target);
    const { resourceVersion, signal } = options;
    const query = resourceVersion === undefined ? path : withQuery(path, { resourceVersion });
    return asObject(await this.client.json({ method: "GET", path: query, signal }));
  }

  /** Like `get`, but returns undefined for an object that does not exist. */
  async find(target: ObjectName, options: GetOptions = {}): Promise<Object | undefined> {
    try {
      return await this.get(target, options);
    } catch (error) {
      if (isStatusError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  async list(options: ListOptions = {}): Promise<ObjectList<Object>> {
    if (this.client.responseLimits !== undefined) return this.#boundedList(options);
    return asList(await this.#getList(options, {}));
  }

  /** Metadata only, of any type: enough for a garbage collector or a counter. */
  async listMetadata(options: ListOptions = {}): Promise<ObjectList<PartialObjectMetadata>> {
    const accept =
      "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
    return asList(await this.#getList(options, { accept }));
  }

  async getMetadata(target: ObjectName, options: CallOptions = {}): Promise<PartialObjectMetadata> {
    const accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
    const request = { method: "GET", path: this.#path(target), headers: { accept } } as const;
    return asObject(await this.client.json({ ...request, signal: options.signal }));
  }

  /** The table that kubectl prints: columns and cells that the server computes. */
  async table(options: ListOptions & TableOptions = {}): Promise<Table> {
    const { includeObject } = options;
    return asObject(await this.#getList(options, { accept: tableAccept }, { includeObject }));
  }

  /**
   * The pages of one consistent list. Throws Expired when iterating takes longer than the server
   * keeps history.
   */
  async *pages(options: PageOptions = {}): AsyncGenerator<ObjectList<Object>> {
    const { pageSize, resourceVersion, resourceVersionMatch, ...rest } = options;
    const limit = pageSize ?? pageSizeDefault;
    const count = new ItemCounter(this.client.responseLimits);
    let page = await this.list({ ...rest, resourceVersion, resourceVersionMatch, limit });
    yield page;
    while (page.metadata.continue) {
      count.add(page.items.length);
      page = await this.list({ ...rest, limit, continue: page.metadata.continue });
      yield page;
    }
  }

  async *items(options: PageOptions = {}): AsyncGenerator<Object> {
    if (this.client.responseLimits === undefined)
      for await (const page of this.lazyPages(options)) yield* page.items;
    else for await (const batch of this.batches(options)) yield* batch;
  }

  /**
   * The items of one consistent list in small batches, as they arrive, never a full page at once.
   * For callers that process them quickly: the request timeout runs meanwhile. Returns the metadata
   * of the list's last page. A `pageSize` of 0 requests all items in one response.
   */
  async *batches(options: PageOptions & MemberOptions = {}): AsyncGenerator<Object[], ListMeta> {
    const { members, onUnreadable, ...list } = options;
    const { pageSize, resourceVersion, resourceVersionMatch, ...rest } = list;
    const limit = pageSize ?? pageSizeDefault;
    const count = new ItemCounter(this.client.responseLimits);
    let page: ListOptions = { ...rest, resourceVersion, resourceVersionMatch, limit };
    for (;;) {
      const read = this.#readPage(page, { members, onUnreadable });
      let meta: ListMeta;
      try {
        let next = await read.next();
        for (; next.done !== true; next = await read.next()) {
          count.add(next.value.length);
          yield next.value;
        }
        meta = next.value;
      } finally {
        // A caller that leaves the iteration early cancels the response and its deadline, too.
        await read.return({});
      }
      if (!meta.continue) return meta;
      page = { ...rest, limit, continue: meta.continue };
    }
  }

  /** The items of one response as they arrive. */
  async *#readPage(
    page: ListOptions,
    options: MemberOptions = {},
  ): AsyncGenerator<Object[], ListMeta> {
    const reader = new ListReader<Object>(options, this.client.responseLimits);
    try {
      for await (const chunk of this.client.chunks(this.#listRequest(page, {})))
        for (const batch of reader.take(chunk)) {
          if (batch.length > 0) yield batch;
          else await yieldToEventLoop();
        }
      const { items, metadata } = await reader.end();
      if (items.length > 0) yield items;
      return metadata;
    } finally {
      reader.close();
    }
  }

  /** Like `pages`, with lazily parsed items: for callers that read many items and keep few. */
  async *lazyPages(
    options: PageOptions & Pick<MemberOptions, "onUnreadable"> = {},
  ): AsyncGenerator<LazyList<Object>> {
    const { pageSize, resourceVersion, resourceVersionMatch, ...rest } = options;
    const limit = pageSize ?? pageSizeDefault;
    let page = await this.lazyList({ ...rest, resourceVersion, resourceVersionMatch, limit });
    yield page;
    while (page.metadata.continue) {
      page = await this.lazyList({ ...rest, limit, continue: page.metadata.continue });
      yield page;
    }
  }

  /** Like `list`, with lazily parsed items. */
  async lazyList(
    options: ListOptions & Pick<MemberOptions, "onUnreadable"> = {},
  ): Promise<LazyList<Object>> {
    const { onUnreadable, ...list } = options;
    if (this.client.responseLimits !== undefined) return this.#boundedList(list, onUnreadable);
    return readList(await this.#getListText(list, {}), onUnreadable);
  }

  /**
   * Every change, one by one. Ends when the server ends the watch or the signal aborts; throws the
   * StatusError of an ERROR event. Most programs want an informer instead, which resumes where this
   * watch ends.
   */
  async *watch(options: WatchOptions = {}): AsyncGenerator<WatchEvent<Object>> {
    for await (const batch of this.watchBatches(options)) yield* batch;
  }

  /** The same changes in batches, as they arrive. */
  watchBatches(options: WatchOptions & MemberOptions = {}): AsyncGenerator<WatchEvent<Object>[]> {
    return this.#watch<Object>(options, {});
  }

  /** Changes as tables of one row. The columns are those of `table`, and may be left out. */
  watchTables(
    options: WatchOptions & TableOptions & MemberOptions = {},
  ): AsyncGenerator<WatchEvent<Table & KubernetesObject>[]> {
    return this.#watch(options, { accept: tableAccept });
  }

  async *#watch<Shown extends KubernetesObject>(
    options: WatchOptions & TableOptions & MemberOptions,
    headers: Readonly<Record<string, string>>,
  ): AsyncGenerator<WatchEvent<Shown>[]> {
    const { signal, namespace, retriesMax, onOpen, sendInitialEvents, ...rest } = options;
    const { members, onUnreadable, ...query } = rest;
    const path = withQuery(this.#path({ namespace }), {
      watch: true,
      ...query,
      ...(sendInitialEvents === undefined
        ? {}
        : { sendInitialEvents: String(sendInitialEvents), resourceVersionMatch: "NotOlderThan" }),
    });
    try {
      const response = await this.client.send({ method: "GET", path, headers, signal, retriesMax });
      onOpen?.();
      yield* watchBatches<Shown>(
        response.body,
        { members, onUnreadable },
        this.client.responseLimits,
      );
    } catch (error) {
      if (!signal?.aborted) throw error;
    }
  }

  async create(object: WriteInput<Object>, options: WriteOptions = {}): Promise<Object> {
    const path = this.#path({ namespace: object.metadata.namespace });
    return this.#write("POST", path, this.#body(object), options);
  }

  /**
   * Replaces the object; the server rejects the update with Conflict if its resourceVersion is not
   * the newest.
   */
  async update(object: WriteInput<Object>, options: WriteOptions = {}): Promise<Object> {
    return this.#write("PUT", this.#path(nameOf(object)), this.#body(object), options);
  }

  /** Replaces the `status` subresource, nothing else. */
  async updateStatus(object: WriteInput<Object>, options: WriteOptions = {}): Promise<Object> {
    const path = this.#path({ ...nameOf(object), subresource: "status" });
    return this.#write("PUT", path, this.#body(object), options);
  }

  async patch(target: ObjectName, patch: Patch, options: WriteOptions = {}): Promise<Object> {
    return this.#patch(this.#path(target), patch, options);
  }

  async patchStatus(target: ObjectName, patch: Patch, options: WriteOptions = {}): Promise<Object> {
    return this.#patch(this.#path({ ...target, subresource: "status" }), patch, options);
  }

  /**
   * Makes this the status of an object that was read, by a merge patch of what differs; without a
   * difference nothing is sent. It fails when the object was replaced by another of its name.
   */
  async setStatus(
    object: Object,
    status: OrUndefined<StatusOf<Object>>,
    options: WriteOptions = {},
  ): Promise<Object> {
    const { status: current = {} } = object as { readonly status?: object };
    const patch = statusPatch(current, status);
    if (patch === undefined) return object;
    const { uid } = object.metadata;
    const metadata = uid === undefined ? {} : { uid };
    const name = nameOf(object);
    try {
      const merge = { type: "merge", patch: { metadata, status: patch } } as const;
      return await this.patchStatus(name, merge, options);
    } catch (error) {
      throw await this.#withoutStatus(error, name);
    }
  }

  /** A server says "not found" of an object, and of a kind without the subresource. */
  async #withoutStatus(error: unknown, name: ObjectName): Promise<unknown> {
    if (!isStatusError(error, "NotFound")) return error;
    // Where the read fails as well, the error of the write is what the caller has to know.
    if ((await this.find(name).catch(() => undefined)) === undefined) return error;
    const resource = formatResource(this.resource);
    const message = `${resource} has no status subresource. Next: add "subresources: {status: {}}" to this version in its definition`;
    return new StatusError({ code: 404, message });
  }

  /** Server-side apply: creates the object or sets the given fields to the given values. */
  apply(object: WriteInput<Object>, options?: ApplyOptions): Promise<Object>;
  apply(object: ApplyInput<Object>, options?: ApplyOptions): Promise<Object>;
  async apply(object: WithMetadata, options: ApplyOptions = {}): Promise<Object> {
    return this.#apply(object, undefined, options);
  }

  applyStatus(object: WriteInput<Object>, options?: ApplyOptions): Promise<Object>;
  applyStatus(object: ApplyInput<Object>, options?: ApplyOptions): Promise<Object>;
  async applyStatus(object: WithMetadata, options: ApplyOptions = {}): Promise<Object> {
    return this.#apply(object, "status", options);
  }

  /**
   * Resolves when the server has accepted the deletion; finalizers may keep the object for longer.
   */
  async delete(target: ObjectName, options: DeleteOptions = {}): Promise<void> {
    const { signal, ignoreNotFound } = options;
    const path = this.#path(target);
    const body = deleteBody(options);
    const request = { method: "DELETE", path, body, signal } as const;
    const answer = await this.client.json(request).catch((error: unknown) => {
      if (ignoreNotFound === true && isStatusError(error, "NotFound")) return undefined;
      throw error;
    });
    const { onWritten } = this.client;
    if (onWritten === undefined || options.dryRun === true) return;
    const last = answer === undefined ? undefined : asObject<KubernetesObject>(answer);
    const isLeft = last?.kind === this.resource.kind && last.metadata.finalizers !== undefined;
    onWritten(this.resource, target, isLeft ? last : undefined);
  }

  async deleteCollection(
    options: Omit<DeleteOptions, "preconditions" | "ignoreNotFound"> & SelectorOptions = {},
  ): Promise<void> {
    const { namespace, labelSelector, fieldSelector, signal } = options;
    const path = withQuery(this.#path({ namespace }), { labelSelector, fieldSelector });
    await this.client.json({ method: "DELETE", path, body: deleteBody(options), signal });
  }

  /**
   * Reads, changes and writes the object until the write has no conflict. `change` returns the new
   * object, or undefined to leave the object unchanged; it may be called several times and must not
   * mutate its argument.
   */
  async modify(
    target: ObjectName,
    change: (current: Object) => WriteInput<Object> | undefined,
    options: WriteOptions & Pick<RetryOptions, "attemptsMax"> = {},
  ): Promise<Object> {
    const { clock, random } = this.client;
    return retryOnConflict(
      async () => {
        const current = await this.get(target, { signal: options.signal });
        const changed = change(current);
        return changed === undefined ? current : await this.update(changed, options);
      },
      { ...options, clock, random },
    );
  }

  /** Writes of an object that was read, and of no later one of its name. */
  sameObject(object: ObjectIdentity): ObservedObject<Object> {
    return new ObservedObject(this, object, "uid");
  }

  /** Writes of an object as it was read: they fail when it has changed. */
  sameVersion(object: ObjectIdentity): ObservedObject<Object> {
    return new ObservedObject(this, object, "version");
  }

  /** Subresources such as `scale`, `token` and `eviction`, whose objects are of another type. */
  subresource<Sub>(name: string): SubresourceClient<Sub> {
    return new SubresourceClient(this.client, this.resource, name);
  }

  /** Reads the list of an untrusted server object by object, within its limits. */
  async #boundedList(
    options: ListOptions,
    onUnreadable?: MemberOptions["onUnreadable"],
  ): Promise<ObjectList<Object>> {
    const count = new ItemCounter(this.client.responseLimits);
    const held = new HeldBytes(this.client.responseLimits?.memory?.objects);
    const items: Object[] = [];
    const read = this.#readPage(options, { onUnreadable });
    let next = await read.next();
    try {
      for (; next.done !== true; next = await read.next()) {
        count.add(next.value.length);
        held.add(approximateBytes(next.value));
        items.push(...next.value);
      }
    } finally {
      held.release();
      await read.return({});
    }
    const { kind } = this.resource;
    const about = { apiVersion: apiVersionOf(this.resource), kind: `${kind}List` };
    return { ...about, metadata: next.value, items } as ObjectList<Object>;
  }

  #path(path: ResourcePath): string {
    return resourcePath(this.resource, path);
  }

  async #getList(
    options: ListOptions,
    headers: Readonly<Record<string, string>>,
    extra: Readonly<Record<string, string | undefined>> = {},
  ): Promise<JsonValue> {
    return this.client.parse(await this.#getListText(options, headers, extra));
  }

  async #getListText(
    options: ListOptions,
    headers: Readonly<Record<string, string>>,
    extra: Readonly<Record<string, string | undefined>> = {},
  ): Promise<string> {
    return (await this.client.read(this.#listRequest(options, headers, extra))).text;
  }

  #listRequest(
    options: ListOptions,
    headers: Readonly<Record<string, string>>,
    extra: Readonly<Record<string, string | undefined>> = {},
  ): ClientRequest {
    const { signal, namespace, retriesMax, limit, labelSelector, fieldSelector } = options;
    const { resourceVersion, resourceVersionMatch } = options;
    const path = withQuery(this.#path({ namespace }), {
      limit: limit === 0 ? undefined : limit,
      continue: options.continue,
      labelSelector,
      fieldSelector,
      resourceVersion,
      resourceVersionMatch,
      ...extra,
    });
    return { method: "GET", path, headers, signal, retriesMax, mayBeLong: true };
  }

  async #apply(
    object: WithMetadata,
    subresource: string | undefined,
    options: ApplyOptions,
  ): Promise<Object> {
    const { managedFields: _, ...metadata } = object.metadata;
    const path = withQuery(this.#path({ ...nameOf(object), subresource }), {
      force: options.force,
    });
    const body = this.#body({ ...object, metadata });
    const { fieldManager = this.client.fieldManager ?? this.client.applyManager } = options;
    return this.#write("PATCH", path, body, { ...options, fieldManager }, applyContentType);
  }

  async #patch(path: string, patch: Patch, options: WriteOptions): Promise<Object> {
    const body = patch.type === "json" ? patch.operations : patch.patch;
    const contentType = patchContentTypes[patch.type];
    return this.#write("PATCH", path, body as JsonValue, options, contentType);
  }

  async #write(
    method: "POST" | "PUT" | "PATCH",
    path: string,
    body: JsonValue,
    options: WriteOptions,
    contentType?: string,
  ): Promise<Object> {
    const { signal, dryRun, fieldValidation } = options;
    const fieldManager = options.fieldManager ?? this.client.fieldManager;
    const query = withQuery(path, {
      dryRun: dryRun ? "All" : undefined,
      fieldManager,
      fieldValidation,
    });
    const written = asObject<Object>(
      await this.client.json({ method, path: query, body, contentType, signal }),
    );
    if (dryRun !== true) this.client.onWritten?.(this.resource, nameOf(written), written);
    return written;
  }

  #body(object: WithMetadata): JsonValue {
    const { kind } = this.resource;
    return { apiVersion: apiVersionOf(this.resource), kind, ...object } as unknown as JsonValue;
  }
}

interface WithMetadata {
  readonly metadata: MetadataInput;
}

function nameOf({ metadata }: WithMetadata): ObjectName {
  return { name: metadata.name ?? "", namespace: metadata.namespace };
}

function deleteBody(options: DeleteOptions): JsonValue {
  const { dryRun, gracePeriodSeconds, propagationPolicy, preconditions } = options;
  return {
    apiVersion: "v1",
    kind: "DeleteOptions",
    ...(dryRun ? { dryRun: ["All"] } : {}),
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(preconditions === undefined ? {} : { preconditions: { ...preconditions } as JsonObject }),
  };
}

function asObject<Type>(value: JsonValue): Type {
  return value as unknown as Type;
}

/** Items of built-in types come without kind and apiVersion; these follow from the list's own. */
function asList<Object extends KubernetesObject>(value: JsonValue): ObjectList<Object> {
  const list = value as unknown as { items: unknown; kind?: string; apiVersion?: string };
  if (!Array.isArray(list.items)) list.items = [];
  const kind = (list.kind ?? "").replace(/List$/, "");
  for (const item of list.items as unknown[]) {
    if (!isJsonObject(item) || item["kind"] !== undefined) continue;
    Object.assign(item, { kind, apiVersion: list.apiVersion ?? "" });
  }
  return value as unknown as ObjectList<Object>;
}
