/**
 * The API importer: writes the APIs of every connected cluster as APIResourceImports. It runs when
 * the cluster is connected, and then whenever the cluster's APIs have changed, which it checks once
 * a minute.
 */
import { type Clock, type Random, systemClock, systemRandom } from "@kcp-ts/machinery/base";
import {
  type Client,
  type Clusters,
  Controller,
  findCondition,
  formatKey,
  isBeingDeleted,
  type ObjectKey,
  type ObjectSource,
  pause,
  type ReconcileContext,
  type ReconcileResult,
  setCondition,
} from "@kcp-ts/sdk";
import {
  type APIResourceImport,
  apiResourceImports,
  byLocation,
  importedResources,
  importInformer,
  type SyncTarget,
  servedBeside,
  syncTargets,
  targetConditions,
  writeSyncTargetStatus,
} from "../api/index.ts";
import type { ImportResult } from "../api-import/index.ts";
import { diagnose, keyOf, type TargetConnection, type Targets } from "../registration/index.ts";
import {
  fingerprint,
  type ImportOutcome,
  readServed,
  type ServedRequest,
  writeImports,
} from "./import-run.ts";
import { NativeResources } from "./native-resources.ts";

export interface ApiImporterOptions {
  /** A client of the control plane, for all logical clusters. */
  readonly client: Client;
  readonly clusters: Clusters;
  readonly targets: Targets;
  /** The resources to import when a SyncTarget does not list any. */
  readonly resources: readonly string[];
  readonly pollMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly onError?: ((error: unknown, key: ObjectKey) => void) | undefined;
}

export const importPollMsDefault = 60_000;
/** A run reads megabytes: few run concurrently, each with a timeout. */
const concurrency = 4;
const runTimeoutMs = 60_000;
/** The interval at which the informer is checked for written imports. */
const observePollMs = 10;

type ImportProbe =
  | { readonly kind: "unchanged" }
  | { readonly kind: "changed"; readonly print: string | undefined; readonly found: ImportResult }
  | { readonly kind: "failed"; readonly error: unknown };

/** The input of a cluster's last run. */
interface LastRun {
  readonly connection: TargetConnection;
  readonly fingerprint: string | undefined;
  readonly resources: string;
  readonly imports: string;
  /** The number of deleted imports when the run started. */
  readonly deletions: number;
  readonly nextAtMs: number;
}

export class ApiImporter {
  readonly controller: Controller;
  readonly #options: ApiImporterOptions;
  readonly #clock: Clock;
  readonly #targetSource: ObjectSource<SyncTarget>;
  readonly #importSource: ObjectSource<APIResourceImport>;
  readonly #native: NativeResources;
  readonly #lastRuns = new Map<string, LastRun>();
  /** An import that is created and deleted between two runs leaves no other trace. */
  readonly #deletions = new Map<string, number>();

