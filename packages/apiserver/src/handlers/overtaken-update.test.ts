/** Updates with a concurrent write between their read of the object and their own write. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { CallOptions, Revision, Write } from "../storage/index.ts";
import { MemoryStorage } from "../storage/memory/index.ts";
import { TestServer } from "../testing/index.ts";

const configmaps = "/clusters/a/api/v1/namespaces/default/configmaps";

/** A storage that runs a callback just before a commit. */
class OvertakenStorage extends MemoryStorage {
  overtake: (() => Promise<unknown>) | undefined;

  override async commit(write: Write, options: CallOptions): Promise<Revision> {
    const { overtake } = this;
    this.overtake = undefined;
    await overtake?.();
    return super.commit(write, options);
  }
}

describe("an update with a concurrent write", () => {
  let storage: OvertakenStorage;
  let server: TestServer;
  beforeEach(async () => {
    storage = new OvertakenStorage();
    server = await TestServer.start({ storage });
  });
  afterEach(() => server.close());

  const create = () => server.requestOk("POST", configmaps, { body: { metadata: { name: "x" } } });
  const remove = () => server.requestOk("DELETE", `${configmaps}/x`);

  it("and a resourceVersion is a 404 when the object is deleted meanwhile", async () => {
    const object = await create();
    storage.overtake = remove;
    const answer = await server.request("PUT", `${configmaps}/x`, {
      body: { ...object, data: { k: "v" } },
    });
    assert.equal(answer.status, 404, answer.text);
    assert.equal(answer.object.message, 'configmaps "x" not found');
  });

  it("and a resourceVersion is a 409 when the object is deleted and created again meanwhile", async () => {
    const object = await create();
    storage.overtake = async () => {
      await remove();
      await create();
    };
    const answer = await server.request("PUT", `${configmaps}/x`, {
      body: { ...object, data: { k: "v" } },
    });
    assert.equal(answer.status, 409, answer.text);
  });

  it("and a resourceVersion is a 409 with Kubernetes' message when the object is changed meanwhile", async () => {
    const object = await create();
    storage.overtake = () => server.patch(`${configmaps}/x`, "merge", { data: { k: "other" } });
    const answer = await server.request("PUT", `${configmaps}/x`, {
      body: { ...object, data: { k: "v" } },
    });
    assert.equal(answer.status, 409, answer.text);
    assert.match(
      answer.object.message ?? "",
      /the object has been modified; please apply your changes/,
    );
  });

  it("but without a resourceVersion is a 404 when the object is deleted meanwhile", async () => {
    await create();
    storage.overtake = remove;
    const answer = await server.patch(`${configmaps}/x`, "merge", { data: { k: "v" } });
    assert.equal(answer.status, 404, answer.text);
  });
});
