/**
 * The content of a namespace: its objects, and their deletion.
 *
 * Objects are deleted one by one, from pages of their metadata, and not by one deletecollection:
 * such a request has the timeout of any other, responds with all deleted objects, and blocks other
 * requests meanwhile. Only resources that cannot be listed are deleted by deletecollection.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import type {
  ApiResource,
  Client,
  Discovery,
  KubernetesObject,
  PartialObjectMetadata,
  ResourceClient,
} from "@kcp-ts/sdk";
import { forEachConcurrently, YieldTimer } from "../pace/index.ts";

/** Objects per page of a list. */
const pageObjects = 250;
/**
 * Concurrent deletions of one namespace: enough to share a flush of the disk, few enough to leave
 * capacity to other requests.
 */
const deletionsMax = 16;

/**
 * The namespaced resources whose objects can be deleted, each once, in the version the server
 * prefers. Pods come first: the objects that they need (their network policies, their secrets) must
 * outlive them.
 */
export function deletableResources({ groups }: Discovery): readonly ApiResource[] {
  const found = new Map<string, ApiResource>();
  for (const { versions } of groups) {
    for (const { resources } of versions) {
      for (const resource of resources) {
        const name = displayName(resource);
        if (!resource.namespaced || found.has(name)) continue;
        if (resource.verbs.includes("delete")) found.set(name, resource);
      }
    }
  }
  const all = [...found.values()];
  return [...all.filter(isPods), ...all.filter((one) => !isPods(one))];
}

export function isPods({ group, resource }: ApiResource): boolean {
  return group === "" && resource === "pods";
}

/** As the conditions write it: `configmaps.`, `deployments.apps`. */
export function displayName({ group, resource }: ApiResource): string {
  return `${resource}.${group}`;
}

export interface EmptyOptions {
  readonly client: Client;
  readonly namespace: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** How many objects may still be deleted in this pass. */
  readonly allowance: DeletionBudget;
}

/** Bounds a pass, so that a namespace with a million objects takes turns with others. */
export class DeletionBudget {
  #left: number;

  constructor(objects: number) {
    this.#left = objects;
  }

  get isUsedUp(): boolean {
    return this.#left <= 0;
  }

  take(objects: number): void {
    this.#left -= objects;
  }
}

/** The remaining objects of one resource in the namespace. */
export interface RemainingContent {
  readonly count: number;
  readonly finalizers: ReadonlyMap<string, number>;
}

const nothingLeft: RemainingContent = { count: 0, finalizers: new Map() };

/**
 * Deletes the objects of one resource within the limit of the pass, and counts the remaining ones.
 */
export async function deleteContent(
  resource: ApiResource,
  options: EmptyOptions,
): Promise<RemainingContent> {
  const objects = options.client.resource(resource);
  const { namespace, signal } = options;
  if (!resource.verbs.includes("list")) {
    if (resource.verbs.includes("deletecollection")) {
      await objects.deleteCollection({ namespace, propagationPolicy: "Background", signal });
    }
    return nothingLeft;
  }
  try {
    const wasEmpty = await deleteAll(objects, options);
    return wasEmpty ? nothingLeft : await countAll(objects, options);
  } catch (error) {
    // The type was removed meanwhile, and its objects with it; or discovery lists a verb that the
    // resource does not have.
    if (isStatusError(error, "NotFound") || isStatusError(error, "MethodNotAllowed")) {
      return nothingLeft;
    }
    throw error;
  }
}

/** True when there was no object at all. */
async function deleteAll(
  objects: ResourceClient<KubernetesObject>,
  options: EmptyOptions,
): Promise<boolean> {
  const { namespace, signal, allowance, clock } = options;
  const pace = new YieldTimer(clock);
  let wasEmpty = true;
  for await (const page of pagesOf(objects, options)) {
    if (page.length > 0) wasEmpty = false;
    const living = page.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    await forEachConcurrently(
      living,
      { concurrency: deletionsMax, pace, signal },
      async ({ metadata: { name, uid = "" } }) => {
        const preconditions = { uid };
        try {
          await objects.delete(
            { namespace, name },
            { propagationPolicy: "Background", preconditions },
          );
        } catch (error) {
          // Another client deleted the object, which is as good; a new object of the same name is
          // found by the next pass.
          if (!isStatusError(error, "NotFound") && !isStatusError(error, "Conflict")) throw error;
        }
      },
    );
    allowance.take(living.length);
    if (allowance.isUsedUp) return false;
  }
  return wasEmpty;
}

async function countAll(
  objects: ResourceClient<KubernetesObject>,
  options: EmptyOptions,
): Promise<RemainingContent> {
  let count = 0;
  const finalizers = new Map<string, number>();
  for await (const page of pagesOf(objects, options)) {
    count += page.length;
    for (const { metadata } of page) {
      for (const name of metadata.finalizers ?? []) {
        finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
      }
    }
  }
  return { count, finalizers };
}

async function* pagesOf(
  objects: ResourceClient<KubernetesObject>,
  { namespace, signal }: EmptyOptions,
): AsyncGenerator<readonly PartialObjectMetadata[]> {
  let next: string | undefined;
  do {
    const page = await objects.listMetadata({
      namespace,
      limit: pageObjects,
      continue: next,
      signal,
    });
    yield page.items;
    next = page.metadata.continue;
  } while (next);
}