  constructor(options: ApiImporterOptions) {
    const { clusters, targets, onError } = options;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#native = new NativeResources(options.client, this.#clock);
    this.#targetSource = clusters.source(syncTargets);
    this.#importSource = clusters.source(apiResourceImports, importInformer);
    this.controller = new Controller({
      name: "api-importer",
      clusters,
      concurrency,
      timeoutMs: runTimeoutMs,
      reconcile: (key, context) => this.#reconcile(key, context),
      clock: this.#clock,
      ...(onError === undefined ? {} : { onError }),
    })
      .watch(syncTargets)
      // An import that another client deleted or changed is written again.
      .watch(apiResourceImports, {
        ...importInformer,
        map: ({ spec }, { cluster }) => [{ cluster, namespace: "", name: spec.location }],
        predicate: (change) =>
          change.type === "deleted" ||
          (change.type === "updated" &&
            change.object.metadata.generation !== change.previous.metadata.generation),
      });
    this.#importSource.addHandler({
      deleted: ({ spec }, { key }) => {
        const id = formatKey({ cluster: key.cluster, namespace: "", name: spec.location });
        this.#deletions.set(id, (this.#deletions.get(id) ?? 0) + 1);
      },
    });
    targets.subscribe({
      connected: (connection) => this.controller.enqueue(keyOf(connection)),
      disconnected: (connection) => {
        this.#lastRuns.delete(formatKey(keyOf(connection)));
        this.#deletions.delete(formatKey(keyOf(connection)));
      },
    });
  }

  async #reconcile(key: ObjectKey, context: ReconcileContext): Promise<ReconcileResult> {
    const target = this.#targetSource.store.get(key);
    const connection = this.#options.targets.get(key);
    // Without a connection to the cluster, its imports stay.
    if (target === undefined || connection === undefined || isBeingDeleted(target))
      return undefined;
    const { signal, client: upstreamClient } = context;
    const resources = importedResources(target.spec?.resources, this.#options.resources);
    const imports = this.#known(key);
    const last = this.#lastRuns.get(formatKey(key));
    const deletions = this.#deletions.get(formatKey(key)) ?? 0;
    const isSame =
      last?.connection === connection &&
      last.resources === resources.join() &&
      last.deletions === deletions &&
      last.imports === namesOf(imports);
    const nowMs = this.#clock.monotonic();
    if (isSame && nowMs < last.nextAtMs) return { requeueAfterMs: last.nextAtMs - nowMs };
    const nextAtMs = nowMs + this.#pollMs();
    const native = await this.#native.names(signal);
    const known = isSame ? last.fingerprint : undefined;
    const optional = new Set(
      target.spec?.resources === undefined ? servedBeside(this.#options.resources) : [],
    );
    const served = await this.#look(connection, known, { resources, optional, native, signal });
    if (served.kind === "unchanged") {
      if (last !== undefined) this.#lastRuns.set(formatKey(key), { ...last, nextAtMs });
    } else if (served.kind === "failed") {
      // The next success must be reported, though the cluster has not changed.
      this.#lastRuns.delete(formatKey(key));
      // A failed run is retried sooner; the SyncTarget controller reports the cluster's health.
      if (!connection.signal.aborted) await this.#say(target, failed(served.error), context);
      return { requeueAfterMs: this.#pollMs() / 4 };
    } else {
      const { found, print } = served;
      const run = { target, found, known: imports, upstreamClient, signal };
      const outcome = await writeImports(run);
      await this.#observed(key, outcome.imported, signal);
      await this.#say(target, ready(outcome), context);
      const about = { connection, resources: resources.join(), fingerprint: print, deletions };
      this.#lastRuns.set(formatKey(key), {
        ...about,
        imports: namesOf(this.#known(key)),
        nextAtMs,
      });
    }
    return { requeueAfterMs: nextAtMs - nowMs };
  }

  /**
   * Resolves when the informer has the imports that were written: a reader of the condition finds
   * them in the informer, too. The imports that another client deletes meanwhile are not waited
   * for: the deletion starts another run.
   */
  async #observed(key: ObjectKey, count: number, signal: AbortSignal): Promise<void> {
    const id = formatKey(key);
    const deletions = this.#deletions.get(id);
    while (this.#known(key).length < count && this.#deletions.get(id) === deletions)
      await pause(this.#clock, observePollMs, signal);
  }

  /** All requests to the cluster: their errors concern only this cluster. */
  async #look(
    { client }: TargetConnection,
    known: string | undefined,
    request: ServedRequest,
  ): Promise<ImportProbe> {
    try {
      const print = await fingerprint(client, request.signal);
      if (print !== undefined && print === known) return { kind: "unchanged" };
      return { kind: "changed", print, found: await readServed(client, request) };
    } catch (error) {
      return { kind: "failed", error };
    }
  }

  #known({ cluster, name }: ObjectKey): readonly APIResourceImport[] {
    return this.#importSource.store.byIndex(byLocation, { cluster, value: name });
  }

  #pollMs(): number {
    const { pollMs = importPollMsDefault, random = systemRandom } = this.#options;
    return pollMs * (0.9 + 0.2 * random.next());
  }

  async #say(
    target: SyncTarget,
    importedCondition: ImportedCondition,
    { client, signal }: ReconcileContext,
  ): Promise<void> {
    const type = targetConditions.apiImporterReady;
    const before = findCondition(target.status?.conditions, type);
    const after = setCondition(
      before === undefined ? [] : [before],
      { type, ...importedCondition },
      this.#clock.now(),
    );
    if (before !== undefined && after[0] === before) return;
    await writeSyncTargetStatus({ client, target, signal }, "apiImporter", { conditions: after });
  }
}

interface ImportedCondition {
  readonly status: "True" | "False";
  readonly severity?: "Error";
  readonly reason: string;
  readonly message: string;
}

const skippedShownMax = 10;

function ready({ imported, skipped }: ImportOutcome): ImportedCondition {
  const shown = [...skipped]
    .slice(0, skippedShownMax)
    .map(([name, reason]) => `${name} (${reason})`);
  const more = skipped.size > skippedShownMax ? ` and ${skipped.size - skippedShownMax} more` : "";
  const left = shown.length === 0 ? "" : `; not imported: ${shown.join(", ")}${more}`;
  return {
    status: "True",
    reason: "APIsImported",
    message: `${imported} APIs are imported${left}`,
  };
}

function failed(error: unknown): ImportedCondition {
  const { message } = diagnose(error);
  return { status: "False", severity: "Error", reason: "ErrorStartingAPIImporter", message };
}

/** The names and versions of the imports: a text that changes when another client writes them. */
function namesOf(imports: readonly APIResourceImport[]): string {
  return imports
    .map(({ metadata }) => `${metadata.name}@${metadata.uid}#${metadata.generation}`)
    .toSorted()
    .join();
}
