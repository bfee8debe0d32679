/**
 * A small API server in this process, for the tests of this package: correct in list, watch,
 * history and conflicts, and able to inject faults. It validates nothing and knows no selectors;
 * the real server is another package.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { isStatusError, StatusError, statusError } from "@kcp-ts/machinery/status";
import {
  clusterAnnotation,
  type InProcessResponse,
  InProcessTransport,
  initialEventsEndAnnotation,
  onAbort,
  type Transport,
  TransportError,
  type TransportRequest,
} from "../client/index.ts";
import { type FakeRequest, parseFakeRequest, parseStoreKey, storeKey } from "./fake-request.ts";
import { type Change, FakeStore, type StoredObject } from "./fake-store.ts";
import { FakeWatch, type WatchScope } from "./fake-watch.ts";
import { writeObject } from "./fake-writes.ts";

export interface FakeApiServerOptions {
  readonly clock: Clock;
  /**
   * Off: the server rejects `sendInitialEvents`, as old servers do. "accepted": it accepts the
   * watch and then sends the error that its storage does not support it, as new servers on an old
   * etcd do.
   */
  readonly watchList?: boolean | "accepted";
}

export class FakeApiServer {
  readonly store = new FakeStore();
  /** Every request that reached the server, as `GET /path?query`. */
  readonly requests: string[] = [];
  watchList: boolean | "accepted";
  readonly #clock: Clock;
  readonly #watches = new Set<FakeWatch>();
  #refuseUntilMs = 0;
  #throttled = { count: 0, seconds: 0 };
  #hanging = 0;
  #stallNext = false;

  constructor(options: FakeApiServerOptions) {
    this.#clock = options.clock;
    this.watchList = options.watchList ?? true;
  }

