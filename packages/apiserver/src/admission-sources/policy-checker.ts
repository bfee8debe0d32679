/**
 * PolicyChecker writes the result of type checking, and the observed generation, into the status of
 * each ValidatingAdmissionPolicy.
 *
 * One loop serves all logical clusters, one policy at a time; it only runs when policies change.
 */
import { runYielding, type Supervisor, yieldToEventLoop } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Catalog,
  type Draft,
  type Registry,
  validatingAdmissionPolicies,
} from "../registry/index.ts";
import {
  type Entry,
  parseObjectKey,
  resourcePrefix,
  type Storage,
  type StorageError,
  type StorageKey,
} from "../storage/index.ts";
import { decodeObject } from "../stored-object/index.ts";
import type { HubEvent, HubListener, WatchCache } from "../watch-cache/index.ts";
import { typeWarnings } from "./type-warnings.ts";

export interface PolicyCheckerOptions {
  readonly storage: Storage;
  readonly watchCache: WatchCache;
  readonly registry: Registry;
  readonly catalog: Catalog;
  readonly supervisor: Supervisor;
  readonly onError: (error: unknown) => void;
}

const pageEntries = 100;
const { group, resource, identity } = validatingAdmissionPolicies;
const prefix = resourcePrefix({ group, resource, identity });

export class PolicyChecker implements HubListener {
  readonly #options: PolicyCheckerOptions;
  readonly #stopping = new AbortController();
  readonly #waiting = new Set<StorageKey>();
  #isWorking: Promise<void> | undefined;
  #reading: Promise<void> = Promise.resolve();

  constructor(options: PolicyCheckerOptions) {
    this.#options = options;
  }

  /** Starts the loop; the hub must be open. */
  start(): void {
    const { watchCache, supervisor } = this.#options;
    watchCache.hub.listen(prefix, this);
    const name = "validating-admission-policy-status";
    this.#reading = supervisor.runTask(name, this.#stopping.signal, () => this.#readAll());
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#reading;
    await this.#isWorking;
  }

  onEvent({ key, current }: HubEvent): void {
    if (current !== undefined) this.#note(key);
  }

  onLost(error: StorageError): void {
    if (error.code === "closed" || this.#stopping.signal.aborted) return;
    this.start();
  }

  /** Queues all policies, for those that another process wrote and did not check. */
  async #readAll(): Promise<void> {
    const { storage } = this.#options;
    const { signal } = this.#stopping;
    for (let continueAfter: StorageKey | undefined; ; ) {
      const page = await storage.list(prefix, { signal, entriesMax: pageEntries, continueAfter });
      for (const entry of page.entries) if (isUnchecked(decodeObject(entry))) this.#note(entry.key);
      if (!page.more) return;
      continueAfter = page.entries.at(-1)?.key;
      await yieldToEventLoop();
    }
  }

  #note(key: StorageKey): void {
    this.#waiting.add(key);
    this.#isWorking ??= this.#work();
  }

  async #work(): Promise<void> {
    for (const key of this.#waiting) {
      if (this.#stopping.signal.aborted) break;
      this.#waiting.delete(key);
      await yieldToEventLoop();
      await this.#check(key).catch((error: unknown) => {
        if (!this.#stopping.signal.aborted) this.#options.onError(error);
      });
    }
    this.#isWorking = undefined;
  }

  async #check(key: StorageKey): Promise<void> {
    const { watchCache, catalog, registry } = this.#options;
    const { signal } = this.#stopping;
    const entry: Entry | undefined = await watchCache.get(key, { kind: "latest" }, signal);
    if (entry === undefined) return;
    const policy = decodeObject(entry);
    if (!isUnchecked(policy)) return;
    const { cluster, name } = parseObjectKey(key);
    const warnings = await runYielding(typeWarnings(policy, await catalog.all(cluster)));
    const status: JsonObject = {
      observedGeneration: generationOf(policy),
      typeChecking:
        warnings.length === 0 ? {} : { expressionWarnings: warnings as unknown as JsonValue },
    };
    try {
      await registry.update(
        validatingAdmissionPolicies,
        { cluster, namespace: "", name },
        async (old) => withStatus(old as JsonObject, policy, status),
        {
          isDryRun: false,
          isDerivedFromLive: true,
          subresource: validatingAdmissionPolicies.subresources.get("status"),
          validate: () => undefined,
          signal,
        },
      );
    } catch (error) {
      if (!isStatusError(error, "NotFound")) throw error;
    }
  }
}

/** Leaves a policy unchanged that has changed meanwhile: it is queued again. */
function withStatus(old: JsonObject, checked: JsonObject, status: JsonObject): Draft {
  const { resourceVersion: _, ...metadata } = old["metadata"] as JsonObject;
  const isOther = generationOf(old) !== generationOf(checked);
  const before = isJsonObject(old["status"]) ? old["status"] : {};
  return { ...old, metadata, status: isOther ? before : { ...before, ...status } };
}

function isUnchecked(policy: JsonObject): boolean {
  const { status } = policy;
  const { observedGeneration } = isJsonObject(status) ? status : ({} as JsonObject);
  return observedGeneration !== generationOf(policy);
}

function generationOf(policy: JsonObject): JsonValue {
  return (policy["metadata"] as JsonObject)["generation"] ?? 0;
}
