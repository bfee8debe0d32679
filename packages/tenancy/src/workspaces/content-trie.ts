/**
 * The content of logical clusters as nodes of a trie that all clusters share.
 *
 *     nothing -> + namespaces//default -> + configmaps/default/kube-root-ca.crt -> …
 *
 * Clusters with the same initial objects in the same order share a node, so thousands of similar
 * clusters cost a pointer each, and their content is known by name without a read of the store. A
 * cluster with much content keeps the collections and drops the names. A node without references is
 * removed.
 */

/** The objects that are recorded by name; of later ones only the collection is recorded. */
const namedMax = 32;

/**
 * The position of an object in its cluster: the number of its collection, and the rest of its key.
 */
export interface ContentEntry {
  readonly collection: number;
  /** `<namespace>/<name>`; undefined stands for any object. */
  readonly rest: string | undefined;
}

export class ContentTrie {
  readonly root: ContentTrieNode;
  readonly #nodesMax: number;
  #nodes = 0;

  /** Each node takes some hundred bytes. */
  constructor(placesMax = 4096) {
    this.#nodesMax = placesMax;
    this.root = new ContentTrieNode(undefined, undefined);
    this.root.references = 1;
  }

  /** The number of nodes without the root. */
  get size(): number {
    return this.#nodes;
  }

  /**
   * The node of a cluster after it got a new object; undefined when there are too many nodes. The
   * cluster references both nodes until it releases one.
   */
  acquireChild(
    from: ContentTrieNode,
    collection: number,
    rest: string,
  ): ContentTrieNode | undefined {
    const member = { collection, rest: from.depth < namedMax ? rest : undefined };
    const id = `${collection}/${member.rest ?? ""}`;
    const known = from.children.get(id);
    if (known !== undefined) return acquire(known);
    if (this.#nodes >= this.#nodesMax) return undefined;
    const made = new ContentTrieNode(from, member);
    from.children.set(id, made);
    from.references++;
    this.#nodes++;
    return acquire(made);
  }

  release(place: ContentTrieNode): void {
    for (
      let at: ContentTrieNode | undefined = place;
      at !== undefined && --at.references === 0;
      at = at.parent
    ) {
      const { collection, rest } = at.entry as ContentEntry;
      at.parent?.children.delete(`${collection}/${rest ?? ""}`);
      this.#nodes--;
    }
  }
}

export class ContentTrieNode {
  readonly parent: ContentTrieNode | undefined;
  /** The object that was added last. */
  readonly entry: ContentEntry | undefined;
  readonly depth: number;
  readonly children = new Map<string, ContentTrieNode>();
  /** The number of clusters at this node, and of child nodes. */
  references = 0;

  constructor(parent: ContentTrieNode | undefined, entry: ContentEntry | undefined) {
    this.parent = parent;
    this.entry = entry;
    this.depth = parent === undefined ? 0 : parent.depth + 1;
  }

  /** Whether this object may exist, or any object of the collection if `rest` is omitted. */
  has(collection: number, rest?: string): boolean {
    for (let at: ContentTrieNode = this; at.parent !== undefined; at = at.parent) {
      if (at.entry?.collection !== collection) continue;
      if (rest === undefined || at.entry.rest === undefined || at.entry.rest === rest) return true;
    }
    return false;
  }

  /** All objects by name, in order of creation; undefined when some are not recorded by name. */
  entries(): readonly (ContentEntry & { readonly rest: string })[] | undefined {
    if (this.depth > namedMax) return undefined;
    const members: (ContentEntry & { readonly rest: string })[] = [];
    for (let at: ContentTrieNode = this; at.parent !== undefined; at = at.parent)
      members.push(at.entry as ContentEntry & { readonly rest: string });
    return members.reverse();
  }
}

function acquire(place: ContentTrieNode): ContentTrieNode {
  place.references++;
  return place;
}
