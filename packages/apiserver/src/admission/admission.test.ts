import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Admission, type AdmissionPlugin, type AdmissionRequest } from "./admission.ts";

function requestFor(resource: string, group: string): AdmissionRequest {
  return { group, resource, operation: "CREATE", subresource: "" } as AdmissionRequest;
}

describe("admission plugins", () => {
  const seen: string[] = [];
  const recorder = (name: string, more: Partial<AdmissionPlugin> = {}): AdmissionPlugin => ({
    name,
    admit: () => void seen.push(`${name} admits`),
    mutate: async () => void seen.push(`${name} mutates`),
    validate: () => void seen.push(`${name} validates`),
    rollback: () => void seen.push(`${name} rolls back`),
    ...more,
  });
  const calls = async (admission: Admission, request: AdmissionRequest) => {
    seen.length = 0;
    await admission.admit(request);
    await admission.mutate(request, {}, undefined);
    await admission.validate(request, {}, undefined);
    await admission.rollback(request);
    return [...seen];
  };
  const stepsOf = (...names: readonly string[]) =>
    ["admits", "mutates", "validates", "rolls back"].flatMap((step) =>
      names.map((name) => `${name} ${step}`),
    );

  it("run in their order, for the resources that they name; without names for all", async () => {
    const admission = new Admission([
      recorder("first"),
      recorder("roles", { resources: [{ group: "rbac", resource: "roles" }] }),
      recorder("last"),
    ]);
    assert.deepEqual(
      await calls(admission, requestFor("roles", "rbac")),
      stepsOf("first", "roles", "last"),
    );
    for (const [resource, group] of [
      ["roles", "other"],
      ["rolebindings", "rbac"],
      ["configmaps", ""],
    ] as const)
      assert.deepEqual(
        await calls(admission, requestFor(resource, group)),
        stepsOf("first", "last"),
      );
  });

  it("are not called for requests that they do not handle", async () => {
    const admission = new Admission([
      recorder("creates", { handles: ({ operation }) => operation === "CREATE" }),
      recorder("deletes", { handles: ({ operation }) => operation === "DELETE" }),
    ]);
    const request = requestFor("configmaps", "");
    assert.deepEqual(await calls(admission, request), stepsOf("creates"));
    assert.equal(admission.mutates(request, {}), true);
    assert.equal(admission.mutates({ ...request, operation: "UPDATE" }, {}), false);
  });

  it("that are about marks are called for objects with labels or finalizers, and for subresources", async () => {
    const admission = new Admission([recorder("marks", { isAboutMarks: true })]);
    const request = requestFor("configmaps", "");
    const plain = { metadata: { name: "a" } };
    const marked = { metadata: { name: "a", labels: {} } };
    const held = { metadata: { name: "a", finalizers: [] } };
    const isValidated = async (object: object, old?: object, subresource = "") => {
      seen.length = 0;
      await admission.validate({ ...request, subresource }, object as never, old as never);
      return seen.length === 1;
    };
    for (const [object, expected] of [
      [plain, false],
      [marked, true],
      [held, true],
    ] as const) {
      assert.equal(admission.mutates(request, object), expected);
      assert.equal(await isValidated(object), expected);
      assert.equal(await isValidated(plain, object), expected);
    }
    assert.equal(await isValidated(plain, plain, "scale"), true);
  });
});
