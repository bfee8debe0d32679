import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { kindShapes } from "./index.ts";
import type { MessageShape, Shape } from "./shape.ts";
import { ShapeTable } from "./shape-table.ts";

const meta = new ShapeTable("io.meta", {}, "\nObjectMeta name:1:string?\n");

const table = new ShapeTable(
  "io.example",
  { meta },
  `
Empty
Outer metadata=:1:meta.ObjectMeta spec*=:2:Inner options:3:Atomic~ more+:4:[Inner](a,b)
Inner! :1:Atomic list:2:[string]set! flags:3:{bool}! conditions:4:[Outer]@type number:5:int32?
Atomic a*:1:quantity schema:2:<Outer,one1,many2>
`,
);

function shapeOf(message: MessageShape, field: string): Shape | undefined {
  return message.fields.get(field)?.shape;
}

describe("a table of shapes", () => {
  it("a message refers to messages of its own table and of others, in circles too", () => {
    const outer = table.message("Outer");
    assert.equal(outer.name, "io.example.Outer");
    assert.equal(shapeOf(outer, "metadata"), meta.message("ObjectMeta"));
    const inner = table.message("Inner");
    assert.equal(shapeOf(outer, "spec"), inner);
    assert.deepEqual(shapeOf(inner, "conditions"), {
      kind: "list",
      items: outer,
      list: { type: "atomic", mergeKey: "type" },
    });
  });

  it("marks of a field say that it is required, kept when empty, a value or granular", () => {
    const outer = table.message("Outer");
    assert.deepEqual([...outer.required], ["spec"]);
    assert.deepEqual([...outer.keepsEmpty], ["more"]);
    const marks = [...outer.fields.values()].map(({ isValue, isGranular }) => [
      isValue,
      isGranular,
    ]);
    assert.deepEqual(marks, [
      [true, undefined],
      [true, undefined],
      [false, true],
      [false, undefined],
    ]);
  });

  it("a field without a name has its members in the outer object, and its number in protobuf", () => {
    const inner = table.message("Inner");
    assert.ok(inner.isAtomic);
    assert.deepEqual(
      [...inner.fields.keys()],
      ["a", "schema", "list", "flags", "conditions", "number"],
    );
    assert.deepEqual([...inner.required], ["a"]);
    assert.equal(inner.byNumber.get(1)?.shape, table.message("Atomic"));
    assert.equal(inner.byNumber.get(1)?.isInlined, true);
  });

  it("lists, maps, unions and scalars have their traits", () => {
    const inner = table.message("Inner");
    const string = { kind: "scalar", scalar: "string" };
    assert.deepEqual(shapeOf(inner, "list"), {
      kind: "list",
      items: string,
      list: { type: "set", isReplacedByPatch: true },
    });
    assert.deepEqual(shapeOf(inner, "flags"), {
      kind: "map",
      values: { kind: "scalar", scalar: "bool" },
      isAtomic: true,
    });
    assert.deepEqual(shapeOf(inner, "number"), {
      kind: "scalar",
      scalar: "int32",
      isZeroless: true,
    });
    assert.deepEqual(shapeOf(inner, "schema"), {
      kind: "scalar",
      scalar: "json",
      union: { one: 1, many: 2, shape: table.message("Outer") },
    });
  });

  it("a message without fields is a line with its name alone", () => {
    assert.equal(table.message("Empty").fields.size, 0);
  });

  it("a name that the table does not have is an error, the beginning of another one included", () => {
    assert.throws(() => table.message("Out").fields, /io\.example has no message Out/);
  });
});

describe("the generated tables", () => {
  it("every message that a kind reaches has a line that can be read, with numbers of its own", () => {
    const seen = new Set<MessageShape>();
    const walk = (shape: Shape): void => {
      if (shape.kind === "list") walk(shape.items);
      if (shape.kind === "map") walk(shape.values);
      if (shape.kind !== "message" || seen.has(shape)) return;
      seen.add(shape);
      for (const field of shape.byNumber.values()) {
        assert.ok(
          Number.isSafeInteger(field.number) && field.number > 0,
          `${shape.name}.${field.name}`,
        );
        walk(field.shape);
      }
    };
    for (const shape of kindShapes.values()) walk(shape);
    assert.ok(seen.size > 400, `${seen.size} messages`);
  });

  it("kinds are found by group, version and kind", () => {
    assert.equal(kindShapes.get("v1/Pod")?.name, "io.k8s.api.core.v1.Pod");
    assert.equal(kindShapes.get("apps/v1/Deployment")?.name, "io.k8s.api.apps.v1.Deployment");
    assert.equal(kindShapes.get("apps/v1/DeploymentSpec"), undefined);
  });
});
