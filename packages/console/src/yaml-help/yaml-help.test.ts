import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KindSchema } from "./schema-help.ts";
import { positionAt } from "./yaml-place.ts";

/** The cursor is at the bar. */
const at = (text: string) => {
  const offset = text.indexOf("|");
  return { text: text.replace("|", ""), place: positionAt(text.replace("|", ""), offset) };
};
const parents = (text: string) => at(text).place.parents.join(".");

const string = { type: "string" };
const document = {
  components: {
    schemas: {
      Deployment: {
        type: "object",
        properties: {
          kind: string,
          spec: { allOf: [{ $ref: "#/components/schemas/Spec" }], description: "What is wanted." },
        },
        "x-kubernetes-group-version-kind": [{ group: "apps", version: "v1", kind: "Deployment" }],
      },
      Spec: {
        type: "object",
        required: ["template"],
        properties: {
          replicas: { type: "integer", description: "How many." },
          strategy: { type: "string", enum: ["Recreate", "RollingUpdate"] },
          selector: { type: "object", additionalProperties: string },
          template: { $ref: "#/components/schemas/Template" },
        },
      },
      Template: {
        type: "object",
        properties: {
          containers: { type: "array", items: { $ref: "#/components/schemas/Container" } },
        },
      },
      Container: {
        type: "object",
        properties: { name: { ...string, description: "Of the container." }, image: string },
      },
    },
  },
};
const schema = new KindSchema(document, { group: "apps", version: "v1", kind: "Deployment" });
const offered = (text: string) => {
  const { text: whole, place } = at(text);
  const end = text.indexOf("|");
  return schema.suggestionsAt(place, whole.slice(place.start, end)).map(({ label }) => label);
};

describe("a place in YAML", () => {
  it("is found by indentation, through lists of both styles", () => {
    assert.equal(parents("spec:\n  |"), "spec");
    assert.equal(parents("spec:\n  template:\n    a: b\n  |"), "spec");
    assert.equal(parents("spec:\n  - a: b\n    |"), "spec.[]");
    assert.equal(parents("spec:\n- a: b\n  c:\n    |"), "spec.[].c");
    assert.equal(parents("spec:\n  list:\n  - |"), "spec.list.[]");
    assert.equal(parents("spec:\n  # text: no key\n\n  a:\n    b: |"), "spec.a");
    assert.equal(parents("a: b\n|"), "");
  });

  it("knows the other keys of its object, and not those of the next item", () => {
    const { place } = at("list:\n  - a: 1\n    |\n    b: 2\n  - c: 3\n");
    assert.deepEqual([...place.siblings].sort(), ["a", "b"]);
  });
});

describe("help from a schema", () => {
  it("suggests keys that are not there yet, the required ones first", () => {
    assert.deepEqual(offered("spec:\n  replicas: 1\n  |"), ["template", "selector", "strategy"]);
    assert.deepEqual(offered("spec:\n  s|"), ["selector", "strategy"]);
    assert.deepEqual(offered("spec:\n  template:\n    containers:\n    - name: a\n      |"), [
      "image",
    ]);
    assert.deepEqual(offered("spec:\n  selector:\n    |"), []);
    assert.deepEqual(offered("unknown:\n  |"), []);
  });

  it("suggests values of an enumeration", () => {
    assert.deepEqual(offered("spec:\n  strategy: R|"), ["Recreate", "RollingUpdate"]);
    assert.deepEqual(offered("spec:\n  strategy: Ro|"), ["RollingUpdate"]);
  });

  it("says what a field is, with the description of its use", () => {
    const help = (text: string) => schema.helpAt(at(text).place);
    assert.deepEqual(help("spec:|"), {
      path: "spec",
      type: "object",
      description: "What is wanted.",
    });
    assert.deepEqual(help("spec:\n  template:\n    containers:\n      - name: a|"), {
      path: "spec.template.containers[].name",
      type: "string",
      description: "Of the container.",
    });
    assert.equal(help("nothing: |"), undefined);
  });

  it("has none for a kind that the document does not define", () => {
    const other = new KindSchema(document, { group: "", version: "v1", kind: "Pod" });
    assert.equal(other.helpAt(at("spec:|").place), undefined);
  });
});
