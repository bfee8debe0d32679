import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "../json/index.ts";
import { apply, failure, object, owners, parts, write } from "./apply-fixture.ts";
import { annotationsBytesMax, lastAppliedAnnotation } from "./index.ts";

describe("kubectl after client-side apply", () => {
  const annotation = (config: JsonObject) => ({
    annotations: { [lastAppliedAnnotation]: JSON.stringify(config) },
  });
  const lastConfig = object({ data: { a: "1", b: "1" } });
  const live = write(
    undefined,
    "kubectl-client-side-apply",
    object({ data: { a: "1", b: "1", c: "1" }, metadata: annotation(lastConfig) }),
  );

  it("server-side apply owns the fields that client-side apply set and no other manager changed", () => {
    const applied = apply("kubectl", object({ data: { a: "2", b: "1" } }), { live });
    assert.deepEqual(parts(applied)["data"], { a: "2", b: "1", c: "1" });
    assert.deepEqual(owners(applied)["Apply kubectl"], { "f:data": { "f:a": {}, "f:b": {} } });
  });

  it("conflicts over the rest, and reports only the rest", () => {
    const changed = write(
      live,
      "editor",
      object({ data: { a: "1", b: "9", c: "1" }, metadata: annotation(lastConfig) }),
    );
    assert.equal(
      failure(() => apply("kubectl", object({ data: { a: "2", b: "2" } }), { live: changed }))
        .message,
      'Apply failed with 1 conflict: conflict with "editor" using v1: .data.b',
    );
  });

  it("conflicts when the annotation is of another version or cannot be read", () => {
    for (const value of [
      JSON.stringify({ ...lastConfig, apiVersion: "v0" }),
      "not json",
      '{"apiVersion":"v1","x":1}',
      "",
    ]) {
      const other = write(
        undefined,
        "kubectl-client-side-apply",
        object({ data: { a: "1" }, metadata: { annotations: { [lastAppliedAnnotation]: value } } }),
      );
      assert.equal(
        failure(() => apply("kubectl", object({ data: { a: "2" } }), { live: other })).code,
        409,
      );
    }
  });

  it("leaves managers of other names to conflict", () => {
    assert.equal(failure(() => apply("flux", object({ data: { a: "2" } }), { live })).code, 409);
  });

  it("writes the annotation anew, as kubectl would", () => {
    const applied = apply(
      "kubectl",
      object({ data: { b: "<1>", a: "2" }, metadata: { annotations: { x: "y" } } }),
      { live, force: true },
    );
    const { annotations } = applied["metadata"] as { annotations: JsonObject };
    assert.equal(
      annotations[lastAppliedAnnotation],
      '{"apiVersion":"v1","data":{"a":"2","b":"\\u003c1\\u003e"},"kind":"K","metadata":{"annotations":{"x":"y"},"name":"x","namespace":"n"}}\n',
    );
    assert.equal(annotations["x"], "y");
  });

  it("does not bring back an annotation that is gone, nor touch it for others", () => {
    const without = write(undefined, "m", object({ data: { a: "1" } }));
    const applied = apply("kubectl", object({ data: { b: "1" } }), { live: without });
    assert.equal((applied["metadata"] as JsonObject)["annotations"], undefined);
    const other = apply("flux", object({ data: { d: "1" } }), { live });
    assert.deepEqual(
      (other["metadata"] as JsonObject)["annotations"],
      annotation(lastConfig).annotations,
    );
  });

  it("gives the annotation up when it would be too big", () => {
    const sized = (bytes: number) => {
      const config = object({ data: { a: "x".repeat(bytes) } });
      const applied = apply("kubectl", config, { live, force: true });
      return ((applied["metadata"] as JsonObject)["annotations"] as JsonObject)[
        lastAppliedAnnotation
      ] as string | undefined;
    };
    const overhead = (sized(0) as string).length + lastAppliedAnnotation.length;
    assert.equal(
      sized(annotationsBytesMax - overhead)?.length,
      annotationsBytesMax - lastAppliedAnnotation.length,
    );
    assert.equal(sized(annotationsBytesMax - overhead + 1), undefined);
  });
});
