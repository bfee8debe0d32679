import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AuditAnnotations, auditAnnotationsLengthMax, auditAnnotationsMax } from "./audit-notes.ts";

describe("the notes of one request", () => {
  it("are so many and no more", () => {
    const counted = (count: number) => {
      const kept = new AuditAnnotations();
      for (let at = 0; at < count; at++) kept.addForeign(`a.example.com/k${at}`, "v");
      return kept.toJson();
    };
    assert.equal(Object.keys(counted(auditAnnotationsMax)).length, auditAnnotationsMax);
    assert.equal(counted(auditAnnotationsMax)["audit.k8s.io/truncated"], undefined);
    const over = counted(auditAnnotationsMax + 1);
    assert.equal(over[`a.example.com/k${auditAnnotationsMax}`], undefined);
    assert.equal(over["audit.k8s.io/truncated"], "true");
  });

  it("are so long and no longer", () => {
    const key = "a.example.com/k";
    for (const [length, isKept] of [
      [auditAnnotationsLengthMax - key.length, true],
      [auditAnnotationsLengthMax - key.length + 1, false],
    ] as const) {
      const kept = new AuditAnnotations();
      kept.addForeign(key, "v".repeat(length));
      assert.equal(Object.hasOwn(kept.toJson(), key), isKept);
    }
  });
});
