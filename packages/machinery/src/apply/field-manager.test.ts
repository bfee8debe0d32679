import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fieldManagerBytesMax, fieldManagerErrors } from "../meta/index.ts";
import { formatFieldError } from "../status/index.ts";
import { fieldManagerOf, patchOptionsError } from "./index.ts";

describe("fieldManagerOf", () => {
  const rows: readonly [string | undefined, string | undefined, string][] = [
    ["m", "kubectl/v1.36", "m"],
    ["", "kubectl/v1.36.0 (linux/amd64)", "kubectl"],
    [undefined, "Go-http-client", "Go-http-client"],
    [undefined, "a\u0000b\u200bc/1", "abc"],
    [undefined, "/x", ""],
    [undefined, undefined, ""],
    [undefined, "x".repeat(fieldManagerBytesMax + 1), "x".repeat(fieldManagerBytesMax)],
    [undefined, `${"x".repeat(fieldManagerBytesMax - 1)}é`, "x".repeat(fieldManagerBytesMax - 1)],
  ];
  for (const [parameter, userAgent, name] of rows) {
    it(`is ${JSON.stringify(name.slice(0, 20))} for ${JSON.stringify([parameter, userAgent?.slice(0, 20)])}`, () => {
      assert.equal(fieldManagerOf(parameter, userAgent), name);
    });
  }
});

describe("fieldManagerErrors", () => {
  const errors = (name: string) => fieldManagerErrors(name, "fieldManager").map(formatFieldError);

  it("accepts printable names up to the limit", () => {
    assert.deepEqual(errors(""), []);
    assert.deepEqual(errors("a name é"), []);
    assert.deepEqual(errors("x".repeat(fieldManagerBytesMax)), []);
  });

  it("refuses longer ones", () => {
    assert.deepEqual(errors("x".repeat(fieldManagerBytesMax + 1)), [
      "fieldManager: Too long: may not be more than 128 bytes",
    ]);
  });

  it("refuses what cannot be printed, with its place in bytes", () => {
    assert.deepEqual(errors("é\n"), [
      'fieldManager: Invalid value: "é\\n": invalid character U+000A (at position 2)',
    ]);
  });
});

describe("patchOptionsError", () => {
  it("wants a manager for an apply", () => {
    const error = patchOptionsError("apply", { force: true });
    assert.deepEqual(
      [error?.code, error?.message],
      [
        422,
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
      ],
    );
  });

  it("wants no force for anything else", () => {
    const error = patchOptionsError("other", { force: false });
    assert.deepEqual(
      [error?.code, error?.message],
      [
        422,
        'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
      ],
    );
  });

  it("is absent when the options are fine", () => {
    assert.equal(patchOptionsError("apply", { fieldManager: "m", force: true }), undefined);
    assert.equal(patchOptionsError("other", {}), undefined);
  });
});
