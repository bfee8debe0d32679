/** Writes a history down: what was asked when, and what came of it. */
import { systemClock } from "@kcp-ts/machinery/base";
import type {
  History,
  KeyRequest,
  ListMode,
  ListRecord,
  ObjectKey,
  Operation,
  Outcome,
  Scope,
  StaleGet,
  Violation,
  WatchSegment,
} from "@kcp-ts/testkit";
import type { Connection, RecordedRequest, RecordedResponse } from "./connection.ts";
import {
  collectionPath,
  type Metadata,
  type RecordedKind,
  type RecordedObject,
  readObject,
  writeObject,
} from "./recorded-kind.ts";

interface StatusBody {
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly uid?: string };
}

interface ListBody {
  readonly metadata: Metadata;
  readonly items: readonly RecordedObject[];
}

export class Recorder {
  readonly kind: RecordedKind;
  readonly operations: Operation[] = [];
  readonly lists: ListRecord[] = [];
  readonly staleGets: StaleGet[] = [];
  readonly watches: WatchSegment[] = [];
  /** Answers that nothing explains, whatever the history was. */
  readonly anomalies: Violation[] = [];
  startRevision = 0;

  constructor(kind: RecordedKind) {
    this.kind = kind;
  }

  history(): History {
    const { startRevision, operations, lists, staleGets, watches } = this;
    return { startRevision, operations, lists, staleGets, watches };
  }

  /** Undefined when it certainly did not happen. */
  async perform(
    connection: Connection,
    client: string,
    key: ObjectKey,
    request: KeyRequest,
  ): Promise<Outcome | undefined> {
    const invokedAt = systemClock.monotonic();
    const answer = await connection.sendRecorded(sentFor(this.kind, key, request, client));
    const now = systemClock.monotonic();
    const outcome = this.#outcomeOf(answer, request, key);
    if (outcome === undefined) return undefined;
    const returnedAt = outcome.kind === "open" ? Number.POSITIVE_INFINITY : now;
    this.operations.push({ client, key, request, invokedAt, returnedAt, outcome });
    return outcome;
  }

  async staleGet(connection: Connection, client: string, key: ObjectKey): Promise<void> {
    const invokedAt = systemClock.monotonic();
    const path = `${objectPath(this.kind, key)}?resourceVersion=0`;
    const answer = await connection.sendRecorded({ method: "GET", path });
    if (answer.kind !== "answer" || answer.status !== 200) return;
    const returnedAt = systemClock.monotonic();
    const { state } = readObject(answer.body as RecordedObject);
    this.staleGets.push({ client, key, invokedAt, returnedAt, state });
  }

  /** In pages if there is a limit. One whose history was forgotten on the way is none. */
  async list(
    connection: Connection,
    client: string,
    scope: Scope,
    { mode, limit = 0 }: { readonly mode: ListMode; readonly limit?: number },
  ): Promise<ListRecord | undefined> {
    const invokedAt = systemClock.monotonic();
    const items: RecordedObject[] = [];
    const revisions: number[] = [];
    let query = listQuery(mode);
    for (;;) {
      const sized = limit > 0 ? { ...query, limit: String(limit) } : query;
      const answer = await connection.sendRecorded({
        method: "GET",
        path: collectionPath(this.kind, scope, sized),
      });
      if (answer.kind !== "answer") return undefined;
      if (answer.status !== 200) {
        // Whoever names no version of the past cannot be too late for it.
        const mayBeForgotten = "continue" in query || "revision" in mode;
        if (answer.status !== 410 || !mayBeForgotten) {
          this.#odd(`list ${JSON.stringify(sized)}`, answer);
        }
        return undefined;
      }
      const { metadata, items: page } = answer.body as ListBody;
      revisions.push(Number(metadata.resourceVersion));
      items.push(...page);
      if (metadata.continue === undefined || metadata.continue === "") break;
      query = { continue: metadata.continue };
    }
    const returnedAt = systemClock.monotonic();
    const record = {
      client,
      scope,
      mode,
      invokedAt,
      returnedAt,
      revision: revisions[0] as number,
      pageRevisions: revisions,
      items: items.map(readObject),
    };
    this.lists.push(record);
    return record;
  }

  #outcomeOf(answer: RecordedResponse, request: KeyRequest, key: ObjectKey): Outcome | undefined {
    if (answer.kind === "none") return undefined;
    if (answer.kind === "open") return answer;
    const { reason, details } = answer.body as StatusBody;
    switch (answer.status) {
      case 200:
      case 201:
        if (request.verb === "delete") return { kind: "deleted", uid: details?.uid ?? "" };
        return { kind: "object", state: readObject(answer.body as RecordedObject).state };
      case 404:
        return { kind: "notFound" };
      case 409:
        return { kind: reason === "AlreadyExists" ? "alreadyExists" : "conflict" };
      default:
        this.#odd(`${request.verb} ${key.cluster}/${key.name}`, answer);
        return { kind: "open", reason: String(answer.status) };
    }
  }

  #odd(what: string, answer: Extract<RecordedResponse, { kind: "answer" }>): void {
    const { message } = answer.body as StatusBody;
    const guarantee = "answers";
    this.anomalies.push({
      guarantee,
      message: `${what}: ${answer.status} ${message}`,
      excerpt: [],
    });
  }
}

function objectPath(
  { group, plural }: RecordedKind,
  { cluster, namespace, name }: ObjectKey,
): string {
  return `/clusters/${cluster}/${group}/namespaces/${namespace}/${plural}/${name}`;
}

function listQuery(mode: ListMode): Record<string, string> {
  switch (mode.kind) {
    case "quorum":
      return {};
    case "any":
      return { resourceVersion: "0" };
    case "notOlderThan":
      return { resourceVersion: String(mode.revision), resourceVersionMatch: "NotOlderThan" };
    case "exact":
      return { resourceVersion: String(mode.revision), resourceVersionMatch: "Exact" };
  }
}

function sentFor(
  kind: RecordedKind,
  key: ObjectKey,
  request: KeyRequest,
  client: string,
): RecordedRequest {
  const path = objectPath(kind, key);
  const { name } = key;
  switch (request.verb) {
    case "get":
      return { method: "GET", path };
    case "create": {
      const collection = path.slice(0, path.lastIndexOf("/"));
      return { method: "POST", path: collection, body: writeObject(kind, { name, ...request }) };
    }
    case "update": {
      const { expectedRevision: resourceVersion, ...content } = request;
      const body = writeObject(kind, { name, ...content, resourceVersion });
      return { method: "PUT", path, body };
    }
    case "patch": {
      const { expectedRevision: resourceVersion, ...content } = request;
      const body = writeObject(kind, { name, ...content, resourceVersion });
      return { method: "PATCH", path, body, contentType: "application/merge-patch+json" };
    }
    case "patchStatus": {
      const contentType = "application/merge-patch+json";
      const body = { status: request.status };
      return { method: "PATCH", path: `${path}/status`, body, contentType };
    }
    case "apply": {
      const body = writeObject(kind, { name, ...request });
      const contentType = "application/apply-patch+yaml";
      const query = `?fieldManager=${client}&force=true`;
      return { method: "PATCH", path: `${path}${query}`, body, contentType };
    }
    case "delete": {
      const { expectedRevision, expectedUid } = request;
      const preconditions = {
        ...(expectedRevision === undefined ? {} : { resourceVersion: String(expectedRevision) }),
        ...(expectedUid === undefined ? {} : { uid: expectedUid }),
      };
      if (Object.keys(preconditions).length === 0) return { method: "DELETE", path };
      return { method: "DELETE", path, body: { preconditions } };
    }
  }
}
