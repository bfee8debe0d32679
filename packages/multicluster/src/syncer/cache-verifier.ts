/**
 * A safety net for watches: at long intervals, the versions that a server lists are compared with
 * the versions in an informer's cache, and when the informer has missed a change, it relists.
 *
 * Watches suffice as long as all components follow the protocol. A proxy that loses a line, a
 * server that lists before its cache is filled, or a bug are not noticed by a watch that continues.
 * The price is a list of metadata every half an hour for each kind and side, with jitter.
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
  /** Whether the informer caches the object. */
  readonly keep?: ((object: KubernetesObject) => boolean) | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly onError: (error: unknown) => void;
  /** Called when a comparison found no missed change. */
  readonly onAgreed?: (() => void) | undefined;
}

interface Versioned {
  readonly metadata: { readonly resourceVersion: string | undefined };
}

/** The interval between two comparisons; jitter of a half spreads kinds and clusters. */
export const cacheVerifyPeriodMs = 1_800_000;
/**
 * A listed change may still be in flight on the watch: only a difference that persists for this
 * long was missed.
 */
export const cacheVerifyGraceMs = 10_000;
const pageSize = 500;

/** Runs until the signal aborts. */
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
    ({ key, cachedVersion }) =>
      versionIn(informer, key) === cachedVersion && informer.health.state === "watching",
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
  /** The version in the informer's cache at the time of the comparison. */
  readonly cachedVersion: string | undefined;
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
      const cachedVersion = versionIn(informer, key);
      if (cachedVersion !== item.metadata.resourceVersion)
        suspects.set(text, { key, cachedVersion });
    }
    next = page.metadata.continue;
  } while (next);
  for (const [key, { metadata }] of informer.store.entries()) {
    const text = formatKey(key);
    if (!listed.has(text)) suspects.set(text, { key, cachedVersion: metadata.resourceVersion });
  }
  return suspects;
}

function versionIn(
  { store }: { readonly store: ObjectStore<Versioned> },
  key: ObjectKey,
): string | undefined {
  return store.get(key)?.metadata.resourceVersion;
}
