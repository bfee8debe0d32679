/**
 * A safety net under the watches: from time to time the versions that a server lists are compared with those that an informer holds, and when something was missed, the
 * informer fetches everything anew.
 *
 * Watches suffice as long as everybody keeps to the protocol. A proxy that loses a line, a server whose cache was not filled when it listed, a bug: none of them
 * is noticed by a watch that goes on. The price is a list of metadata, once in half an hour for each kind and side, at a time of its own.
 */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import {
  type Client,
  clusterOf,
  formatKey,
  type Informer,
  type InformerScope,
  type KubernetesObject,
  keyInCluster,
  type ObjectKey,
  type ObjectStore,
  pause,
} from "@kcp-ts/sdk";

export interface CacheVerifierOptions<Cached extends Versioned> {
  readonly informer: Informer<KubernetesObject, Cached>;
  readonly client: Client;
  readonly scope: InformerScope;
  readonly labelSelector?: string | undefined;
  /** Whether the informer keeps such an object. */
  readonly keep?: ((object: KubernetesObject) => boolean) | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly onError: (error: unknown) => void;
  /** It was compared, and nothing was missed. */
  readonly onAgreed?: (() => void) | undefined;
}

interface Versioned {
  readonly metadata: { readonly resourceVersion: string | undefined };
}

/** Between two looks; half as much more or less, so that kinds and clusters take turns. */
export const cacheVerifyPeriodMs = 1_800_000;
/** What was listed may be on its way on the watch: only what differs in the same way after so long was missed. */
export const cacheVerifyGraceMs = 10_000;
const pageSize = 500;

/** Works until the signal aborts. */
export async function runCacheVerifier<Cached extends Versioned>(
  options: CacheVerifierOptions<Cached>,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, onError } = options;
  while (!signal.aborted) {
    try {
      await pause(clock, cacheVerifyPeriodMs * (0.5 + random.next()), signal);
      await verifyCache(options, signal);
    } catch (error) {
      if (!signal.aborted) onError(error);
    }
  }
}

async function verifyCache<Cached extends Versioned>(
  options: CacheVerifierOptions<Cached>,
  signal: AbortSignal,
): Promise<void> {
  const { informer, clock, onError } = options;
  if (informer.health.state !== "watching") return;
  const suspects = await differences(options, signal);
  if (suspects.size === 0) return options.onAgreed?.();
  await pause(clock, cacheVerifyGraceMs, signal);
  const missed = [...suspects.values()].filter(
    ({ key, held }) => versionIn(informer, key) === held && informer.health.state === "watching",
  );
  if (missed.length === 0) return;
  const [first] = missed;
  const { resource } = informer.resource;
  onError(
    new Error(
      `the watch of ${resource} has missed ${missed.length} changes, ${first?.key.namespace}/${first?.key.name} for one: all of it is fetched anew`,
    ),
  );
  informer.resync();
}

interface SuspectEntry {
  readonly key: ObjectKey;
  /** What the informer held when it was compared. */
  readonly held: string | undefined;
}

async function differences<Cached extends Versioned>(
  options: CacheVerifierOptions<Cached>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, SuspectEntry>> {
  const { informer, client, scope, labelSelector, keep } = options;
  const isEverywhere = scope === "all-clusters";
  const resource = (isEverywhere ? client.inCluster("*") : client).resource(informer.resource);
  const suspects = new Map<string, SuspectEntry>();
  const listed = new Set<string>();
  let next: string | undefined;
  do {
    const page = await resource.listMetadata({
      labelSelector,
      limit: pageSize,
      ...(next === undefined ? {} : { continue: next }),
      signal,
    });
    for (const item of page.items) {
      const cluster = isEverywhere ? clusterOf(item) : scope.cluster;
      if (cluster === undefined || keep?.(item) === false) continue;
      const key = keyInCluster(cluster, item);
      const text = formatKey(key);
      listed.add(text);
      const held = versionIn(informer, key);
      if (held !== item.metadata.resourceVersion) suspects.set(text, { key, held });
    }
    next = page.metadata.continue;
  } while (next);
  for (const [key, { metadata }] of informer.store.entries()) {
    const text = formatKey(key);
    if (!listed.has(text)) suspects.set(text, { key, held: metadata.resourceVersion });
  }
  return suspects;
}

function versionIn(
  { store }: { readonly store: ObjectStore<Versioned> },
  key: ObjectKey,
): string | undefined {
  return store.get(key)?.metadata.resourceVersion;
}
