/**
 * Generated names of logical clusters that are not stored yet. A generated name is unique, so no
 * read is needed before its first use; any other name may be in use.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { nameOnShard } from "../shards/index.ts";
import { newClusterName } from "./cluster-names.ts";

/** Names between admission and the store; a name beyond this limit is looked up like any other. */
const namesMax = 10_000;

export class GeneratedNames {
  readonly #names = new Set<ClusterName>();

  generate(shard: string): ClusterName {
    const name = nameOnShard(newClusterName(), shard);
    this.#names.add(name);
    if (this.#names.size > namesMax) this.#names.delete(this.#names.values().next().value ?? name);
    return name;
  }

  /** Whether the name was generated here, and is unused. */
  consume(name: ClusterName): boolean {
    return this.#names.delete(name);
  }
}
