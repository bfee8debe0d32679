/** Reads and watches objects of other shards, and asks them about permissions, by their own API. */
import { apiVersionOf, type ResourceDefinition } from "@kcp-ts/apiserver/registry";
import type { ApiResponse } from "@kcp-ts/apiserver/request/api-request";
import type { Clock } from "@kcp-ts/machinery/base";
import { bounds, parseBounded, readBounded } from "@kcp-ts/machinery/bounds";
import { isJsonObject, type JsonObject, objectsOf, textOf } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  isStatusError,
  StatusError,
  type StatusReason,
  statusError,
} from "@kcp-ts/machinery/status";
import type { OtherShards, ShardQuestion } from "./other-shards.ts";
import { readLines } from "./read-lines.ts";
import { SilenceMonitor } from "./silence-monitor.ts";

export interface ShardReaderOptions {
  readonly others: OtherShards;
  readonly clock: Clock;
}

/** A shard that is slower counts as one that does not answer. */
export const responseMsMax = 10_000;
const pageObjects = 100;

export interface ObjectList {
  readonly items: readonly JsonObject[];
  readonly revision: number;
}

export interface ShardEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  readonly object: JsonObject;
}

/** The history after a revision is gone: the reader has to begin with a list. */
export class HistoryCompactedError extends Error {}

export class ShardReader {
  readonly #options: ShardReaderOptions;

  constructor(options: ShardReaderOptions) {
    this.#options = options;
  }

  async get(
    definition: ResourceDefinition,
    cluster: ClusterName,
    name: string,
  ): Promise<JsonObject | undefined> {
    const target = `${collectionPath(definition, cluster)}/${encodeURIComponent(name)}`;
    try {
      return await this.#ask(cluster, { method: "GET", target });
    } catch (error) {
      if (isStatusError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  async list(definition: ResourceDefinition, cluster: ClusterName): Promise<ObjectList> {
    const items: JsonObject[] = [];
    let revision = 0;
    for (let next = ""; ; ) {
      const page = next === "" ? "" : `&continue=${encodeURIComponent(next)}`;
      const target = `${collectionPath(definition, cluster)}?limit=${pageObjects}${page}`;
      const list = await this.#ask(cluster, { method: "GET", target });
      items.push(...objectsOf(list["items"]));
      const { resourceVersion, continue: after } = metadataOf(list);
      revision ||= Number(resourceVersion);
      next = textOf(after);
      if (next === "") return { items, revision };
    }
  }

  /** The revision at which a watch that misses nothing after this call begins. */
  async revisionOf(definition: ResourceDefinition, cluster: ClusterName): Promise<number> {
    const target = `${collectionPath(definition, cluster)}?limit=1`;
    const list = await this.#ask(cluster, { method: "GET", target });
    return Number(metadataOf(list)["resourceVersion"]);
  }

  /**
   * The changes of a collection after a revision, after a sign that the shard has accepted the
   * watch; ends when the shard ends the watch.
   */
  async *watch(
    definition: ResourceDefinition,
    cluster: ClusterName,
    revision: number,
    signal: AbortSignal,
  ): AsyncGenerator<ShardEvent | "open"> {
    const target = `${collectionPath(definition, cluster)}?watch=true&allowWatchBookmarks=true&resourceVersion=${revision}`;
    const silence = new SilenceMonitor(this.#options.clock, signal);
    try {
      const question = { method: "GET", target, signal: silence.signal };
      const response = await this.#send(cluster, question);
      if (response.status === 410) throw new HistoryCompactedError();
      if (response.status >= 400) throw await errorOf(response);
      yield "open";
      for await (const line of readLines(bounds.shardObject, chunksOf(response))) {
        silence.end();
        yield eventIn(line);
      }
    } finally {
      silence.stop();
    }
  }

  /** Sends an object; the answer of the shard, or its error. */
  send(cluster: ClusterName, question: ShardQuestion & { object: JsonObject }) {
    const { object, headers, ...rest } = question;
    return this.#ask(cluster, {
      ...rest,
      headers: { "content-type": "application/json", ...headers },
      body: Buffer.from(JSON.stringify(object)),
    });
  }

  async patch(
    definition: ResourceDefinition,
    cluster: ClusterName,
    name: string,
    object: JsonObject,
  ): Promise<void> {
    await this.send(cluster, {
      method: "PATCH",
      target: `${collectionPath(definition, cluster)}/${encodeURIComponent(name)}`,
      headers: { "content-type": "application/merge-patch+json" },
      object,
    });
  }

  async #ask(cluster: ClusterName, question: ShardQuestion): Promise<JsonObject> {
    const leaving = new AbortController();
    let giveUp: (error: unknown) => void = () => {};
    const late = new Promise<never>((_, reject) => {
      giveUp = reject;
    });
    const timer = this.#options.clock.schedule(responseMsMax, () => {
      leaving.abort();
      giveUp(statusError.unavailable("a shard did not answer in time"));
    });
    try {
      return await Promise.race([
        late,
        this.#send(cluster, { ...question, signal: leaving.signal }).then(objectOf),
      ]);
    } finally {
      timer.cancel();
      late.catch(() => {});
    }
  }

  async #send(cluster: ClusterName, question: ShardQuestion): Promise<ApiResponse> {
    const { others } = this.#options;
    const shard = others.shardOf(cluster);
    // A logical cluster that has moved here has no replicas any more.
    if (shard === undefined) throw statusError.pathNotFound();
    const headers = { accept: "application/json", ...question.headers };
    try {
      return await others.request(shard, { ...question, headers });
    } catch (error) {
      // The former shard of a logical cluster that has moved says where it is now.
      const next = others.shardOf(cluster);
      if (next === undefined || next === shard) throw error;
      return others.request(next, { ...question, headers });
    }
  }
}

