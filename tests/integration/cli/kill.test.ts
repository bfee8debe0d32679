/**
 * kill -9 of the whole server under load: what was acknowledged is there after a restart.
 *
 * Each writer counts up in its own object and makes a new one now and then. It notes what it tried
 * and what was acknowledged; after the restart the store must be between the two.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { type Client, type Connection, connect, loadKubeconfig } from "@kcp-ts/sdk";
import { configMaps } from "@kcp-ts/sdk/kinds";
import { startKcp, temporaryFolder } from "./kcp-process.ts";

const preloaded = 3000;
const writers = 16;
const rounds = 3;
/** Of all writers in one round: then many writes are under way, however fast the machine is. */
const writesPerRound = 400;

interface Writer {
  readonly cluster: string;
  readonly name: string;
  tried: number;
  acknowledged: number;
  /** Names of objects whose creation was acknowledged. */
  readonly made: string[];
}

describe("a server that is killed under load", () => {
  it("has every acknowledged write when it is back", async (t) => {
    const root = join(await temporaryFolder(t), "root");
    const all = Array.from({ length: writers }, (_, index): Writer => {
      const cluster = `team-${index % 4}`;
      return { cluster, name: `writer-${index}`, tried: 0, acknowledged: 0, made: [] };
    });
    for (let round = 0; round <= rounds; round++) {
      const kcp = await startKcp(root);
      const connection = connect(await loadKubeconfig({ path: kcp.kubeconfig }), {
        context: "shard-base",
      });
      const { client } = connection;
      if (round === 0) await preload(client);
      else t.diagnostic(await check(client, all, kcp.readyAfterMs));
      if (round === rounds) {
        await connection.close();
        assert.equal(await kcp.stop(), 0);
        break;
      }
      const wanted = acknowledgedBy(all) + writesPerRound;
      const ended = all.map((writer) => write(client, writer));
      // A writer that ends before the server does has failed, and says below how.
      await Promise.race([untilAcknowledged(all, wanted), ...ended]);
      await kcp.kill();
      await settle(connection, ended);
    }
    const sum = acknowledgedBy(all);
    assert.ok(sum >= writesPerRound * rounds, `only ${sum} writes were acknowledged`);
  });
});

function acknowledgedBy(all: readonly Writer[]): number {
  return all.reduce((total, { acknowledged }) => total + acknowledged, 0);
}

async function untilAcknowledged(all: readonly Writer[], wanted: number): Promise<void> {
  while (acknowledgedBy(all) < wanted) await sleep(systemClock, 1);
}

async function preload(client: Client): Promise<void> {
  const maps = client.inCluster("team-0").resource(configMaps);
  let next = 0;
  const one = async () => {
    while (next < preloaded) {
      const name = `preloaded-${next++}`;
      await maps.create({ metadata: { name, namespace: "default" }, data: { name } });
    }
  };
  await Promise.all(Array.from({ length: 32 }, one));
}

/** Counts up until the server is gone. */
async function write(client: Client, writer: Writer): Promise<unknown> {
  const maps = client.inCluster(writer.cluster).resource(configMaps);
  const metadata = { name: writer.name, namespace: "default" };
  try {
    let object = await maps.find(metadata);
    for (;;) {
      writer.tried++;
      const data = { count: String(writer.tried) };
      object =
        object === undefined
          ? await maps.create({ metadata, data })
          : await maps.update({ ...object, data });
      writer.acknowledged = writer.tried;
      if (writer.tried % 5 !== 0) continue;
      const name = `${writer.name}-made-${writer.tried}`;
      await maps.create({ metadata: { ...metadata, name } });
      writer.made.push(name);
    }
  } catch (error) {
    return error;
  }
}

/** The server is gone: writers end with the connection. */
async function settle(connection: Connection, ended: readonly Promise<unknown>[]): Promise<void> {
  await connection.close();
  for (const error of await Promise.all(ended)) {
    assert.equal((error as Error).name, "TransportError", String(error));
  }
}

async function check(client: Client, all: readonly Writer[], readyMs: number): Promise<string> {
  const { items } = await client.inCluster("*").resource(configMaps).list();
  const counts = new Map(items.map(({ metadata, data }) => [metadata.name, data?.["count"]]));
  for (const writer of all) {
    const stored = Number(counts.get(writer.name) ?? 0);
    const { name, tried, acknowledged, made } = writer;
    assert.ok(
      acknowledged <= stored && stored <= tried,
      `${name} has ${stored}; ${acknowledged} was acknowledged, ${tried} tried`,
    );
    for (const one of made) assert.ok(counts.has(one), `${one} is gone`);
    writer.tried = stored;
    writer.acknowledged = stored;
  }
  for (let index = 0; index < preloaded; index++) assert.ok(counts.has(`preloaded-${index}`));
  return `ready ${Math.round(readyMs)} ms after the start, with ${items.length} objects`;
}
