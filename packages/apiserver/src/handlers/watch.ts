/** WATCH serves a stream of events from a revision, or from the current state on. */
import { type Random, type Resumable, runSync } from "@kcp-ts/machinery/base";
import { type JsonObject, stringifyResumable } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import {
  negotiate,
  parseIncludeObject,
  partialMetadataOf,
  type ResponseFormat,
  tableResumable,
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
import { decodeObjectResumable, partialBytesAt } from "../stored-object/index.ts";
import {
  type EventEncoding,
  type Freshness,
  fullObjectEncoding,
  type ListResult,
  type Watcher,
} from "../watch-cache/index.ts";
import { convertedEvents, storedEncoding, unconvertedBytesMax } from "./converted-watch.ts";
import type { HandlerDependencies, HandlerRequest } from "./handler-context.ts";
import { checkFormat, collectionOf, prefixOf } from "./list.ts";
import { type ListOptions, parseListOptions, parseResourceVersion } from "./options.ts";
import { selectionOf } from "./selection.ts";

/**
 * A watch without a timeout ends after this time plus a random part of the same time, as in
 * Kubernetes, so that not all watches end at once.
 */
export const timeoutDefaultMinMs = 1_800_000;
const timeoutMaxMs = 24 * 3_600_000;
const initialEventsEnd = "k8s.io/initial-events-end";

export async function handleWatch(
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
): Promise<ApiResponse> {
  const { request, definition, scope } = handled;
  const form = negotiate(header(request.headers, "accept"), {
    table: true,
    partial: "PartialObjectMetadata",
  });
  checkFormat(definition, form);
  if (form.mediaType !== "application/json") throw statusError.notAcceptable(["application/json"]);
  const options = parseListOptions(scope.query, true);
  // The name is in the path or in the field selector; the name in the path takes precedence.
  const { selection, name, matchesServed } = selectionOf(definition, {
    ...options,
    name: scope.name,
  });
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
        await dependencies.watchCache.waitUntilFresh(freshness, handled.signal);
        return undefined;
      }
      const collection = collectionOf(definition, scope);
      return dependencies.watchCache.list({
        prefix,
        collection,
        selection,
        limit: 0,
        freshness: start.freshness,
        signal: handled.signal,
      });
    },
  );
  const eventForm = servedEncoding(definition, eventEncodingOf(form, handled, dependencies));
  const needsConversion =
    definition.codec !== undefined && definition.codec.toServedSync === undefined;
  const unread = dependencies.watchCache.unread.account(unreadTenantOf(handled));
  const events = dependencies.watchCache.watch({
    prefix,
    selection,
    encoding: needsConversion ? storedEncoding(matchesServed) : eventForm,
    initial,
    afterRevision: start.kind === "after" ? start.revision : dependencies.watchCache.hub.revision,
    bookmark: options.allowWatchBookmarks ? bookmarkMaker(definition, form) : undefined,
    errorObject: (error) =>
      toBytes(toStatusError(fromStorageError(error, failed)).status as unknown as JsonObject),
    timeoutMs: timeoutOf(options, dependencies.random),
    signal: handled.signal,
    unread,
    ...(needsConversion ? { bufferedBytesMax: unconvertedBytesMax } : {}),
  });
  endWhenRetired(events, definition);
  const shown = needsConversion
    ? withObservers(
        convertedEvents(events, definition, { encoding: eventForm, matchesServed }),
        events,
      )
    : events;
  const headers = responseHeaders("application/json");
  return { status: 200, headers, body: shown, isWatch: true, unread };
}

/**
 * The tenant that the unread bytes count for: the logical cluster, or the user of a watch over
 * several clusters.
 */
function unreadTenantOf({ scope, user }: HandlerRequest): string {
  return scope.cluster === "*" || scope.service !== undefined
    ? `* ${user.username}`
    : scope.cluster;
}

/**
 * Ties the generator to its source, so that both start and end together, even if the generator is
 * never read: a generator that has not started cannot end its source.
 */
function withObservers(made: AsyncGenerator<Uint8Array>, source: Watcher): ObservableBody {
  const iterator: AsyncIterator<Uint8Array> = {
    next: () => made.next(),
    return: async () => {
      await source.cancel();
      return made.return(undefined);
    },
  };
  return { [Symbol.asyncIterator]: () => iterator, observe: (notes) => source.observe(notes) };
}

/**
 * Ends the watch when the definition of its resource is replaced, so that the client watches again
 * with the new one. A watch that is never read does not register.
 */
function endWhenRetired(events: Watcher, { onRetired }: ResourceDefinition): void {
  if (onRetired === undefined) return;
  let stop = () => {};
  events.observe({
    onBegin: () => {
      stop = onRetired(() => events.end());
    },
    onEnd: () => stop(),
  });
}

/** Events contain objects in the form in which reads serve them. */
function servedEncoding({ codec: stored }: ResourceDefinition, form: EventEncoding): EventEncoding {
  const toServedSync = stored?.toServedSync;
  if (stored === undefined || toServedSync === undefined) return form;
  const { toServedResumable, storesAsServed } = stored;
  const turned = ({ name: base, encode, encodeResumable }: EventEncoding): EventEncoding => {
    const name = `${base}@${stored.name}`;
    const inSteps = function* (entry: Entry, revision: Revision): Resumable<Buffer> {
      const served =
        toServedResumable === undefined ? toServedSync(entry) : yield* toServedResumable(entry);
      return encodeResumable === undefined
        ? encode(served, revision)
        : yield* encodeResumable(served, revision);
    };
    if (encodeResumable !== undefined || !storesAsServed) return resumableEncoding(name, inSteps);
    return {
      name,
      encode: (entry, revision) => encode(toServedSync(entry), revision),
      encodePastResumable: inSteps,
    };
  };
  return form.first === undefined ? turned(form) : { ...turned(form), first: turned(form.first) };
}

type Start =
  | { readonly kind: "after"; readonly revision: Revision }
  | { readonly kind: "now" }
  | { readonly kind: "initial"; readonly freshness: Freshness };

/** A watch without a resourceVersion, or with 0, starts with the current objects. */
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
      const { version } = form;
      const encoding = (name: string, withColumns: boolean): EventEncoding =>
        resumableEncoding(name, function* (entry, revision) {
          const object = yield* decodeObjectResumable({ ...entry, modifiedAt: revision });
          yield;
          const options = { version, includeObject, nowMs: clock.now(), withColumns };
          const metadata = { resourceVersion: String(revision) };
          const table = yield* tableResumable(definition, [object], metadata, options);
          return Buffer.from(yield* stringifyResumable(table));
        });
      const name = `table/${version}/${includeObject}`;
      return { ...encoding(name, false), first: encoding(`${name}/columns`, true) };
    }
    default:
      return fullObjectEncoding;
  }
}

function resumableEncoding(
  name: string,
  encodeResumable: NonNullable<EventEncoding["encodeResumable"]>,
): EventEncoding {
  const encode = (entry: Entry, revision: Revision) => runSync(encodeResumable(entry, revision));
  return { name, encode, encodeResumable };
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