export function collectionPath(definition: ResourceDefinition, cluster: ClusterName): string {
  const { group, resource } = definition;
  const root = group === "" ? "api" : "apis";
  return `/clusters/${cluster}/${root}/${apiVersionOf(definition)}/${resource}`;
}

function eventIn(line: string): ShardEvent {
  const event = parseBounded(bounds.shardObject, line);
  const { type, object } = isJsonObject(event) ? event : {};
  if (!isJsonObject(object)) throw statusErrorOf({ message: "an event without an object" });
  if (type !== "ERROR") return { type: type as ShardEvent["type"], object };
  if (object["code"] === 410) throw new HistoryCompactedError();
  throw statusErrorOf(object);
}

/** The revision at which an object was modified last, on its shard. */
export function revisionOfObject(object: JsonObject): number {
  return Number(metadataOf(object)["resourceVersion"]);
}

function metadataOf(object: JsonObject): JsonObject {
  const { metadata } = object;
  return isJsonObject(metadata) ? metadata : {};
}

async function objectOf(response: ApiResponse): Promise<JsonObject> {
  if (response.status >= 400) throw await errorOf(response);
  const bytes = await readBounded(bounds.shardList, chunksOf(response));
  const object = parseBounded(bounds.shardList, bytes);
  return isJsonObject(object) ? object : {};
}

async function errorOf(response: ApiResponse): Promise<StatusError> {
  const bytes = await readBounded(bounds.refusal, chunksOf(response));
  const status = parseBounded(bounds.refusal, bytes);
  return statusErrorOf(isJsonObject(status) ? status : {});
}

function statusErrorOf({ code, reason, message }: JsonObject): StatusError {
  return new StatusError({
    code: typeof code === "number" ? code : 503,
    reason: (textOf(reason) || "ServiceUnavailable") as StatusReason,
    message: textOf(message),
  });
}

async function* chunksOf({ body }: ApiResponse): AsyncGenerator<Uint8Array> {
  if (body === undefined) return;
  if (body instanceof Uint8Array) yield body;
  else yield* body;
}
