/**
 * LIST serves pages at one revision, written to the client in slices, so that no list blocks other
 * requests.
 */
import { runSyncFirst } from "@kcp-ts/machinery/base";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import {
  negotiate,
  parseIncludeObject,
  partialMetadataOf,
  type ResponseFormat,
  rowOf,
  TableBudget,
  tableOf,
  tableResumable,
} from "../content/index.ts";
import {
  apiVersionOf,
  collectionKeyOf,
  fromStorageError,
  type ResourceDefinition,
  toServedEntries,
} from "../registry/index.ts";
import { type ApiResponse, header } from "../request/api-request.ts";
import type { ResourceScope } from "../request/request-scope.ts";
import {
  clusterPrefix,
  type Entry,
  isStorageError,
  keyEnding,
  namespacePrefix,
  objectKey,
  resourcePrefix,
  type StorageKey,
} from "../storage/index.ts";
import { decodeObject } from "../stored-object/index.ts";
import type { ListResult } from "../watch-cache/index.ts";
import { decodeContinue, encodeContinue } from "./continue-token.ts";
import type { HandlerDependencies, HandlerRequest } from "./handler-context.ts";
import { itemList } from "./item-list.ts";
import { type ListOptions, listFreshness, parseListOptions } from "./options.ts";
import { renderValue } from "./render.ts";
import { type SelectionResult, selectionOf } from "./selection.ts";
import { sliceBytes, slicedList, sliceItems } from "./sliced-list.ts";

export async function handleList(
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
): Promise<ApiResponse> {
  const { request, scope } = handled;
  const form = negotiate(header(request.headers, "accept"), {
    table: true,
    partial: "PartialObjectMetadataList",
  });
  checkFormat(handled.definition, form);
  const listed = await listObjects(handled, dependencies, parseListOptions(scope.query, false));
  return renderList(listed, form, handled, dependencies);
}

export interface ListPage {
  readonly listing: ListResult;
  readonly continueToken: string | undefined;
}

/** The storage prefix of a collection's path. */
export function prefixOf(
  definition: ResourceDefinition,
  scope: ResourceScope,
  name: string | undefined,
): StorageKey {
  const { isNamespaced } = definition;
  const base = collectionKeyOf(definition);
  if (definition.isWildcardPartialMetadata === true) return wildcardPartialMetadataPrefix(base);
  if (scope.cluster === "*") return resourcePrefix(base);
  const inCluster = { ...base, cluster: definition.sourceCluster ?? scope.cluster };
  if (isNamespaced && scope.namespace === "") return clusterPrefix(inCluster);
  const namespace = isNamespaced ? scope.namespace : "";
  // A field selector may name an object that cannot exist; it then selects nothing of the
  // collection.
  return isObjectName(name)
    ? objectKey({ ...inCluster, namespace, name })
    : namespacePrefix({ ...inCluster, namespace });
}

function isObjectName(name: string | undefined): name is string {
  return name !== undefined && name !== "" && !name.includes("/");
}

/**
 * The next segment of the keys is the owner's identity: without it, the prefix covers the objects
 * of all owners.
 */
function wildcardPartialMetadataPrefix(base: Parameters<typeof resourcePrefix>[0]): StorageKey {
  return resourcePrefix({ ...base, identity: "" }).slice(0, -1) as StorageKey;
}

/**
 * Rejects other forms than metadata for lists over several owners, whose objects only have metadata
 * in common.
 */
export function checkFormat(
  { isWildcardPartialMetadata }: ResourceDefinition,
  form: ResponseFormat,
): void {
  if (isWildcardPartialMetadata === true && form.as !== "partial") throw statusError.pathNotFound();
}

/**
 * The collection that the watch cache holds in memory; a wildcard list is read from storage
 * instead.
 */
export function collectionOf(
  definition: ResourceDefinition,
  scope: ResourceScope,
): StorageKey | undefined {
  if (scope.cluster === "*") return undefined;
  const cluster = definition.sourceCluster ?? scope.cluster;
  return clusterPrefix({ ...collectionKeyOf(definition), cluster });
}

export async function listObjects(
  { definition, scope, signal }: HandlerRequest,
  { watchCache }: HandlerDependencies,
  options: ListOptions,
  /** Stored entries are converted all the same where a selector needs it. */
  form: "served" | "stored" = "served",
): Promise<ListPage> {
  const selected: SelectionResult = selectionOf(definition, { ...options, name: "" });
  const prefix = prefixOf(definition, scope, selected.name);
  // Tokens are relative to the collection, also when a selector narrows the range.
  const base = prefixOf(definition, scope, undefined);
  if (
    options.continueToken !== "" &&
    options.resourceVersion !== "" &&
    options.resourceVersion !== "0"
  ) {
    throw statusError.badRequest("specifying resource version is not allowed when using continue");
  }
  const token =
    options.continueToken === "" ? undefined : decodeContinue(base, options.continueToken);
  const freshness =
    token === undefined
      ? listFreshness(options)
      : token.revision === undefined
        ? ({ kind: "latest" } as const)
        : ({ kind: "exact", revision: token.revision } as const);
  const limit = Math.max(0, options.limit);
  try {
    const listing = await watchCache.list({
      prefix,
      collection: collectionOf(definition, scope),
      selection: selected.selection,
      keyEnding: isObjectName(selected.name) ? keyEnding(selected.name) : undefined,
      limit: freshness.kind === "any" ? 0 : limit,
      continueAfter: token?.after,
      remaining: token?.remaining,
      freshness,
      signal,
    });
    const continueToken =
      listing.continueAfter === undefined
        ? undefined
        : encodeContinue(base, listing.continueAfter, listing.revision, listing.remaining);
    const entries =
      form === "stored" && selected.matchesServed === undefined
        ? listing.entries
        : await toServedEntries(definition, listing.entries);
    return { listing: visibleListResult(listing, entries, selected), continueToken };
  } catch (error) {
    if (!isStorageError(error, "compacted")) {
      const askedVersion = String(token?.revision ?? options.resourceVersion);
      throw fromStorageError(error, { resource: definition, askedVersion });
    }
    if (token === undefined)
      throw statusError.expired("The resourceVersion for the provided list is too old.");
    throw statusError.expired(expiredContinue, encodeContinue(base, token.after, -1));
  }
}

