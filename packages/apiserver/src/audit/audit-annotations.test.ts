import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  AuditAnnotations,
  auditAnnotationsLengthMax,
  auditAnnotationsMax,
} from "./audit-annotations.ts";

describe("the audit annotations of one request", () => {
  it("are limited in number", () => {
    const counted = (count: number) => {
      const kept = new AuditAnnotations();
      for (let at = 0; at < count; at++) kept.addFromTenant(`a.example.com/k${at}`, "v");
      return kept.toJson();
    };
    assert.equal(Object.keys(counted(auditAnnotationsMax)).length, auditAnnotationsMax);
    assert.equal(counted(auditAnnotationsMax)["audit.k8s.io/truncated"], undefined);
    const over = counted(auditAnnotationsMax + 1);
    assert.equal(over[`a.example.com/k${auditAnnotationsMax}`], undefined);
    assert.equal(over["audit.k8s.io/truncated"], "true");
  });

  it("are limited in length", () => {
    const key = "a.example.com/k";
    for (const [length, isKept] of [
      [auditAnnotationsLengthMax - key.length, true],
      [auditAnnotationsLengthMax - key.length + 1, false],
    ] as const) {
      const kept = new AuditAnnotations();
      kept.addFromTenant(key, "v".repeat(length));
      assert.equal(Object.hasOwn(kept.toJson(), key), isKept);
    }
  });
});
