import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bool, decodeShape, int32, message, objectMeta, string } from "./index.ts";
import { zeroless } from "./shape.ts";

const shape = message("example.Thing", {
  plainFlag: [1, zeroless(bool)],
  plainCount: [2, zeroless(int32)],
  plainText: [3, zeroless(string)],
  flag: [4, bool],
  count: [5, int32],
});

describe("fields for which zero means absent", () => {
  it("are left out when they are zero, and only they", () => {
    const zeros = { plainFlag: false, plainCount: 0, plainText: "", flag: false, count: 0 };
    assert.deepEqual(decodeShape(shape, zeros).value, { flag: false, count: 0 });
  });

  it("stay when they are not", () => {
    const values = { plainFlag: true, plainCount: -1, plainText: "x" };
    assert.deepEqual(decodeShape(shape, values).value, values);
  });

  it("are checked for their type all the same", () => {
    assert.throws(() => decodeShape(shape, { plainCount: false }), /cannot unmarshal bool/);
  });

  it("have an object's generation among them: protobuf clients send it in every template", () => {
    const { value } = decodeShape(objectMeta, { name: "a", generation: 0 });
    assert.deepEqual(value, { name: "a" });
  });
});
