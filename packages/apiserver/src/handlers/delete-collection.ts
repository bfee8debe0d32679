/**
 * DELETE of a collection deletes the objects of the corresponding list, each as a single DELETE
 * would, page by page.
 */
import { fieldError, isStatusError, statusError } from "@kcp-ts/machinery/status";
import { ignoreReadErrorOption, type WriteResult } from "../registry/index.ts";
import type { ApiResponse } from "../request/api-request.ts";
import { forEachAtOnce } from "../request/entries-at-once.ts";
import { type Entry, parseObjectKey } from "../storage/index.ts";
import { deleteOne, mayFailToConvert } from "./delete.ts";
import { type DeleteOptions, readDeleteOptions } from "./delete-options.ts";
import {
  type HandlerDependencies,
  type HandlerRequest,
  requireSingleCluster,
} from "./handler-context.ts";
import { listObjects, renderItems } from "./list.ts";
import { parseListOptions } from "./options.ts";

export async function handleDeleteCollection(
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
): Promise<ApiResponse> {
  const { scope, definition } = handled;
  requireSingleCluster(scope);
  if (!definition.verbs.includes("deletecollection"))
    throw statusError.methodNotAllowed(definition, "deletecollection");
  const options = await readDeleteOptions(handled);
  if (options.ignoresReadError === true) {
    const error = fieldError.invalid(
      ignoreReadErrorOption,
      true,
      "is not allowed with DELETECOLLECTION, try again after removing the option",
    );
    throw statusError.invalid({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", [error]);
  }
  const { listing } = await listObjects(
    handled,
    dependencies,
    parseListOptions(scope.query, false),
    "stored",
  );
  const deleted = new DeletedItems();
  const batches = Symbol.asyncIterator in listing.entries ? listing.entries : [listing.entries];
  const countMax = mayFailToConvert(handled) ? convertedAtOnceMax : undefined;
  for await (const batch of batches) {
    const deleteOfBatch = async (entry: Entry) => {
      if (definition.isWritable?.(entry) === false) return;
      const isShown = !deleted.isFull;
      const gone = await deleteEntry(handled, dependencies, { entry, isShown }, options);
      if (gone !== undefined) deleted.add(gone.served ?? entry);
    };
    await forEachAtOnce(batch, deleteOfBatch, countMax);
  }
  const { entries, omitted } = deleted;
  return renderItems(definition, entries, {
    resourceVersion: String(listing.revision),
    ...(omitted === 0 ? {} : { remainingItemCount: omitted }),
  });
}

/**
 * UTF-8 bytes of deleted objects in the response; further objects are deleted and counted, but not
 * kept in memory for the response.
 */
const shownBytesMax = 4 << 20;

/** Each has a response of a webhook in memory, of 8 MiB at most. kube-apiserver deletes one. */
const convertedAtOnceMax = 2;

class DeletedItems {
  readonly entries: Entry[] = [];
  omitted = 0;
  #bytes = 0;

  get isFull(): boolean {
    return this.#bytes > shownBytesMax;
  }

  add(entry: Entry): void {
    this.#bytes += entry.value.length;
    if (this.isFull) this.omitted++;
    else this.entries.push(entry);
  }
}

/** Undefined when another request deleted the object first, which is no error. */
async function deleteEntry(
  handled: HandlerRequest,
  dependencies: HandlerDependencies,
  { entry, isShown }: { readonly entry: Entry; readonly isShown: boolean },
  options: DeleteOptions,
): Promise<WriteResult | undefined> {
  const { namespace, name } = parseObjectKey(entry.key);
  try {
    return await deleteOne(handled, dependencies, { namespace, name, isShown }, options);
  } catch (error) {
    if (isStatusError(error, "NotFound")) return undefined;
    throw error;
  }
}
