/**
 * The store compacts history that the server's feed has not read yet, so the feed must restart.
 * Requests in flight must not fail with 410 Expired, since their clients named no resourceVersion.
 */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { type Change, StorageError, type StorageKey } from "./storage/index.ts";
import { MemoryStorage } from "./storage/memory/index.ts";
import { type TestResponse, TestServer } from "./testing/index.ts";

/**
 * A storage whose watches can stop delivering, and then end as watches of compacted history end.
 */
class InterruptedStorage extends MemoryStorage {
  #silence: Promise<never> | undefined;
  #break: () => void = () => {};

  silence(): void {
    this.#silence = new Promise((_, reject) => {
      this.#break = () => reject(new StorageError("compacted", "the history is gone"));
    });
    this.#silence.catch(() => undefined);
  }

  interrupt(): void {
    this.#silence = undefined;
    this.#break();
  }

  override async *watch(...args: Parameters<MemoryStorage["watch"]>): AsyncGenerator<Change> {
    for await (const change of super.watch(...args)) {
      if (this.#silence !== undefined) await this.#silence;
      yield change;
    }
  }
}

const definition = {
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget" },
    versions: [
      { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
    ],
  },
};

describe("a server whose feed is interrupted", () => {
  let storage: InterruptedStorage;
  let server: TestServer;
  beforeEach(async () => {
    storage = new InterruptedStorage();
    server = await TestServer.start({ storage });
    await server.requestOk("POST", configmaps("a"), { body: { metadata: { name: "before" } } });
  });
  afterEach(() => server.close());

  const configmaps = (cluster: string) =>
    `/clusters/${cluster}/api/v1/namespaces/default/configmaps`;

  /**
   * Sends a request while the feed is silent and behind; the request waits for the feed when it
   * breaks.
   */
  async function interrupted(method: string, path: string, body?: object): Promise<TestResponse> {
    storage.silence();
    const behind = { key: "/x/y//a/z" as StorageKey, value: Buffer.from("{}") };
    const { signal } = new AbortController();
    await storage.commit({ ...behind, expected: "absent" }, { signal });
    const answer = server.request(method, path, body === undefined ? {} : { body });
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    storage.interrupt();
    for (let turn = 0; turn < 50; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      server.clock.advance(10);
    }
    return await answer;
  }

  it("creates an object in a cluster that the feed has not seen yet", async () => {
    const body = { metadata: { name: "x" } };
    const answer = await interrupted("POST", configmaps("fresh"), body);
    assert.equal(answer.status, 201, answer.text);
  });

  it("serves the kind of a CRD that it has stored", async () => {
    const path = "/clusters/a/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const answer = await interrupted("POST", path, definition);
    assert.equal(answer.status, 201, answer.text);
  });

  it("finds kinds in a cluster that the feed has not seen yet", async () => {
    const path = "/clusters/fresh/apis/example.com/v1/widgets";
    const answer = await interrupted("GET", path);
    assert.equal(answer.status, 404, answer.text);
  });

  it("lists objects", async () => {
    const answer = await interrupted("GET", configmaps("a"));
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.names, ["before"]);
  });
});
