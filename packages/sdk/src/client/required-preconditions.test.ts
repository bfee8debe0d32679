import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isStatusError } from "@kcp-ts/machinery/status";
import { configMaps } from "../kinds/index.ts";
import { Client } from "./client.ts";
import { responseBody } from "./response-body.ts";
import type { TransportRequest } from "./transport.ts";

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
  });
  const objects = client.withPreconditions("required").inCluster("a").resource(configMaps);

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

  it("deletes an object only by its uid, and only a state with a resourceVersion", async () => {
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

  it("patches owners and finalizers only of an object with uid and resourceVersion", async () => {
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
  });

  it("patches them by operations only after tests of uid and resourceVersion", async () => {
    const test = (member: string, value: string) => ({
      ...{ op: "test", path: `/metadata/${member}`, value },
    });
    const patch =
      (...operations: object[]) =>
      () =>
        objects.patch(target, { type: "json", operations: operations as never });
    const status = { op: "add", path: "/status/x", value: 1 };
    await allowed(patch(status));
    await allowed(patch(test("uid", "u"), status));
    await refused(patch(test("uid", ""), status), "metadata.uid");
    for (const path of ["/metadata/finalizers/0", "/metadata/ownerReferences", "/metadata", ""]) {
      const removal = { op: "remove", path };
      await refused(patch(removal), "metadata.uid");
      await refused(patch(test("uid", "u"), removal), "metadata.resourceVersion");
      await allowed(patch(test("uid", "u"), test("resourceVersion", "1"), removal));
    }
  });

  it("applies owners to an object that may not exist yet, and never with an empty uid", async () => {
    const apply = (metadata: object) => () =>
      objects.apply({ metadata: { ...target, ...metadata } }, { fieldManager: "test" });
    await allowed(apply({ ownerReferences: [] }));
    await refused(apply({ ownerReferences: [], uid: "" }), "metadata.uid");
  });

  it("replaces only an object with uid and resourceVersion", async () => {
    const update = (metadata: object) => () =>
      objects.update({ metadata: { ...target, ...metadata } });
    await refused(update({}), "metadata.uid");
    await refused(update({ uid: "u" }), "metadata.resourceVersion");
    await allowed(update({ uid: "u", resourceVersion: "1" }));
  });

  it("may allow requests without preconditions, and sends no empty ones", async () => {
    const lenient = client.withPreconditions("never-empty").resource(configMaps);
    await allowed(() => lenient.delete(target));
    await allowed(() => lenient.update({ metadata: target }));
    await refused(
      () => lenient.delete(target, { preconditions: { uid: "" } }),
      "preconditions.uid",
    );
    await refused(() => lenient.update({ metadata: { ...target, uid: "" } }), "metadata.uid");
    const patch = { metadata: { finalizers: [] } };
    await refused(() => lenient.patch(target, { type: "merge", patch }), "metadata.uid");
  });
});
