import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isStatusError } from "@kcp-ts/machinery/status";
import { Client } from "./client.ts";
import { defineResource } from "./resource.ts";
import { responseBody } from "./response-body.ts";
import type { TransportRequest } from "./transport.ts";

const configMaps = defineResource({
  ...{ group: "", version: "v1", resource: "configmaps", kind: "ConfigMap", namespaced: true },
});
const target = { namespace: "default", name: "x" };

describe("a client that requires preconditions", () => {
  const sent: TransportRequest[] = [];
  const client = new Client({
    transport: {
      send: async (request) => {
        sent.push(request);
        const body = responseBody('{"kind":"Status","metadata":{}}');
        return { status: 200, headers: {}, body };
      },
      close: async () => {},
    },
  }).withRequiredPreconditions();
  const objects = client.inCluster("a").resource(configMaps);

  const refused = async (write: () => Promise<unknown>, missing: string) => {
    sent.length = 0;
    await assert.rejects(write, (error) => {
      assert.ok(isStatusError(error, "BadRequest"), String(error));
      assert.match(error.message, new RegExp(`${missing} is empty`));
      return true;
    });
    assert.equal(sent.length, 0, "nothing was sent");
  };
  const allowed = async (write: () => Promise<unknown>) => {
    sent.length = 0;
    await write();
    assert.equal(sent.length, 1);
  };

  it("deletes an object only by its uid, and no state of it that has no version", async () => {
    const remove = (preconditions?: { uid?: string; resourceVersion?: string }) => () =>
      objects.delete(target, preconditions === undefined ? {} : { preconditions });
    await refused(remove(), "preconditions.uid");
    await refused(remove({ uid: "" }), "preconditions.uid");
    await refused(remove({ resourceVersion: "1" }), "preconditions.uid");
    await refused(remove({ uid: "u", resourceVersion: "" }), "preconditions.resourceVersion");
    await allowed(remove({ uid: "u" }));
    await allowed(remove({ uid: "u", resourceVersion: "1" }));
    await allowed(() => objects.deleteCollection({ namespace: "default" }));
  });

  it("patches owners and finalizers only of an object with uid and version", async () => {
    const patch = (metadata: object) => () =>
      objects.patch(target, { type: "merge", patch: { metadata } as never });
    for (const guarded of [{ finalizers: [] }, { ownerReferences: [] }]) {
      await refused(patch(guarded), "metadata.uid");
      await refused(patch({ ...guarded, uid: "", resourceVersion: "1" }), "metadata.uid");
      await refused(patch({ ...guarded, uid: "u" }), "metadata.resourceVersion");
      await refused(
        patch({ ...guarded, uid: "u", resourceVersion: "" }),
        "metadata.resourceVersion",
      );
      await allowed(patch({ ...guarded, uid: "u", resourceVersion: "1" }));
    }
    await allowed(patch({ labels: {} }));
    await refused(patch({ labels: {}, uid: "" }), "metadata.uid");
    const json = (...operations: readonly object[]) =>
      objects.patch(target, { type: "json", operations: operations as never });
    const status = { op: "add", path: "/status", value: {} };
    const test = { op: "test", path: "/metadata/uid", value: "u" };
    await refused(() => json(), "metadata.uid");
    await refused(() => json(status, test), "metadata.uid");
    await refused(() => json({ ...test, value: "" }, status), "metadata.uid");
    await refused(() => json({ ...test, path: "/metadata/name" }, status), "metadata.uid");
    await allowed(() => json(test, status));
  });

  it("applies what is its own without naming a state, and never with an empty one", async () => {
    const apply = (metadata: object) => () =>
      objects.apply({ metadata: { ...target, ...metadata } } as never, { fieldManager: "loop" });
    await allowed(apply({ ownerReferences: [], finalizers: ["a/b"] }));
    await allowed(apply({ uid: "u" }));
    await refused(apply({ uid: "" }), "metadata.uid");
    await refused(apply({ resourceVersion: "" }), "metadata.resourceVersion");
  });

  it("replaces only an object with uid and version", async () => {
    const update = (metadata: object) => () =>
      objects.update({ metadata: { ...target, ...metadata } });
    await refused(update({}), "metadata.uid");
    await refused(update({ uid: "u" }), "metadata.resourceVersion");
    await allowed(update({ uid: "u", resourceVersion: "1" }));
  });
});
