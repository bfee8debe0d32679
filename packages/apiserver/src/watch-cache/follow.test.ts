/**
 * Goal: a client that lists and then watches ends with the state of the server, whatever happens
 * meanwhile. Method: seeded random writes; followers with different selectors, encodings and paths
 * that lose their stream and resume from their last version, list again after a 410, and meet
 * evicted collections, compactions and a second server on the same store.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Revision } from "../storage/index.ts";
import { MemoryStorage } from "../storage/memory/index.ts";
import { type AnyObject, SeededRandom, TestServer, type WatchReader } from "../testing/index.ts";

const { signal } = new AbortController();
const namespaces = ["one", "two"] as const;

class Follower {
  readonly path: string;
  readonly query: string;
  readonly state = new Map<string, string>();
  relists = 0;
  server: TestServer;
  #version = "";
  #reader: WatchReader | undefined;

  constructor(server: TestServer, path: string, query: string) {
    this.server = server;
    this.path = path;
    this.query = query;
  }

  /** Continues at another server of the same store. */
  async move(server: TestServer): Promise<void> {
    await this.disconnect();
    this.server = server;
  }

  async disconnect(): Promise<void> {
    await this.#reader?.leave();
    this.#reader = undefined;
  }

  /** Reads until the follower has seen `sentinel`, which every selector selects. */
  async follow(sentinel: string): Promise<void> {
    for (;;) {
      if (this.state.get("one/sentinel")?.includes(`"n":"${sentinel}"`)) return;
      if (this.#version === "") await this.#list();
      else await this.#readOne();
    }
  }

  async #list(): Promise<void> {
    this.relists++;
    this.state.clear();
    let token = "";
    do {
      const page = await this.server.get(`${this.path}?${this.query}&limit=7&continue=${token}`);
      if (page.status === 410) return;
      assert.equal(page.status, 200, page.text);
      for (const item of page.items) this.#put(item);
      token = page.object.metadata.continue ?? "";
      this.#version = page.object.metadata.resourceVersion ?? "";
    } while (token !== "");
  }

  async #readOne(): Promise<void> {
    this.#reader ??= await this.server.watch(
      `${this.path}?${this.query}&watch=1&resourceVersion=${this.#version}`,
    );
    const event = await this.#reader.next();
    if (event === undefined) return this.disconnect();
    const { type, object } = event;
    if (type === "ERROR") {
      assert.equal(object.code, 410, JSON.stringify(object));
      this.#version = "";
      return this.disconnect();
    }
    const version = object.metadata.resourceVersion ?? "";
    assert.ok(Number(version) > Number(this.#version), "versions go up");
    this.#version = version;
    const key = keyOf(object);
    if (type === "ADDED") assert.ok(!this.state.has(key), `ADDED ${key} twice`);
    else assert.ok(this.state.has(key), `${type} of ${key}, which was not there`);
    if (type === "DELETED") this.state.delete(key);
    else this.#put(object);
  }

  #put({ kind: _, apiVersion: __, ...object }: AnyObject): void {
    this.state.set(keyOf(object), JSON.stringify(object));
  }
}

function keyOf({ metadata }: Pick<AnyObject, "metadata">): string {
  return `${metadata.namespace}/${metadata.name}`;
}

const selectors = ["", "labelSelector=team%3Dred", "labelSelector=team!%3Dblue"] as const;

function followersOf(server: TestServer): Follower[] {
  return selectors.flatMap((query) => [
    new Follower(server, "/clusters/a/api/v1/configmaps", query),
    new Follower(server, "/clusters/a/api/v1/namespaces/one/configmaps", query),
  ]);
}

/** One random write in cluster a, or a similar one in cluster b that no follower may see. */
async function write(server: TestServer, random: SeededRandom): Promise<void> {
  const cluster = random.below(4) === 0 ? "b" : "a";
  const path = `/clusters/${cluster}/api/v1/namespaces/${random.pick(namespaces)}/configmaps`;
  const name = `x${random.below(12)}`;
  const labels = { team: random.pick(["red", "blue", "green"]) };
  const body = { metadata: { name, labels }, data: { n: String(random.below(1000)) } };
  const action = random.below(10);
  if (action < 4) await server.request("POST", path, { body });
  else if (action < 7) await server.request("PUT", `${path}/${name}`, { body });
  else if (action < 9) await server.request("DELETE", `${path}/${name}`);
  else await server.request("DELETE", `${path}?labelSelector=team%3D${labels.team}`);
}

