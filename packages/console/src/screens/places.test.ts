import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { joined, matching, type SearchResult, spelled, startOf } from "./places.ts";

const place = (title: string): SearchResult => ({ kind: "object", title, address: `/${title}` });
const found = (places: readonly SearchResult[], text: string) =>
  matching(places, ({ title }) => title, text).shown.map(({ title }) => title);

describe("the places of the go-to box", () => {
  it("begin with the text, or contain its words, and are named once", () => {
    const places = ["root:web", "web", "deployments.apps", "web"].map(place);
    assert.deepEqual(found(places, "web"), ["web", "web", "root:web"]);
    assert.deepEqual(found(places, "we root"), ["root:web"]);
    assert.deepEqual(joined([place("web")], places.slice(0, 2)), ["web", "root:web"].map(place));
  });

  it("are counted, and the first of very many are shown", () => {
    const many = Array.from({ length: 100_000 }, (_, at) => `c-${at}`);
    const { shown, count } = matching(many, (name) => `root:${name}`, "c-9999");
    assert.deepEqual(shown.slice(0, 3), ["c-9999", "c-99990", "c-99991"]);
    assert.equal(count, 11);
    assert.equal(matching(many, (name) => name, "c-").shown.length, 12);
  });

  it("are found by kind and name, with or without the namespace", () => {
    const places = ["deployment/shop/web", "deployment/default/api"].map(place);
    assert.deepEqual(found(places, "deployment/we"), ["deployment/shop/web"]);
    assert.deepEqual(found(places, "deployment/shop/"), ["deployment/shop/web"]);
    assert.deepEqual(found(places, "deployment/").length, 2);
    assert.deepEqual(found(places, "pod/we"), []);
  });

  it("are begun by the workspace in front of the last colon, or by a kind", () => {
    assert.deepEqual(startOf("root:org:te"), { parent: "root:org" });
    assert.deepEqual(startOf("root:"), { parent: "root" });
    assert.deepEqual(startOf("pods/"), { kind: "pods", namespace: undefined });
    assert.deepEqual(startOf("deployments.apps/shop/w"), {
      kind: "deployments.apps",
      namespace: "shop",
    });
    for (const text of ["", "root", "web app", "a/b/c/d"]) assert.deepEqual(startOf(text), {});
  });

  it("are there when they are spelled, without a look at the server", () => {
    assert.deepEqual(spelled("root:org", "root")[0]?.address, "/console/c/root:org");
    assert.deepEqual(
      spelled("pod/shop/x", "root")[0]?.address,
      "/console/c/root/object/pod/shop/x",
    );
    assert.deepEqual(spelled("pod", "root"), []);
  });
});
