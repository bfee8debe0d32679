/**
 * The cost of lists: as many seats as the size of the collection requires, for every kind and every
 * storage.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { unionAuthorizer } from "@kcp-ts/apiserver/authorization";
import { install } from "@kcp-ts/apiserver/testing";
import { TestServer } from "../testing/index.ts";
import { bind, offer } from "./test-support/cowboys.ts";

const objects = 250;
/** A seat for each hundred objects. */
const expected = 3;

const schema = { openAPIV3Schema: { type: "object" } };
const cronTabs = {
  metadata: { name: "crontabs.stable.example.com" },
  spec: {
    group: "stable.example.com",
    scope: "Namespaced",
    names: { plural: "crontabs", singular: "crontab", kind: "CronTab" },
    versions: [{ name: "v1", served: true, storage: true, schema }],
  },
};

const seats: number[] = [];
let server: TestServer;

before(async () => {
  server = await TestServer.start({
    flowControl: { seatsTotal: 2000 },
    // The authorizer runs while the list is in flight: its seats are taken.
    authorization: (rbac) =>
      unionAuthorizer([
        {
          authorize: async ({ verb, user }) => {
            if (user.username === "a" && (verb === "list" || verb === "watch"))
              seats.push(await seatsTaken());
            return { allowed: user.username === "a", reason: "" };
          },
        },
        rbac,
      ]),
  });
});
after(() => server.close());

async function seatsTaken(): Promise<number> {
  const { text } = await server.get("/metrics", { user: "masters" });
  const line = /current_executing_seats\{priority_level="global-default"\} (\d+)/.exec(text);
  return Number(line?.[1]);
}

async function costOf(target: string): Promise<number> {
  seats.length = 0;
  if (target.includes("watch=1")) await (await server.watch(target, { user: "a" })).leave();
  else assert.equal((await server.get(target, { user: "a" })).status, 200);
  assert.equal(seats.length, 1);
  return seats[0] as number;
}

async function fill(target: string, body: object = {}): Promise<void> {
  for (let at = 0; at < objects; at++)
    await server.requestOk("POST", target, {
      user: "masters",
      body: { ...body, metadata: { name: `o-${at}` } },
    });
}

describe("a list", () => {
  const collections = {
    "a built-in kind": "/clusters/a/api/v1/namespaces/default/configmaps",
    "a custom kind": "/clusters/a/apis/stable.example.com/v1/namespaces/default/crontabs",
    "a kind of another workspace":
      "/clusters/consumer/apis/wildwest.dev/v1alpha1/namespaces/default/cowboys",
  };

  before(async () => {
    await install(server, cronTabs);
    await offer(server, "provider");
    await bind(server, "consumer", "provider");
    for (const target of Object.values(collections)) await fill(target);
  });

  for (const [what, target] of Object.entries(collections)) {
    it(`of ${what} costs by its objects once they are in memory`, async () => {
      assert.equal(await costOf(target), 1);
      assert.equal(await costOf(target), expected);
      assert.equal(await costOf(`${target}?limit=50`), 1);
      assert.equal(await costOf(`${target}?limit=50&labelSelector=a%3Db`), expected);
    });

    it(`is what a watch of ${what} costs that begins with what is there`, async () => {
      assert.equal(await costOf(`${target}?watch=1`), expected);
      const { metadata } = await server.requestOk("GET", `${target}?limit=1`, { user: "masters" });
      const since = `resourceVersion=${metadata.resourceVersion}`;
      assert.equal(await costOf(`${target}?watch=1&${since}`), 1);
      const initial = `${since}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`;
      const asked = `${target}?watch=1&${initial}&allowWatchBookmarks=true`;
      assert.equal(await costOf(asked), expected);
    });
  }

  it("of Events costs the same through both of their groups", async () => {
    const events = "/clusters/a/api/v1/namespaces/default/events";
    await fill(events, { involvedObject: { namespace: "default" } });
    assert.equal(await costOf(events), 1);
    assert.equal(await costOf(events), expected);
    const byGroup = "/clusters/a/apis/events.k8s.io/v1/namespaces/default/events";
    assert.equal(await costOf(byGroup), expected);
  });

  it("over all logical clusters costs the maximum of a list", async () => {
    assert.equal(await costOf("/clusters/*/api/v1/configmaps"), 10);
    assert.equal(await costOf("/clusters/*/api/v1/configmaps?limit=100"), 1);
  });

  it("of a resource that is not served costs one seat", async () => {
    seats.length = 0;
    const target = "/clusters/a/apis/stable.example.com/v1/namespaces/default/none";
    assert.equal((await server.get(target, { user: "a" })).status, 404);
    assert.deepEqual(seats, [1]);
  });
});