/** `sentinel` is in every follower's view, and comes last. */
async function writeSentinel(server: TestServer, n: string): Promise<void> {
  const path = "/clusters/a/api/v1/namespaces/one/configmaps";
  const body = { metadata: { name: "sentinel", labels: { team: "red" } }, data: { n } };
  const put = await server.request("PUT", `${path}/sentinel`, { body });
  if (put.status === 404) await server.requestOk("POST", path, { body });
}

async function disturb(server: TestServer, random: SeededRandom, followers: readonly Follower[]) {
  const follower = random.pick(followers);
  switch (random.below(6)) {
    case 0:
      return follower.disconnect();
    case 1:
      return follower.move(server);
    case 2:
      // The collections are unused for long enough to be evicted. Bookmarks are due, too.
      server.clock.advance(300_000);
      return;
    case 3: {
      const newest = await server.storage.currentRevision({ signal });
      const oldest = Math.max(1, newest - random.below(30));
      return server.storage.compact(oldest as Revision, { signal });
    }
    default:
      return;
  }
}

async function run(seed: number, collectionBytesMax: number): Promise<number> {
  const random = new SeededRandom(seed);
  // A short history: it is compacted while followers are disconnected.
  const storage = new MemoryStorage({ historyChangesMax: 60 });
  const followers: Follower[] = [];
  const open = () => TestServer.start({ storage, collectionBytesMax });
  const servers = [await open(), await open()];
  /** A restarted server has no events in memory: followers depend on the store's history. */
  const restart = async () => {
    const at = random.below(servers.length);
    const old = servers[at] as TestServer;
    servers[at] = await open();
    for (const follower of followers) if (follower.server === old) await follower.move(servers[at]);
    await old.server.close();
  };
  for (const cluster of ["a", "b"]) {
    for (const name of namespaces) {
      await random
        .pick(servers)
        .requestOk("POST", `/clusters/${cluster}/api/v1/namespaces`, {
          body: { metadata: { name } },
        });
    }
  }

  followers.push(...followersOf(random.pick(servers)));
  for (let round = 0; round < 12; round++) {
    const writes = random.below(120);
    const server = random.pick(servers);
    for (let i = 0; i < writes; i++) {
      await write(server, random);
      if (random.below(8) === 0) await disturb(random.pick(servers), random, followers);
    }
    if (random.below(2) === 0) await restart();
    await writeSentinel(random.pick(servers), `${seed}-${round}`);
    for (const follower of followers) {
      await follower.follow(`${seed}-${round}`);
      const { items } = await random.pick(servers).get(`${follower.path}?${follower.query}`);
      const expected = new Map(items.map((item) => [keyOf(item), JSON.stringify(item)]));
      assert.deepEqual(follower.state, expected, `seed ${seed}, round ${round}, ${follower.query}`);
    }
  }
  const relists = followers.reduce((sum, follower) => sum + follower.relists, 0);
  for (const follower of followers) await follower.disconnect();
  for (const server of servers) await server.server.close();
  await storage.close();
  return relists;
}

describe("list, then watch", () => {
  it("ends with the server's state, for many random histories", async () => {
    let relists = 0;
    for (let seed = 1; seed <= 12; seed++) relists += await run(seed, 1 << 20);
    assert.ok(relists > 12 * 6, "no history was ever lost: the test tests less than it says");
  });

  it("ends with the server's state when no collection fits into memory", async () => {
    for (let seed = 101; seed <= 106; seed++) await run(seed, 0);
  });

  it("ends with the server's state when collections evict each other", async () => {
    for (let seed = 201; seed <= 206; seed++) await run(seed, 12_000);
  });
});
