/** Deletes what a list would show, each object by the normal way, page by page. */

import { isStatusError, statusError } from "@kcp-ts/machinery/status";
import type { ApiResponse } from "../request/api-request.ts";
import { forEachAtOnce } from "../request/entries-at-once.ts";
import { type Entry, parseObjectKey } from "../storage/index.ts";
import { type HandlerDependencies, type HandlerRequest, requireSingleCluster } from "./context.ts";
import { deleteOne } from "./delete.ts";
import { type DeleteOptions, readDeleteOptions } from "./delete-options.ts";
import { listObjects, renderItems } from "./list.ts";
import { parseListOptions } from "./options.ts";

export async function handleDeleteCollection(
  handled: HandlerRequest,
  rooms: HandlerDependencies,
): Promise<ApiResponse> {
  const { scope, definition } = handled;
  requireSingleCluster(scope);
  if (!definition.verbs.includes("deletecollection"))
    throw statusError.methodNotAllowed(definition, "deletecollection");
  const options = await readDeleteOptions(handled);
  const { listing } = await listObjects(handled, rooms, parseListOptions(scope.query, false));
  const deleted = new DeletedItems();
  const batches = Symbol.asyncIterator in listing.entries ? listing.entries : [listing.entries];
  for await (const batch of batches) {
    await forEachAtOnce(batch, async (entry) => {
      if (definition.isWritable?.(entry) === false) return;
      if (await deleteEntry(handled, rooms, entry, options)) deleted.add(entry);
    });
  }
  const { entries, leftOut } = deleted;
  return renderItems(definition, entries, {
    resourceVersion: String(listing.revision),
    ...(leftOut === 0 ? {} : { remainingItemCount: leftOut }),
  });
}

/** UTF-8 bytes of deleted objects that are shown; those beyond are deleted and counted, and not kept in memory for it. */
const shownBytesMax = 32 << 20;

class DeletedItems {
  readonly entries: Entry[] = [];
  leftOut = 0;
  #bytes = 0;

  add(entry: Entry): void {
    this.#bytes += entry.value.length;
    if (this.#bytes <= shownBytesMax) this.entries.push(entry);
    else this.leftOut++;
  }
}

/** False when somebody else deleted it first, which is as good. */
async function deleteEntry(
  handled: HandlerRequest,
  rooms: HandlerDependencies,
  entry: Entry,
  options: DeleteOptions,
): Promise<boolean> {
  const { namespace, name } = parseObjectKey(entry.key);
  try {
    await deleteOne(handled, rooms, { namespace, name }, options);
    return true;
  } catch (error) {
    if (isStatusError(error, "NotFound")) return false;
    throw error;
  }
}
