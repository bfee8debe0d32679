/** The life of the thread that reads YAML: when it ends, what ends it, and in which order it reads. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { neverAborted } from "@kcp-ts/machinery/base";
import { YamlWorkerClient, type YamlWorkerClientOptions } from "./yaml-thread.ts";

const run = promisify(execFile);

function started(options: Partial<YamlWorkerClientOptions> = {}): YamlWorkerClient {
  return new YamlWorkerClient({ idleMs: 100, ...options });
}

function read(thread: YamlWorkerClient, text: string, cluster = "a", signal = neverAborted) {
  return thread.translate(cluster, Buffer.from(text), signal);
}

async function jsonOf(thread: YamlWorkerClient, text: string): Promise<string> {
  const translated = await read(thread, text);
  return "json" in translated ? Buffer.from(translated.json).toString() : translated.error;
}

const dense = `{${"a: b,".repeat(70_000)}}`;

describe("the thread that reads YAML", () => {
  it("reads one of each logical cluster in turn, and those of one as they came", async () => {
    const thread = started();
    const order: string[] = [];
    const wanted = ["a1", "a2", "a3", "a4", "b1", "b2", "c1"];
    await Promise.all(
      wanted.map(async (name) => {
        await read(thread, name, name[0]);
        order.push(name);
      }),
    );
    assert.deepEqual(order, ["a1", "a2", "b1", "c1", "a3", "b2", "a4"]);
  });

  it("is not asked for what was given up before its turn", async () => {
    const thread = started();
    const leaving = new AbortController();
    const first = read(thread, "first", "a", leaving.signal);
    const second = assert.rejects(read(thread, "second", "a", leaving.signal), /no longer/);
    const third = read(thread, "third");
    leaving.abort(new Error("no longer"));
    await second;
    // What has begun goes on.
    assert.ok("json" in (await first));
    assert.ok("json" in (await third));
    await assert.rejects(read(thread, "late", "a", leaving.signal), /no longer/);
    assert.equal(await jsonOf(thread, "a: 1"), '{"a":1}');
  });

  it("ends by itself, and what came just then is read by the next one", async () => {
    const thread = started({ idleMs: 0 });
    for (let i = 0; i < 40; i++) {
      assert.equal(await jsonOf(thread, `a: ${i}`), `{"a":${i}}`);
      // Sooner or later than it ends.
      for (let turns = 0; turns < (i % 10) * 20; turns++)
        await new Promise((resolve) => setImmediate(resolve));
    }
  });

  it("is ended by what takes too long, and there is another for the next", async () => {
    const thread = started({ workMsMax: 100 });
    const texts = [`[${'"a":b,'.repeat(500_000)}]`, "a"] as const;
    const [slow, next] = await Promise.allSettled(texts.map((text) => read(thread, text)));
    assert.ok(slow !== undefined && next !== undefined);
    assert.equal(slow.status, "rejected");
    assert.equal(slow.reason.code, 413);
    assert.match(slow.reason.message, /reading it as YAML takes too long, send JSON$/);
    assert.equal(next.status, "fulfilled");
  });

  it("is ended by what takes too much memory, and there is another for the next", async () => {
    const thread = started({ heapMbMax: 16 });
    const [large, next] = await Promise.allSettled([read(thread, dense), read(thread, "a", "b")]);
    assert.equal(large.status, "rejected");
    assert.equal(large.reason.code, 413);
    assert.equal(next.status, "fulfilled");
  });

  it("keeps no process from ending when it has nothing to do", async () => {
    const module = new URL("./yaml-thread.js", import.meta.url).href;
    const program = `
      import { YamlWorkerClient } from ${JSON.stringify(module)};
      const thread = new YamlWorkerClient({ idleMs: 3_600_000 });
      const bytes = new TextEncoder().encode("a: 1");
      const { json } = await thread.translate("a", bytes, new AbortController().signal);
      console.log(new TextDecoder().decode(json));`;
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program], {
      timeout: 120_000,
    });
    assert.equal(stdout, '{"a":1}\n');
  });
});
