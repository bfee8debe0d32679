/** Goal: clusters that hold alike things share what is known of them, exactly as long as somebody needs it, and within bounds. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ContentTrie, type ContentTrieNode } from "./outline.ts";

/** One cluster's way through the tree. */
function filled(
  tree: ContentTrie,
  rests: readonly string[],
  collection = 0,
): ContentTrieNode | undefined {
  let place: ContentTrieNode = tree.root;
  place.uses++;
  for (const rest of rests) {
    const next = tree.enter(place, collection, rest);
    tree.leave(place);
    if (next === undefined) return undefined;
    place = next;
  }
  return place;
}

const numbered = (count: number) => Array.from({ length: count }, (_, at) => `default/${at}`);

describe("outlines of clusters", () => {
  it("are one for all that got the same in the same order", () => {
    const tree = new ContentTrie();
    const places = Array.from({ length: 100 }, () => filled(tree, ["/default", "default/a"]));
    assert.equal(new Set(places).size, 1);
    assert.equal(tree.size, 2);
    assert.deepEqual(places[0]?.members(), [
      { collection: 0, rest: "/default" },
      { collection: 0, rest: "default/a" },
    ]);
  });

  it("go with the last who needs them, and not before", () => {
    const tree = new ContentTrie();
    const short = filled(tree, ["/default"]) as ContentTrieNode;
    const long = filled(tree, ["/default", "default/a"]) as ContentTrieNode;
    assert.equal(tree.size, 2);
    tree.leave(short);
    assert.equal(tree.size, 2);
    tree.leave(long);
    assert.equal(tree.size, 0);
    assert.equal(tree.root.next.size, 0);
  });

  it("name thirty-two objects, and from the next on their collections", () => {
    const tree = new ContentTrie();
    const named = filled(tree, numbered(32)) as ContentTrieNode;
    assert.equal(named.members()?.length, 32);
    assert.equal(named.has(0, "default/more"), false);
    assert.equal(named.has(1), false);
    const blurred = filled(tree, numbered(33)) as ContentTrieNode;
    assert.equal(blurred.members(), undefined);
    assert.ok(blurred.has(0, "default/more"));
    assert.equal(blurred.has(1), false);
  });

  it("are so many and no more", () => {
    const tree = new ContentTrie(3);
    assert.ok(filled(tree, numbered(3)));
    assert.equal(filled(tree, ["other/1"]), undefined);
    assert.equal(tree.size, 3);
    assert.ok(filled(tree, numbered(2)), "what is known is still shared");
  });
});
