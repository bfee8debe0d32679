import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";
import fc from "fast-check";
import { isSealed, seal, sealingKeyBytes, unseal } from "./seal.ts";

describe("sealed text", () => {
  const key = randomBytes(sealingKeyBytes);
  const place = { cluster: "root", name: "east" };

  it("unsealing returns the sealed text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const sealed = seal(text, place, key);
        assert.ok(isSealed(sealed));
        assert.equal(unseal(sealed, place, key), text);
      }),
    );
  });

  it("unsealing fails for another SyncTarget, with another key, and for a damaged text", () => {
    const sealed = seal("secret", place, key);
    assert.equal(unseal(sealed, { ...place, cluster: "other" }, key), undefined);
    assert.equal(unseal(sealed, { ...place, name: "west" }, key), undefined);
    assert.equal(unseal(sealed, place, randomBytes(sealingKeyBytes)), undefined);
    for (const text of [sealed.slice(0, -8), sealed.slice(0, 20), "REDACTED:v1:", "plain"])
      assert.equal(unseal(text, place, key), undefined);
  });

  it("the boundary between the names of cluster and SyncTarget is part of the seal", () => {
    const sealed = seal("secret", { cluster: "a", name: "b-c" }, key);
    assert.equal(unseal(sealed, { cluster: "a-b", name: "c" }, key), undefined);
  });
});
