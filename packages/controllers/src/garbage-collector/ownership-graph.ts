/**
 * Who owns whom, in all logical clusters, as far as the watches have told.
 *
 * It decides nothing: a change to it returns who must be looked at again because of it. What it knows of owners is a memory of questions
 * asked of the server, so that ten thousand dependents of one owner ask once; a memory that is dropped as soon as the owner changes.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type CollectedResource,
  type GraphNode,
  graphId,
  isBlocking,
  isDeletingDependents,
} from "./graph-node.ts";

/** Of an owner that changed since it was seen nothing is sure, but that it was there. */
export type Existence = "present" | "absent";

interface Owner {
  readonly dependents: Set<GraphNode>;
  /** By where it was looked for: references to one uid may name different kinds and places. */
  readonly known: Map<string, Existence | "unsure">;
  /** Counts what happened to it, so that an answer from before is not taken for one from after. */
  epoch: number;
}

/** Where an owner was looked for. */
export interface Coordinates {
  readonly group: string;
  readonly kind: string;
  /** The dependent's. */
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

  /** The ids of all objects of a resource; walks everything. */
  idsOf(resource: CollectedResource): string[] {
    const ids: string[] = [];
    for (const [id, node] of this.#nodes) if (node.resource === resource) ids.push(id);
    return ids;
  }

  dependentsOf({ cluster, uid }: GraphNode): readonly GraphNode[] {
    return [...(this.#owners.get(graphId(cluster, uid))?.dependents ?? [])];
  }

  /** Takes in a state of an object; returns the ids to look at. */
  put(node: GraphNode): string[] {
    const id = graphId(node.cluster, node.uid);
    const before = this.#nodes.get(id);
    // Told again, not changed.
    if (before !== undefined && before.resourceVersion === node.resourceVersion) return [];
    this.#nodes.set(id, node);
    // In this order, so that what is known of owners that stay is kept.
    this.#link(node);
    if (before !== undefined) this.#unlink(before);
    const wake = [id];
    if (isDeletingDependents(node) && !(before !== undefined && isDeletingDependents(before))) {
      wake.push(...this.#ownerChanged(id));
    }
    if (before !== undefined) wake.push(...this.#ownersReleasedBy(before, node));
    return wake;
  }

  /** An object is gone, or has become one that nobody needs to remember. It may never have been here. */
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

  /** Changes of a resource may have been missed: what is known of owners that may be of it is known no longer. */
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

  /** Whether there is, or was, an object of the uid where it was looked for: then nothing is wrong with the reference. */
  wasPresent(cluster: ClusterName, uid: string, at: Coordinates): boolean {
    const known = this.#owners.get(graphId(cluster, uid))?.known.get(formatCoordinates(at));
    return known === "present" || known === "unsure";
  }

  /** Whether an object of the uid is known in another namespace than the one where it was looked for. */
  isElsewhere(cluster: ClusterName, uid: string, { namespace }: Coordinates): boolean {
    const id = graphId(cluster, uid);
    const node = this.#nodes.get(id);
    if (node !== undefined) return node.namespace !== namespace;
    for (const [coordinates, existence] of this.#owners.get(id)?.known ?? [])
      if (existence === "present" && coordinates.split("/")[2] !== namespace) return true;
    return false;
  }

  /** Begins a question about an owner; the answer is only remembered if nothing happened to the owner since. */
  ask(cluster: ClusterName, uid: string, at: Coordinates): (answer: Existence) => void {
    const owner = this.#owners.get(graphId(cluster, uid));
    const epoch = owner?.epoch;
    return (answer) => {
      // Absence is for good, since no uid comes twice.
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

  /** Owners that waited for `before` to go, and need not wait for what it is now. */
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
