/**
 * Goal: no event is lost when a watch goes over from history to live events. Method: a write is in
 * flight for a number of turns before the watch continues, for every number of turns that it may
 * take.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TestServer } from "../testing/index.ts";

const turnsMax = 80;

describe("hand-over of a watch", () => {
  for (const form of [
    "application/json",
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
  ]) {
    it(`a change arrives, in whichever turn it is made (${form})`, async () => {
      const server = await TestServer.start();
      const path = "/clusters/a/api/v1/namespaces/default/configmaps";
      const create = (name: string) =>
        server.requestOk("POST", path, { body: { metadata: { name } } });
      await create("first");
      for (let turns = 0; turns < turnsMax; turns++) {
        const query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
        const reader = await server.watch(
          `/clusters/*/api/v1/configmaps?${query}&allowWatchBookmarks=true`,
          { headers: { accept: form }, user: "masters" },
        );
        while ((await reader.next())?.type !== "BOOKMARK");
        const name = `turn-${turns}`;
        const writing = create(name);
        for (let turn = 0; turn < turns; turn++) await undefined;
        const next = reader.next();
        await writing;
        await create(`${name}-after`);
        assert.equal((await next)?.object.metadata.name, name, `${turns} turns`);
        await reader.leave();
      }
      await server.close();
    });
  }
});