/**
 * The visible objects of a page. A page may have fewer objects than its limit: clients rely on the
 * token.
 */
function visibleListResult(
  listing: ListResult,
  entries: ListResult["entries"],
  { matchesServed }: SelectionResult,
): ListResult {
  if (matchesServed === undefined)
    return entries === listing.entries ? listing : { ...listing, entries };
  const selected =
    Symbol.asyncIterator in entries
      ? selectedBatches(entries, matchesServed)
      : entries.filter(matchesServed);
  return { ...listing, entries: selected, remaining: undefined };
}

async function* selectedBatches(
  batches: AsyncIterable<readonly Entry[]>,
  isSelected: (served: Entry) => boolean,
): AsyncGenerator<readonly Entry[]> {
  for await (const batch of batches) yield batch.filter(isSelected);
}

const expiredContinue =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

export async function renderList(
  { listing, continueToken }: ListPage,
  form: ResponseFormat,
  handled: HandlerRequest,
  { clock }: HandlerDependencies,
): Promise<ApiResponse> {
  const { definition, scope } = handled;
  const metadata = listMetadata(listing, continueToken);
  if (form.as === "object" && form.mediaType === "application/json") {
    return renderItems(definition, listing.entries, metadata);
  }
  if (!isShort(listing)) return renderSlices(listing, metadata, form, handled, clock.now());
  const entries: Entry[] = [];
  for await (const batch of batchesOf(listing)) for (const entry of batch) entries.push(entry);
  if (form.as === "table") {
    const objects = entries.map((entry) => decodeObject(entry));
    const includeObject = parseIncludeObject(scope.query);
    const table = { version: form.version, includeObject, nowMs: clock.now(), withColumns: true };
    const rows = tableResumable(definition, objects, metadata, table);
    return renderValue(200, await runSyncFirst(rows), form);
  }
  const isPartial = form.as === "partial";
  const items = entries.map((entry) => decodeObject(entry));
  const list: JsonObject = {
    ...listHead(definition, metadata, form),
    items: items.map((object) =>
      isPartial ? partialMetadataOf(object, form.version) : listItem(definition, object),
    ),
  };
  return renderValue(200, list, form);
}

function listHead(
  definition: ResourceDefinition,
  metadata: JsonObject,
  form: ResponseFormat,
): JsonObject {
  return form.as === "partial"
    ? { kind: "PartialObjectMetadataList", apiVersion: `meta.k8s.io/${form.version}`, metadata }
    : { kind: definition.listKind, apiVersion: apiVersionOf(definition), metadata };
}

/**
 * A list that is made in one slice is not streamed. Columns that a tenant defines may take long
 * even for small objects.
 */
function isShort({ entries }: ListResult): boolean {
  if (Symbol.asyncIterator in entries || entries.length > sliceItems) return false;
  let bytes = 0;
  for (const { value } of entries) bytes += value.length;
  return bytes <= sliceBytes;
}

function renderSlices(
  listing: ListResult,
  metadata: JsonObject,
  form: ResponseFormat,
  { definition, scope }: HandlerRequest,
  nowMs: number,
): ApiResponse {
  const batches = batchesOf(listing);
  if (form.as !== "table") {
    const item = (object: JsonObject) =>
      form.as === "partial"
        ? partialMetadataOf(object, form.version)
        : listItem(definition, object);
    const head = listHead(definition, metadata, form);
    return slicedList(batches, { head, member: "items", item }, form);
  }
  const { version } = form;
  const table = { version, includeObject: parseIncludeObject(scope.query), nowMs };
  const { rows: _, ...head } = tableOf(definition, [], metadata, { ...table, withColumns: true });
  const budget = new TableBudget();
  const item = (object: JsonObject) => rowOf(definition, object, table, budget);
  return slicedList(batches, { head, member: "rows", item }, form);
}

function listMetadata(listing: ListResult, continueToken: string | undefined): JsonObject {
  return {
    resourceVersion: String(listing.revision),
    ...(continueToken === undefined ? {} : { continue: continueToken }),
    ...(continueToken === undefined || listing.remaining === undefined
      ? {}
      : { remainingItemCount: listing.remaining }),
  };
}

/** Items of lists of built-in kinds have no kind and apiVersion. */
export function listItem(definition: ResourceDefinition, object: JsonObject): JsonObject {
  const { kind, apiVersion, ...rest } = object as { [member: string]: JsonValue };
  return definition.itemsCarryKind ? ({ kind, apiVersion, ...rest } as JsonObject) : rest;
}

async function* batchesOf(listing: ListResult): AsyncGenerator<readonly Entry[]> {
  if (Symbol.asyncIterator in listing.entries) yield* listing.entries;
  else yield listing.entries;
}

/** Renders stored bytes as a list. */
export function renderItems(
  definition: ResourceDefinition,
  entries: ListResult["entries"],
  metadata: JsonObject,
): ApiResponse {
  const { listKind: kind, itemsCarryKind } = definition;
  const head = JSON.stringify({ kind, apiVersion: apiVersionOf(definition), metadata });
  const opening = Buffer.from(`${head.slice(0, -1)},"items":[`);
  return itemList(opening, entries, itemsCarryKind);
}
