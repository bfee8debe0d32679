/**
 * Moves between two shards in one process, through the front doors of both, while clients read,
 * write and watch.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TestServer } from "@kcp-ts/apiserver/testing";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { TenancyExtension } from "../tenancy-extension.ts";
import { startTestShards, type TestShards } from "../testing/index.ts";

const team = "0123456789abcdef" as ClusterName;
const maps = `/clusters/${team}/api/v1/namespaces/default/configmaps`;
type Server = TestServer<TenancyExtension>;

describe("a move of a logical cluster between shards", () => {
  it("keeps the objects and their versions, and any shard finds them", async () => {
    await withShards(async ({ shards, root, b }) => {
      await create(root, "one");
      const before = (await root.get(`${maps}/one`)).text;
      await move(root, "b");
      assert.equal((await root.get(`${maps}/one`)).text, before);
      assert.equal((await b.get(`${maps}/one`)).text, before);
      await create(root, "two");
      assert.deepEqual((await b.get(maps)).names, ["one", "two"]);
      shards.disconnect("root");
      assert.deepEqual((await b.get(maps)).names, ["one", "two"]);
    });
  });

  it("loses and repeats no event, and no watch expires", async () => {
    await withShards(async ({ root, b }) => {
      await create(root, "one");
      const start = (await root.get(maps)).object.metadata.resourceVersion as string;
      const stop = new AbortController();
      const watchers = [root, b, root, b].map((door) => follow(door, start));
      const writers = [root, b].map((door, at) => write(door, `writer-${at}`, stop.signal));
      await settled(watchers, 20);
      await move(root, "b");
      await settled(watchers, 60);
      await move(b, "root");
      await settled(watchers, 100);
      stop.abort();
      const acknowledged = (await Promise.all(writers)).flat().sort((x, y) => x - y);
      const last = acknowledged.at(-1) as number;
      await Promise.all(watchers.map((watcher) => watcher.endAfter(last)));
      for (const watcher of watchers) {
        assert.deepEqual(watcher.errors, []);
        assert.deepEqual(watcher.seen, acknowledged);
      }
    });
  });

  it("is cancelled before its switch, and the cluster stays", async () => {
    await withShards(async ({ shards, root, b }) => {
      await create(root, "one");
      await mover(root).move(team, "b");
      mover(root).cancel(team);
      assert.equal(await endOf(root), "Cancelled");
      await create(root, "two");
      assert.deepEqual((await b.get(maps)).names, ["one", "two"]);
      shards.disconnect("b");
      assert.deepEqual((await root.get(maps)).names, ["one", "two"]);
    });
  });

  it("waits for a destination that is away, and writes go on meanwhile", async () => {
    await withShards(async ({ shards, root, b }) => {
      await create(root, "one");
      await mover(root).move(team, "b");
      shards.disconnect("b");
      await create(root, "two");
      shards.connect("b");
      assert.equal(await endOf(root), "Done");
      assert.deepEqual((await b.get(maps)).names, ["one", "two"]);
    });
  });

  it("does not begin for a cluster of another shard, or for one that is on both", async () => {
    await withShards(async ({ root, b }) => {
      await create(root, "one");
      await assert.rejects(mover(b).move(team, "root"), /is not on this shard/);
      await move(root, "b");
      await assert.rejects(mover(root).move(team, "b"), /is not on this shard/);
    });
  });

  it("is not reached by clients", async () => {
    await withShards(async ({ root, b }) => {
      for (const door of [root, b])
        for (const step of ["start", "open/9", "discard", "route/b/9"])
          for (const before of ["", "/shards/b", "/shards/root"]) {
            const target = `${before}/shard/moves/${team}/${step}`;
            assert.equal((await door.request("POST", target)).status, 404);
          }
      assert.equal(b.server.extension.routes.routeOf(team), undefined);
    });
  });
});

interface Two {
  readonly shards: TestShards;
  readonly root: Server;
  readonly b: Server;
}

async function withShards(body: (two: Two) => Promise<void>): Promise<void> {
  const shards = await startTestShards({ names: ["root", "b"], readsEndMs: 0 });
  try {
    await body({ shards, root: shards.get("root"), b: shards.get("b") });
  } finally {
    await shards.close();
  }
}

function mover(server: Server) {
  const found = server.server.extension.mover;
  assert.ok(found !== undefined);
  return found;
}

async function move(from: Server, to: string): Promise<void> {
  await mover(from).move(team, to);
  assert.equal(await endOf(from), "Done");
}

/** The stage at the end of a move; its clock goes on meanwhile. */
async function endOf({ clock, server }: Server): Promise<string | undefined> {
  const { mover: own } = server.extension;
  while (!["Done", "Cancelled", undefined].includes(own?.statusOf(team)?.stage)) {
    await clock.advance(100);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return own?.statusOf(team)?.stage;
}

async function create(door: Server, name: string): Promise<void> {
  await door.requestOk("POST", maps, { body: { metadata: { name }, data: {} } });
}

/** Writes one object again and again; returns the versions that were acknowledged. */
async function write(door: Server, name: string, signal: AbortSignal): Promise<number[]> {
  const acknowledged: number[] = [];
  const made = await door.requestOk("POST", maps, { body: { metadata: { name }, data: {} } });
  acknowledged.push(Number(made.metadata.resourceVersion));
  for (let at = 0; !signal.aborted; at++) {
    const response = await door.patch(`${maps}/${name}`, "merge", { data: { at: String(at) } });
    // A write that met the fence is sent again, as a client does after Retry-After.
    if (response.status === 503) continue;
    assert.equal(response.status, 200, response.text);
    acknowledged.push(Number(response.object.metadata.resourceVersion));
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return acknowledged;
}

interface Follower {
  /** The versions of events, as they came. */
  readonly seen: number[];
  readonly errors: string[];
  /** Ends after an event. */
  endAfter(revision: number): Promise<void>;
}

/** Follows a collection as an informer does: it resumes from the last version it has seen. */
function follow(door: Server, start: string): Follower {
  const seen: number[] = [];
  const errors: string[] = [];
  let last = start;
  let onSeen = () => {};
  let isOver = false;
  const leaving = new AbortController();
  const run = async () => {
    while (!isOver) {
      const query = `watch=true&resourceVersion=${last}&allowWatchBookmarks=true`;
      const watch = await door.watch(`${maps}?${query}`, { signal: leaving.signal });
      for (let event = await watch.next(); event !== undefined; event = await watch.next()) {
        const version = event.object.metadata?.resourceVersion;
        if (event.type === "ERROR" || version === undefined) {
          errors.push(JSON.stringify(event));
          isOver = true;
          break;
        }
        last = version;
        if (event.type !== "BOOKMARK") seen.push(Number(version));
        onSeen();
        if (isOver) break;
      }
      await watch.leave();
    }
  };
  const running = run();
  return {
    seen,
    errors,
    async endAfter(revision) {
      await new Promise<void>((resolve) => {
        onSeen = () => {
          if ((seen.at(-1) ?? 0) < revision && errors.length === 0) return;
          resolve();
        };
        onSeen();
      });
      isOver = true;
      leaving.abort();
      await running.catch((error: unknown) => {
        // Leaving a watch that was sent on ends it with an error.
        if (!String(error).includes("the client has left")) throw error;
      });
    },
  };
}

/** Every follower has seen some more events than the given number. */
async function settled(followers: readonly Follower[], count: number): Promise<void> {
  while (followers.some(({ seen, errors }) => seen.length < count && errors.length === 0))
    await new Promise((resolve) => setTimeout(resolve, 5));
}
