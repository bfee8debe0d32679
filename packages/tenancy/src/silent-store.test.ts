/**
 * Goal: a server ends when it is told to, also when its store takes writes and says nothing of them any more: an etcd that was cut off between a write's answer and the
 * news of it.
 */
import { describe, it } from "node:test";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { FaultyStorage } from "@kcp-ts/apiserver/testing";
import { TestServer } from "./testing/index.ts";

const apiExports = "/clusters/provider/apis/apis.kcp.io/v1alpha2/apiexports";
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("a server whose store has fallen silent", () => {
  it("stops although its own loops wait to hear of what they wrote", async () => {
    const storage = new FaultyStorage(new MemoryStorage());
    const test = await TestServer.start({ storage });
    const body = { metadata: { name: "cowboys" }, spec: {} };
    await test.must("POST", apiExports, { user: "masters", body });
    const release = storage.hold();
    while (storage.held === 0) await turn();
    storage.silence();
    release();
    while (storage.held > 0) await turn();
    await turn();
    await test.close();
  });
});
