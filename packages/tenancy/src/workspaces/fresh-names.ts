/**
 * Names that were made for logical clusters which are not stored yet. Nobody else can have one of them, so nothing needs to be looked up before it is
 * used; any other name may be somebody's.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { newClusterName } from "./cluster-names.ts";

/** Between admission and the store; one that is forgotten is looked up like any other. */
const namesMax = 10_000;

export class GeneratedNames {
  readonly #names = new Set<ClusterName>();

  make(): ClusterName {
    const name = newClusterName();
    this.#names.add(name);
    if (this.#names.size > namesMax) this.#names.delete(this.#names.values().next().value ?? name);
    return name;
  }

  /** Whether it was made here, and not used since. */
  take(name: ClusterName): boolean {
    return this.#names.delete(name);
  }
}
