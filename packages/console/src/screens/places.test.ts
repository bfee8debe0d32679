import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { matching, type Place, spelled, startOf } from "./places.ts";

const place = (title: string): Place => ({ kind: "object", title, address: `/${title}` });
const titles = (places: readonly Place[]) => places.map(({ title }) => title);

describe("the places of the go-to box", () => {
  it("begin with the text, or contain its words, and are named once", () => {
    const places = ["root:web", "web", "deployments.apps", "web"].map(place);
    assert.deepEqual(titles(matching(places, "web", [])), ["web", "root:web"]);
    assert.deepEqual(titles(matching(places, "we root", [])), ["root:web"]);
    assert.deepEqual(titles(matching(places, "web", [place("web")])), ["web", "root:web"]);
  });

  it("are found by kind and name, with or without the namespace", () => {
    const places = ["deployment/shop/web", "deployment/default/api"].map(place);
    assert.deepEqual(titles(matching(places, "deployment/we", [])), ["deployment/shop/web"]);
    assert.deepEqual(titles(matching(places, "deployment/shop/", [])), ["deployment/shop/web"]);
    assert.deepEqual(titles(matching(places, "deployment/", [])).length, 2);
    assert.deepEqual(titles(matching(places, "pod/we", [])), []);
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
