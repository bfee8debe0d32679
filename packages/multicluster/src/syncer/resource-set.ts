/** The currently synced resources: kinds are added and removed while a syncer runs. */
import { formatResource } from "@kcp-ts/sdk";
import type { SyncedResource } from "./context.ts";

export class ResourceSet {
  #resources: readonly SyncedResource[];
  readonly #listeners = new Set<() => void>();

  constructor(resources: readonly SyncedResource[] = []) {
    this.#resources = resources;
  }

  get current(): readonly SyncedResource[] {
    return this.#resources;
  }

  set(resources: readonly SyncedResource[]): void {
    const before = this.#resources.map(idOf).join();
    this.#resources = resources;
    if (resources.map(idOf).join() === before) return;
    for (const listener of this.#listeners) listener();
  }

  /** Returns the function that unsubscribes. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

export function idOf({ resource, hasStatus, isShared }: SyncedResource): string {
  const marks = `${hasStatus ? "+status" : ""}${isShared === true ? "+shared" : ""}`;
  return `${formatResource(resource)}${marks}`;
}
