/**
 * What must be left in the end, by the simplest possible reading of the rules: no watches, no
 * order, no time. For tests.
 *
 * An owner counts if it exists in the same cluster and namespace. An object that has owners, none
 * of which counts, goes; one with some that count keeps those. How an owner was deleted makes no
 * difference to what is left, unless it was to leave its dependents behind.
 */
export interface ModelObject {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly owners: readonly string[];
}

export class OwnershipModel {
  #objects = new Map<string, ModelObject>();

  get objects(): readonly ModelObject[] {
    return [...this.#objects.values()];
  }

  put(object: ModelObject): void {
    this.#objects.set(object.uid, object);
    this.#settle();
  }

  delete(uid: string, dependents: "cascade" | "orphan"): void {
    const gone = this.#objects.get(uid);
    this.#objects.delete(uid);
    if (dependents === "orphan") {
      for (const one of this.objects) {
        if (one.namespace !== gone?.namespace || !one.owners.includes(uid)) continue;
        const owners = one.owners.filter((owner) => owner !== uid);
        this.#objects.set(one.uid, { ...one, owners });
      }
    }
    this.#settle();
  }

  /** One line for each object, in order. */
  describe(): string[] {
    return this.objects.map(line).sort();
  }

  #settle(): void {
    for (let isChanged = true; isChanged; ) {
      isChanged = false;
      for (const one of this.objects) {
        const owners = one.owners.filter(
          (uid) => this.#objects.get(uid)?.namespace === one.namespace,
        );
        if (owners.length === one.owners.length) continue;
        isChanged = true;
        if (owners.length === 0) this.#objects.delete(one.uid);
        else this.#objects.set(one.uid, { ...one, owners });
      }
    }
  }
}

export function line({ namespace, name, owners }: Omit<ModelObject, "uid">): string {
  return `${namespace}/${name} owned by [${[...owners].sort().join(" ")}]`;
}
