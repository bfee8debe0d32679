/** Watches: a stream of events from a revision, or from the present state on. */

import type { Random } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import {
  negotiate,
  parseIncludeObject,
  partialMetadataOf,
  type ResponseFormat,
  tableOf,
  toBytes,
  toStatusError,
} from "../content/index.ts";
import {
  apiVersionOf,
  fromStorageError,
  type ResourceDefinition,
  translateStorageErrors,
} from "../registry/index.ts";
import {
  type ApiResponse,
  header,
  type ObservableBody,
  responseHeaders,
} from "../request/api-request.ts";
import type { Entry, Revision } from "../storage/index.ts";
import { decodeObject, partialBytesAt } from "../stored-object/index.ts";
import {
  type EventEncoding,
  type Freshness,
  fullObjectEncoding,
  type ListResult,
  type Watcher,
} from "../watch-cache/index.ts";
import type { HandlerDependencies, HandlerRequest } from "./context.ts";
import { convertedEvents, storedEncoding } from "./converted-watch.ts";
import { checkFormat, collectionOf, prefixOf } from "./list.ts";
import { type ListOptions, parseListOptions, parseResourceVersion } from "./options.ts";
import { selectionOf } from "./selection.ts";

/** Without a timeout of its own a watch ends after this long and up to as much again, as in Kubernetes: not all end at once. */
export const timeoutDefaultMinMs = 1_800_000;
const timeoutMaxMs = 24 * 3_600_000;
const initialEventsEnd = "k8s.io/initial-events-end";

export async function handleWatch(
  handled: HandlerRequest,
  rooms: HandlerDependencies,
): Promise<ApiResponse> {
  const { request, definition, scope } = handled;
  const form = negotiate(header(request.headers, "accept"), {
    table: true,
    partial: "PartialObjectMetadata",
  });
  checkFormat(definition, form);
  if (form.mediaType !== "application/json") throw statusError.notAcceptable(["application/json"]);
  const options = parseListOptions(scope.query, true);
  // The name may come from the path or from the selector; a path's name holds whatever the selector says.
  const { selection, name, ofServed } = selectionOf(definition, { ...options, name: scope.name });
  const prefix = prefixOf(definition, scope, name);
  const start = startOf(options);
  const failed = { resource: definition, askedVersion: options.resourceVersion };
  const initial = await translateStorageErrors(
    failed,
    async (): Promise<ListResult | undefined> => {
      if (start.kind !== "initial") {
        const freshness: Freshness =
          start.kind === "now"
            ? { kind: "latest" }
            : { kind: "notOlder", revision: start.revision };
        await rooms.watchCache.catchUp(freshness, handled.signal);
        return undefined;
      }
      const collection = collectionOf(definition, scope);
      return rooms.watchCache.list({
        prefix,
        collection,
        selection,
        limit: 0,
        freshness: start.freshness,
        signal: handled.signal,
      });
    },
  );
  const eventForm = servedEncoding(definition, eventEncodingOf(form, handled, rooms));
  const needsConversion = definition.form !== undefined && definition.form.presentNow === undefined;
  const unread = rooms.watchCache.unread.account(unreadTenantOf(handled));
  const events = rooms.watchCache.watch({
    prefix,
    selection,
    form: needsConversion ? storedEncoding(ofServed) : eventForm,
    initial,
    afterRevision: start.kind === "after" ? start.revision : rooms.watchCache.hub.revision,
    bookmark: options.allowWatchBookmarks ? bookmarkMaker(definition, form) : undefined,
    errorObject: (error) =>
      toBytes(toStatusError(fromStorageError(error, failed)).status as unknown as JsonObject),
    timeoutMs: timeoutOf(options, rooms.random),
    signal: handled.signal,
    unread,
  });
  endWhenRetired(events, definition);
  const shown = needsConversion
    ? withObservers(convertedEvents(events, definition, { form: eventForm, ofServed }), events)
    : events;
  const headers = responseHeaders("application/json");
  return { status: 200, headers, body: shown, isWatch: true, unread };
}

/** Whose memory it is: the logical cluster's, or of who watches many of them. */
function unreadTenantOf({ scope, user }: HandlerRequest): string {
  return scope.cluster === "*" || scope.service !== undefined
    ? `* ${user.username}`
    : scope.cluster;
}

