/**
 * OwnershipGraph: the owner references of all logical clusters, as far as the watches have
 * delivered them.
 *
 * It decides nothing: a change of the graph returns the objects to reconcile. Its state of owners
 * is a cache of lookups on the server, so that ten thousand dependents of one owner need one
 * lookup; an entry is dropped as soon as the owner changes.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type CollectedResource,
  type GraphNode,
  graphId,
  isBlocking,
  isDeletingDependents,
} from "./graph-node.ts";

/** Of an owner that changed since its lookup only its existence is certain. */
export type Existence = "present" | "absent";

interface Owner {
  readonly dependents: Set<GraphNode>;
  /** By the place of the lookup: references to one uid may name different kinds and namespaces. */
  readonly known: Map<string, Existence | "unsure">;
  /** Counts the changes of the owner, so that an older lookup does not overwrite a newer state. */
  epoch: number;
}

/** The place where an owner was looked up. */
export interface Coordinates {
  readonly group: string;
  readonly kind: string;
  /** The dependent's namespace. */
  readonly namespace: string;
  readonly name: string;
}

export class OwnershipGraph {
  readonly #nodes = new Map<string, GraphNode>();
  readonly #owners = new Map<string, Owner>();

  get size(): number {
    return this.#nodes.size;
  }

  get(id: string): GraphNode | undefined {
    return this.#nodes.get(id);
  }

  /** The ids of all objects of a resource; iterates over the full graph. */
  idsOf(resource: CollectedResource): string[] {
    const ids: string[] = [];
    for (const [id, node] of this.#nodes) if (node.resource === resource) ids.push(id);
    return ids;
  }

  dependentsOf({ cluster, uid }: GraphNode): readonly GraphNode[] {
    return [...(this.#owners.get(graphId(cluster, uid))?.dependents ?? [])];
  }

  /** Stores a state of an object; returns the ids to reconcile. */
  put(node: GraphNode): string[] {
    const id = graphId(node.cluster, node.uid);
    const before = this.#nodes.get(id);
    // Delivered again, not changed.
    if (before !== undefined && before.resourceVersion === node.resourceVersion) return [];
    this.#nodes.set(id, node);
    // In this order, so that the cached states of remaining owners are kept.
    this.#link(node);
    if (before !== undefined) this.#unlink(before);
    const wake = [id];
    if (isDeletingDependents(node) && !(before !== undefined && isDeletingDependents(before))) {
      wake.push(...this.#ownerChanged(id));
    }
    if (before !== undefined) wake.push(...this.#ownersReleasedBy(before, node));
    return wake;
  }

  /** The object is deleted, or need not be kept any more. It may never have been in the graph. */
  remove(id: string): string[] {
    const node = this.#nodes.get(id);
    if (node !== undefined) {
      this.#nodes.delete(id);
      this.#unlink(node);
    }
    const wake = this.#ownerChanged(id);
    if (node !== undefined) wake.push(...this.#ownersReleasedBy(node, undefined));
    return wake;
  }

  /**
   * Changes of a resource may have been missed: drops the cached states of owners that may be of
   * this resource.
   */
  distrust({
    group,
    kind,
    isCustom,
  }: Pick<CollectedResource, "group" | "kind" | "isCustom">): string[] {
    const prefix = isCustom === true ? `${group}/` : `${group}/${kind}/`;
    const wake: string[] = [];
    for (const [id, { known }] of this.#owners) {
      for (const [coordinates, existence] of known) {
        if (existence !== "present" || !coordinates.startsWith(prefix)) continue;
        wake.push(...this.#ownerChanged(id));
        break;
      }
    }
    return wake;
  }

  existence(cluster: ClusterName, uid: string, at: Coordinates): Existence | undefined {
    const known = this.#owners.get(graphId(cluster, uid))?.known.get(formatCoordinates(at));
    return known === "unsure" ? undefined : known;
  }

  /**
   * Whether an object with the uid exists, or existed, at the place of the lookup: then the
   * reference is valid.
   */
  wasPresent(cluster: ClusterName, uid: string, at: Coordinates): boolean {
    const known = this.#owners.get(graphId(cluster, uid))?.known.get(formatCoordinates(at));
    return known === "present" || known === "unsure";
  }

  /** Whether an object with the uid is known in another namespace than that of the lookup. */
  isElsewhere(cluster: ClusterName, uid: string, { namespace }: Coordinates): boolean {
    const id = graphId(cluster, uid);
    const node = this.#nodes.get(id);
    if (node !== undefined) return node.namespace !== namespace;
    for (const [coordinates, existence] of this.#owners.get(id)?.known ?? [])
      if (existence === "present" && coordinates.split("/")[2] !== namespace) return true;
    return false;
  }

  /** Begins a lookup of an owner; its result is only cached if the owner has not changed since. */
  ask(cluster: ClusterName, uid: string, at: Coordinates): (answer: Existence) => void {
    const owner = this.#owners.get(graphId(cluster, uid));
    const epoch = owner?.epoch;
    return (answer) => {
      // Absence is final, since uids are never reused.
      if (answer === "present" && owner?.epoch !== epoch) return;
      owner?.known.set(formatCoordinates(at), answer);
    };
  }

  #ownerChanged(id: string): string[] {
    const owner = this.#owners.get(id);
    if (owner === undefined) return [];
    owner.epoch++;
    for (const [coordinates, existence] of owner.known) {
      if (existence === "present") owner.known.set(coordinates, "unsure");
    }
    return [...owner.dependents].map(({ cluster, uid }) => graphId(cluster, uid));
  }

  /** Owners that waited for the deletion of `before`, and need not wait for its new state. */
  #ownersReleasedBy(before: GraphNode, now: GraphNode | undefined): string[] {
    const released: string[] = [];
    for (const { uid } of before.owners) {
      const owner = this.#nodes.get(graphId(before.cluster, uid));
      if (owner === undefined || !isDeletingDependents(owner)) continue;
      if (isBlocking(before, uid) && (now === undefined || !isBlocking(now, uid))) {
        released.push(graphId(before.cluster, uid));
      }
    }
    return released;
  }

  #link(node: GraphNode): void {
    for (const { uid } of node.owners) {
      const id = graphId(node.cluster, uid);
      let owner = this.#owners.get(id);
      if (owner === undefined) {
        owner = { dependents: new Set(), known: new Map(), epoch: 0 };
        this.#owners.set(id, owner);
      }
      owner.dependents.add(node);
    }
  }

  #unlink(node: GraphNode): void {
    for (const { uid } of node.owners) {
      const id = graphId(node.cluster, uid);
      const owner = this.#owners.get(id);
      owner?.dependents.delete(node);
      if (owner?.dependents.size === 0) this.#owners.delete(id);
    }
  }
}

function formatCoordinates({ group, kind, namespace, name }: Coordinates): string {
  return `${group}/${kind}/${namespace}/${name}`;
}
