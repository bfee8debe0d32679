/** An update that another write overtakes, between its look at the object and its own write. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { CallOptions, Revision, Write } from "../storage/index.ts";
import { MemoryStorage } from "../storage/memory/index.ts";
import { TestServer } from "../testing/index.ts";

const configmaps = "/clusters/a/api/v1/namespaces/default/configmaps";

/** Lets something happen just before a commit. */
class OvertakenStorage extends MemoryStorage {
  overtake: (() => Promise<unknown>) | undefined;

  override async commit(write: Write, options: CallOptions): Promise<Revision> {
    const { overtake } = this;
    this.overtake = undefined;
    await overtake?.();
    return super.commit(write, options);
  }
}

describe("an overtaken update", () => {
  let storage: OvertakenStorage;
  let server: TestServer;
  beforeEach(async () => {
    storage = new OvertakenStorage();
    server = await TestServer.start({ storage });
  });
  afterEach(() => server.close());

  const create = () => server.must("POST", configmaps, { body: { metadata: { name: "x" } } });
  const remove = () => server.must("DELETE", `${configmaps}/x`);

  it("with a resourceVersion of an object that is deleted meanwhile is a 404", async () => {
    const object = await create();
    storage.overtake = remove;
    const answer = await server.request("PUT", `${configmaps}/x`, {
      body: { ...object, data: { k: "v" } },
    });
    assert.equal(answer.status, 404, answer.text);
    assert.equal(answer.object.message, 'configmaps "x" not found');
  });

  it("with a resourceVersion of an object that is created anew meanwhile is a 409", async () => {
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

  it("with a resourceVersion of an object that is changed meanwhile is a 409 in Kubernetes' words", async () => {
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

  it("without a resourceVersion of an object that is deleted meanwhile is a 404", async () => {
    await create();
    storage.overtake = remove;
    const answer = await server.patch(`${configmaps}/x`, "merge", { data: { k: "v" } });
    assert.equal(answer.status, 404, answer.text);
  });
});
