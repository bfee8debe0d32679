/**
 * Goal: a status that is known upstream is in the cluster as it is now, however quickly it changes,
 * and whatever it loses.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { eventually } from "@kcp-ts/testkit";
import { widgets } from "./faulty-server.ts";
import { SyncerFixture } from "./syncer-fixture.ts";

describe("a status that is owned upstream", () => {
  it("follows when it changes twice in a moment, and when something of it goes", async (t) => {
    const policies = { "widgets.example.com": { statusDirection: "Down" } } as const;
    const pair = await SyncerFixture.start(t, { policies });
    await pair.widget("a");
    await pair.copied("a");
    const resource = pair.in("root").resource(widgets);
    const say = (status: JsonObject) =>
      resource.patchStatus(
        { namespace: "shop", name: "a" },
        { type: "json", operations: [{ op: "add", path: "/status", value: status }] },
      );
    const untilSaid = (status: JsonObject) =>
      eventually(async () => assert.deepEqual((await pair.copy("a"))?.["status"], status));
    await say({ phase: "Bound" });
    await untilSaid({ phase: "Bound" });
    await say({ phase: "Released", note: "free" });
    await untilSaid({ phase: "Released", note: "free" });
    await say({ phase: "Released" });
    await untilSaid({ phase: "Released" });
    await pair.untilQuiet();
  });
});
