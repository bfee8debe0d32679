/**
 * Goal: a server stops on request, also when its store accepts writes and sends no watch events any
 * more, like an etcd that was cut off between a write's response and its event.
 */
import { describe, it } from "node:test";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { FaultyStorage } from "@kcp-ts/apiserver/testing";
import { TestServer } from "./testing/index.ts";

const apiExports = "/clusters/provider/apis/apis.kcp.io/v1alpha2/apiexports";
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("a server whose store sends no events", () => {
  it("stops although its own controllers wait for the events of their writes", async () => {
    const storage = new FaultyStorage(new MemoryStorage());
    const test = await TestServer.start({ storage });
    const body = { metadata: { name: "cowboys" }, spec: {} };
    await test.requestOk("POST", apiExports, { user: "masters", body });
    const release = storage.holdCommits();
    while (storage.held === 0) await turn();
    storage.stopWatchEvents();
    release();
    while (storage.held > 0) await turn();
    await turn();
    await test.close();
  });
});
