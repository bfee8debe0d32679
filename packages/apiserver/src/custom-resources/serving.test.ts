/** A definition becomes a resource: created, served, listed in discovery, deleted. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  conditionOf,
  definitionsPath,
  install,
  TestServer,
  type WatchEvent,
} from "../testing/index.ts";
import { cronTabs } from "./test-support/definitions.ts";

const instances = "/clusters/a/apis/stable.example.com/v1/namespaces/default/crontabs";

let server: TestServer;
before(async () => {
  server = await TestServer.start();
});
after(() => server.close());

describe("a definition", () => {
  it("is established and served", async () => {
    const before = await server.get(instances);
    assert.equal(before.status, 404);
    const object = await install(server, cronTabs());
    assert.deepEqual(conditionOf(object, "NamesAccepted")?.reason, "NoConflicts");
    assert.deepEqual(conditionOf(object, "Established")?.reason, "InitialNamesAccepted");
    const created = await server.requestOk("POST", instances, {
      body: {
        apiVersion: "stable.example.com/v1",
        kind: "CronTab",
        metadata: { name: "first" },
        spec: { cronSpec: "* * * * */5", image: "i", unknown: 1 },
      },
    });
    assert.deepEqual(created["spec"], { cronSpec: "* * * * */5", image: "i" });
    assert.equal(created.metadata["generation"], 1);
    const { items } = await server.get(instances);
    assert.deepEqual(items, [created]);
  });

  it("is deleted with its instances", async () => {
    const name = "crontabs.stable.example.com";
    const watch = await server.watch(`/clusters/a${definitionsPath}?watch=1&resourceVersion=0`);
    await server.requestOk("DELETE", `/clusters/a${definitionsPath}/${name}`);
    for (;;) {
      const { type, object } = (await watch.take(1))[0] as WatchEvent;
      if (type === "DELETED" && object.metadata.name === name) break;
    }
    await watch.leave();
    assert.equal((await server.get(instances)).status, 404);
    await install(server, cronTabs());
    assert.deepEqual((await server.get(instances)).items, []);
  });
});
