/**
 * Goal: clusters with the same content share its outline, exactly as long as a cluster needs it,
 * and within bounds.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ContentTrie, type ContentTrieNode } from "./content-trie.ts";

/** The path of one cluster through the tree. */
function filled(
  tree: ContentTrie,
  rests: readonly string[],
  collection = 0,
): ContentTrieNode | undefined {
  let place: ContentTrieNode = tree.root;
  place.references++;
  for (const rest of rests) {
    const next = tree.acquireChild(place, collection, rest);
    tree.release(place);
    if (next === undefined) return undefined;
    place = next;
  }
  return place;
}

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `default/${at}`);

describe("outlines of clusters", () => {
  it("are shared by all clusters with the same content in the same order", () => {
    const tree = new ContentTrie();
    const places = Array.from({ length: 100 }, () => filled(tree, ["/default", "default/a"]));
    assert.equal(new Set(places).size, 1);
    assert.equal(tree.size, 2);
    assert.deepEqual(places[0]?.entries(), [
      { collection: 0, rest: "/default" },
      { collection: 0, rest: "default/a" },
    ]);
  });

  it("are released with the last cluster that needs them, and not before", () => {
    const tree = new ContentTrie();
    const short = filled(tree, ["/default"]) as ContentTrieNode;
    const long = filled(tree, ["/default", "default/a"]) as ContentTrieNode;
    assert.equal(tree.size, 2);
    tree.release(short);
    assert.equal(tree.size, 2);
    tree.release(long);
    assert.equal(tree.size, 0);
    assert.equal(tree.root.children.size, 0);
  });

  it("name thirty-two objects, and from the next on their collections", () => {
    const tree = new ContentTrie();
    const named = filled(tree, numbered(32)) as ContentTrieNode;
    assert.equal(named.entries()?.length, 32);
    assert.equal(named.has(0, "default/more"), false);
    assert.equal(named.has(1), false);
    const blurred = filled(tree, numbered(33)) as ContentTrieNode;
    assert.equal(blurred.entries(), undefined);
    assert.ok(blurred.has(0, "default/more"));
    assert.equal(blurred.has(1), false);
  });

  it("are limited in number", () => {
    const tree = new ContentTrie(3);
    assert.ok(filled(tree, numbered(3)));
    assert.equal(filled(tree, ["other/1"]), undefined);
    assert.equal(tree.size, 3);
    assert.ok(filled(tree, numbered(2)), "what is known is still shared");
  });
});