  transport(): Transport {
    return new InProcessTransport((request) => this.#handle(request));
  }

  /** Writes directly to the store, as another client would. */
  put(key: FakeKey, object: Partial<StoredObject> = {}): StoredObject {
    const storedKey = storeKey(key.resource, key.cluster ?? "root", key.namespace ?? "", key.name);
    const previous = this.store.get(storedKey);
    const [group = "", version = ""] = key.resource.split("/");
    const metadata = {
      uid: `uid-${this.store.revision + 1}`,
      ...previous?.metadata,
      ...object.metadata,
      name: key.name,
      ...(key.namespace === undefined ? {} : { namespace: key.namespace }),
      annotations: { ...object.metadata?.annotations, [clusterAnnotation]: key.cluster ?? "root" },
    };
    const apiVersion = group === "" ? version : `${group}/${version}`;
    const change = this.store.put(storedKey, { apiVersion, kind: "Thing", ...object, metadata });
    this.#publish(change);
    return change.current as StoredObject;
  }

  remove(key: FakeKey): void {
    const change = this.store.remove(
      storeKey(key.resource, key.cluster ?? "root", key.namespace ?? "", key.name),
    );
    if (change !== undefined) this.#publish(change);
  }

  get openWatches(): number {
    return this.#live().length;
  }

  endWatches(): void {
    for (const watch of this.#live()) watch.end();
  }

  breakWatches(): void {
    for (const watch of this.#live()) watch.fail(new TransportError("connection-lost", "reset"));
  }

  stallWatches(): void {
    for (const watch of this.#live()) watch.stall();
  }

  /** The next watch stalls before its initial events are complete. */
  stallNextWatch(): void {
    this.#stallNext = true;
  }

  sendBookmarks(): void {
    for (const watch of this.#live()) if (watch.scope.bookmarks) watch.send(this.#bookmark({}));
  }

  /** Breaks all connections and rejects new ones for a while; the state is kept. */
  restart(downMs: number): void {
    this.#refuseUntilMs = this.#clock.monotonic() + downMs;
    this.breakWatches();
  }

  /** The next requests get the status 429. */
  throttle(count: number, seconds: number): void {
    this.#throttled = { count, seconds };
  }

  /** The next requests are accepted and get no response. */
  hang(count: number): void {
    this.#hanging = count;
  }

  #live(): FakeWatch[] {
    return [...this.#watches].filter((watch) => !watch.isOver);
  }

  async #handle(wire: TransportRequest): Promise<InProcessResponse> {
    if (this.#clock.monotonic() < this.#refuseUntilMs) {
      throw new TransportError("connect", "connection refused");
    }
    this.requests.push(`${wire.method} ${wire.path}`);
    if (this.#hanging > 0) {
      this.#hanging--;
      return await untilAborted(wire.signal);
    }
    if (this.#throttled.count > 0) {
      this.#throttled.count--;
      const { seconds } = this.#throttled;
      return answer(429, statusError.tooManyRequests(seconds).status, {
        "retry-after": String(seconds),
      });
    }
    try {
      const request = parseFakeRequest(wire);
      if (request === undefined) throw statusError.pathNotFound();
      return this.#serve(request, wire.signal);
    } catch (error) {
      if (isStatusError(error)) return answer(error.code, error.status);
      throw error;
    }
  }

  #serve(request: FakeRequest, signal: AbortSignal | undefined): InProcessResponse {
    if (request.method !== "GET") {
      const { status, body, change } = writeObject(this.store, request);
      if (change !== undefined) this.#publish(change);
      return answer(status, body);
    }
    if (request.query.has("watch")) return this.#watch(request, signal);
    if (request.name === undefined) return answer(200, this.#list(request));
    const { resource, cluster, namespace, name, plural } = request;
    const object = this.store.get(storeKey(resource, cluster, namespace, name));
    if (object === undefined) throw statusError.notFound({ group: "", resource: plural }, name);
    return answer(200, object);
  }

  #list(request: FakeRequest): unknown {
    const limit = Number(request.query.get("limit") ?? 0);
    const token = request.query.get("continue");
    const [revision, after] = token
      ? (JSON.parse(atob(token)) as [number, string])
      : ([this.store.revision, ""] as const);
    const state = this.store.stateAt(revision);
    if (state === undefined) {
      throw statusError.expired("The provided continue parameter is too old");
    }
    const scope = scopeOf(request);
    const found = [...state].filter(([key]) => key > after && isInScope(scope, key));
    const page = limit > 0 ? found.slice(0, limit) : found;
    const last = page.at(-1)?.[0];
    const more = page.length < found.length && last !== undefined;
    return {
      kind: "ThingList",
      apiVersion: request.apiVersion,
      metadata: {
        resourceVersion: String(revision),
        ...(more ? { continue: btoa(JSON.stringify([revision, last])) } : {}),
      },
      items: page.map(([, object]) => object),
    };
  }

  #watch(request: FakeRequest, signal: AbortSignal | undefined): InProcessResponse {
    const { query } = request;
    const scope = scopeOf(request);
    const watch = new FakeWatch(scope, signal);
    if (this.#stallNext) watch.stall();
    this.#stallNext = false;
    if (query.get("sendInitialEvents") === "true") this.#sendInitialEvents(watch);
    else this.#replay(watch, Number(query.get("resourceVersion") ?? 0));
    this.#watches.add(watch);
    const timeoutSeconds = Number(query.get("timeoutSeconds") ?? 1800);
    const timer = this.#clock.schedule(timeoutSeconds * 1000, () => watch.end());
    onAbort(signal, () => timer.cancel());
    return { status: 200, headers: { "content-type": "application/json" }, body: watch };
  }

  #sendInitialEvents(watch: FakeWatch): void {
    if (!this.watchList) {
      throw new StatusError({
        code: 422,
        reason: "Invalid",
        message: "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch",
      });
    }
    if (this.watchList === "accepted") {
      watch.send({ type: "ERROR", object: noWatchProgress.status });
      watch.end();
      return;
    }
    for (const [key, object] of this.store.stateAt(this.store.revision) ?? []) {
      if (isInScope(watch.scope, key)) watch.send({ type: "ADDED", object });
    }
    watch.send(this.#bookmark({ [initialEventsEndAnnotation]: "true" }));
  }

  #replay(watch: FakeWatch, revision: number): void {
    if (revision > this.store.revision) {
      throw statusError.resourceVersionTooLarge(revision, this.store.revision);
    }
    const changes = this.store.changesAfter(revision);
    if (changes === undefined) {
      const { status } = statusError.expired(`too old resource version: ${revision}`);
      watch.send({ type: "ERROR", object: status });
      watch.end();
      return;
    }
    for (const change of changes) sendChange(watch, change);
  }

  #publish(change: Change): void {
    for (const watch of this.#watches) {
      if (watch.isOver) this.#watches.delete(watch);
      else sendChange(watch, change);
    }
  }

  #bookmark(annotations: Record<string, string>): { type: string; object: unknown } {
    const resourceVersion = String(this.store.revision);
    const object = { kind: "Thing", apiVersion: "v1", metadata: { resourceVersion, annotations } };
    return { type: "BOOKMARK", object };
  }
}

export interface FakeKey {
  /** `group/version/resource`. */
  readonly resource: string;
  readonly cluster?: string;
  readonly namespace?: string;
  readonly name: string;
}

function scopeOf({ resource, cluster, namespace, query }: FakeRequest): WatchScope {
  return { resource, cluster, namespace, bookmarks: query.get("allowWatchBookmarks") === "true" };
}

function isInScope(scope: WatchScope, storedKey: string): boolean {
  const key = parseStoreKey(storedKey);
  return (
    key.resource === scope.resource &&
    (scope.cluster === "*" || key.cluster === scope.cluster) &&
    (scope.namespace === "" || key.namespace === scope.namespace)
  );
}

function sendChange(watch: FakeWatch, { key, revision, previous, current }: Change): void {
  if (!isInScope(watch.scope, key)) return;
  if (current !== undefined) {
    watch.send({ type: previous === undefined ? "ADDED" : "MODIFIED", object: current });
  } else if (previous !== undefined) {
    const metadata = { ...previous.metadata, resourceVersion: String(revision) };
    watch.send({ type: "DELETED", object: { ...previous, metadata } });
  }
}

function answer(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): InProcessResponse {
  return {
    status,
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  };
}

function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    onAbort(signal, () => reject(signal?.reason));
  });
}

const noWatchProgress = new StatusError({
  code: 500,
  reason: "InternalError",
  message:
    "a watch stream was requested by the client but the required storage feature RequestWatchProgress is disabled",
});