/** What is made of a stream begins and ends with it, also when nobody reads it: a generator that was not begun knows nothing of its source. */
function withObservers(made: AsyncGenerator<Uint8Array>, source: Watcher): ObservableBody {
  const iterator: AsyncIterator<Uint8Array> = {
    next: () => made.next(),
    return: async () => {
      await source.leave();
      return made.return(undefined);
    },
  };
  return {
    [Symbol.asyncIterator]: () => iterator,
    note: (notes) => source.note(notes),
  };
}

/** Whoever watches objects of a definition that is replaced starts anew, with the new one. Nobody is told of a watch that is never read. */
function endWhenRetired(events: Watcher, { onRetired }: ResourceDefinition): void {
  if (onRetired === undefined) return;
  let stop = () => {};
  events.note({
    onBegin: () => {
      stop = onRetired(() => events.end());
    },
    onEnd: () => stop(),
  });
}

/** Events show objects as reads do. */
function servedEncoding({ form: stored }: ResourceDefinition, form: EventEncoding): EventEncoding {
  const presentNow = stored?.presentNow;
  if (stored === undefined || presentNow === undefined) return form;
  const turned = (base: EventEncoding): EventEncoding => ({
    name: `${base.name}@${stored.name}`,
    encode: (entry, revision) => base.encode(presentNow(entry), revision),
  });
  return form.first === undefined ? turned(form) : { ...turned(form), first: turned(form.first) };
}

type Start =
  | { readonly kind: "after"; readonly revision: Revision }
  | { readonly kind: "now" }
  | { readonly kind: "initial"; readonly freshness: Freshness };

/** Without a resourceVersion, or with 0, a watch begins with the present objects. */
function startOf({ resourceVersion, sendInitialEvents }: ListOptions): Start {
  const revision = parseResourceVersion(resourceVersion);
  if (sendInitialEvents === true || (sendInitialEvents === undefined && (revision ?? 0) === 0)) {
    if (revision === undefined) return { kind: "initial", freshness: { kind: "latest" } };
    return {
      kind: "initial",
      freshness: revision === 0 ? { kind: "any" } : { kind: "notOlder", revision },
    };
  }
  if (revision === undefined || revision === 0) return { kind: "now" };
  return { kind: "after", revision };
}

function timeoutOf({ timeoutSeconds }: ListOptions, random: Random): number {
  if (timeoutSeconds === undefined || timeoutSeconds <= 0)
    return Math.round(timeoutDefaultMinMs * (1 + random.next()));
  return Math.min(timeoutSeconds * 1000, timeoutMaxMs);
}

function eventEncodingOf(
  form: ResponseFormat,
  { definition, scope }: HandlerRequest,
  { clock }: HandlerDependencies,
): EventEncoding {
  switch (form.as) {
    case "partial":
      return {
        name: `partial/${form.version}`,
        encode: (entry, revision) => partialBytesAt(entry, revision, form.version),
      };
    case "table": {
      const includeObject = parseIncludeObject(scope.query);
      const encode = (withColumns: boolean) => (entry: Entry, revision: Revision) => {
        const table = { version: form.version, includeObject, nowMs: clock.now(), withColumns };
        return toBytes(
          tableOf(
            definition,
            [objectAt(entry, revision)],
            { resourceVersion: String(revision) },
            table,
          ),
        );
      };
      const name = `table/${form.version}/${includeObject}`;
      return {
        name,
        encode: encode(false),
        first: { name: `${name}/columns`, encode: encode(true) },
      };
    }
    default:
      return fullObjectEncoding;
  }
}

function objectAt(entry: Entry, revision: Revision): JsonObject {
  return decodeObject({ ...entry, modifiedAt: revision });
}

function bookmarkMaker(definition: ResourceDefinition, form: ResponseFormat) {
  return (revision: Revision, isInitialEventsEnd: boolean): Buffer => {
    const metadata: JsonObject = {
      resourceVersion: String(revision),
      ...(isInitialEventsEnd ? { annotations: { [initialEventsEnd]: "true" } } : {}),
    };
    const object: JsonObject = {
      kind: definition.kind,
      apiVersion: apiVersionOf(definition),
      metadata,
    };
    if (form.as === "partial") return toBytes(partialMetadataOf(object, form.version));
    if (form.as !== "table") return toBytes(object);
    return toBytes({
      kind: "Table",
      apiVersion: `meta.k8s.io/${form.version}`,
      metadata: { resourceVersion: String(revision) },
      columnDefinitions: [],
      rows: [{ cells: [], object: partialMetadataOf(object, form.version) }],
    });
  };
}
