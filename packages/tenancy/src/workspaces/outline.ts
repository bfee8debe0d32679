/**
 * What has been put into a logical cluster, as a place in a tree that all clusters share.
 *
 *     nothing -> + namespaces//default -> + configmaps/default/kube-root-ca.crt -> …
 *
 * Clusters that began in the same way are at the same place, so thousands of alike ones cost a pointer each, and what they hold can still be named without a
 * look into the store. One that has got much keeps the collections and forgets the names. A place that nobody needs any more is gone.
 */

/** So many objects are known by name; of what comes later, only the collection. */
const namedMax = 32;

/** Where an object is in its cluster: the number of its collection, and the rest of its key. */
export interface ContentEntry {
  readonly collection: number;
  /** `<namespace>/<name>`; undefined stands for anything. */
  readonly rest: string | undefined;
}

export class ContentTrie {
  readonly root: ContentTrieNode;
  readonly #placesMax: number;
  #places = 0;

  /** Every place is some hundred bytes. */
  constructor(placesMax = 4096) {
    this.#placesMax = placesMax;
    this.root = new ContentTrieNode(undefined, undefined);
    this.root.uses = 1;
  }

  /** Places besides the root. */
  get size(): number {
    return this.#places;
  }

  /** Where a cluster is when this came to it, which it did not have; undefined when there are too many places. It is at both until it leaves one. */
  enter(from: ContentTrieNode, collection: number, rest: string): ContentTrieNode | undefined {
    const member = { collection, rest: from.depth < namedMax ? rest : undefined };
    const id = `${collection}/${member.rest ?? ""}`;
    const known = from.next.get(id);
    if (known !== undefined) return acquire(known);
    if (this.#places >= this.#placesMax) return undefined;
    const made = new ContentTrieNode(from, member);
    from.next.set(id, made);
    from.uses++;
    this.#places++;
    return acquire(made);
  }

  leave(place: ContentTrieNode): void {
    for (
      let at: ContentTrieNode | undefined = place;
      at !== undefined && --at.uses === 0;
      at = at.parent
    ) {
      const { collection, rest } = at.member as ContentEntry;
      at.parent?.next.delete(`${collection}/${rest ?? ""}`);
      this.#places--;
    }
  }
}

export class ContentTrieNode {
  readonly parent: ContentTrieNode | undefined;
  /** What came last. */
  readonly member: ContentEntry | undefined;
  readonly depth: number;
  readonly next = new Map<string, ContentTrieNode>();
  /** Clusters that are here, and places behind. */
  uses = 0;

  constructor(parent: ContentTrieNode | undefined, member: ContentEntry | undefined) {
    this.parent = parent;
    this.member = member;
    this.depth = parent === undefined ? 0 : parent.depth + 1;
  }

  /** Whether there may be this object, or any of the collection if left out. */
  has(collection: number, rest?: string): boolean {
    for (let at: ContentTrieNode = this; at.parent !== undefined; at = at.parent) {
      if (at.member?.collection !== collection) continue;
      if (rest === undefined || at.member.rest === undefined || at.member.rest === rest)
        return true;
    }
    return false;
  }

  /** Everything by name, in the order in which it came; undefined when that is not known. */
  members(): readonly (ContentEntry & { readonly rest: string })[] | undefined {
    if (this.depth > namedMax) return undefined;
    const members: (ContentEntry & { readonly rest: string })[] = [];
    for (let at: ContentTrieNode = this; at.parent !== undefined; at = at.parent)
      members.push(at.member as ContentEntry & { readonly rest: string });
    return members.reverse();
  }
}

function acquire(place: ContentTrieNode): ContentTrieNode {
  place.uses++;
  return place;
}
