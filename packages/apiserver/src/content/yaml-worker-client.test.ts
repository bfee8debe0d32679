/**
 * The lifecycle of the worker thread that parses YAML: its end, the causes of its termination, and
 * the order of its work.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { neverAborted } from "@kcp-ts/machinery/base";
import { YamlWorkerClient, type YamlWorkerClientOptions } from "./yaml-worker-client.ts";

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

describe("the worker thread for YAML", () => {
  it("parses for the logical clusters in round robin, and for one cluster in the order of arrival", async () => {
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

  it("does not receive texts that were given up before their turn", async () => {
    const thread = started();
    const leaving = new AbortController();
    const first = read(thread, "first", "a", leaving.signal);
    const second = assert.rejects(read(thread, "second", "a", leaving.signal), /no longer/);
    const third = read(thread, "third");
    leaving.abort(new Error("no longer"));
    await second;
    // A text that the thread has started is completed.
    assert.ok("json" in (await first));
    assert.ok("json" in (await third));
    await assert.rejects(read(thread, "late", "a", leaving.signal), /no longer/);
    assert.equal(await jsonOf(thread, "a: 1"), '{"a":1}');
  });

  it("ends by itself when idle, and a text that arrives just then is parsed by the next thread", async () => {
    const thread = started({ idleMs: 0 });
    for (let i = 0; i < 40; i++) {
      assert.equal(await jsonOf(thread, `a: ${i}`), `{"a":${i}}`);
      // Before or after the end of the thread.
      for (let turns = 0; turns < (i % 10) * 20; turns++)
        await new Promise((resolve) => setImmediate(resolve));
    }
  });

  it("is terminated by a text that takes too long, and replaced for the next text", async () => {
    const thread = started({ workMsMax: 100, heapMbMax: 4096 });
    const texts = [`[${'"a":b,'.repeat(500_000)}]`, "a"] as const;
    const [slow, next] = await Promise.allSettled(texts.map((text) => read(thread, text)));
    assert.ok(slow !== undefined && next !== undefined);
    assert.equal(slow.status, "rejected");
    assert.equal(slow.reason.code, 413);
    assert.match(slow.reason.message, /reading it as YAML takes too long, send JSON$/);
    assert.equal(next.status, "fulfilled");
  });

  it("is terminated by a text that takes too much memory, and replaced for the next text", async () => {
    const thread = started({ heapMbMax: 16 });
    const [large, next] = await Promise.allSettled([read(thread, dense), read(thread, "a", "b")]);
    assert.equal(large.status, "rejected");
    assert.equal(large.reason.code, 413);
    assert.equal(next.status, "fulfilled");
  });

  it("does not keep the process alive when it is idle", async () => {
    const module = new URL("./yaml-worker-client.js", import.meta.url).href;
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
