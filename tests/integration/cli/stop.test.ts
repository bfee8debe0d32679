/** What signals do to a server that has something left to do. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { request } from "node:https";
import { describe, it } from "node:test";
import { type KcpProcess, startKcp, temporaryFolder } from "./kcp-process.ts";

/** A write whose body does not come: it is waited for. */
async function unfinishedWrite({ url, kubeconfig }: KcpProcess) {
  const [, token] = /token: "?([^"\s]+)/.exec(await readFile(kubeconfig, "utf8")) ?? [];
  const target = new URL("/api/v1/namespaces/default/configmaps", url);
  const write = request(target, {
    method: "POST",
    rejectUnauthorized: false,
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "content-length": "1000",
      expect: "100-continue",
    },
  });
  write.on("error", () => {});
  write.flushHeaders();
  await once(write, "continue");
  return write;
}

describe("a server that is stopped", () => {
  it("waits for requests in flight after the first signal, and for nothing after the second", async (t) => {
    for (const [first, second] of [
      ["SIGTERM", "SIGTERM"],
      ["SIGINT", "SIGTERM"],
    ] as const) {
      const kcp = await startKcp(await temporaryFolder(t));
      const write = await unfinishedWrite(kcp);
      let isAnswered = false;
      write.once("response", () => {
        isAnswered = true;
      });
      kcp.signal(first);
      await kcp.output("stopping; a second signal stops at once");
      assert.equal(kcp.exitCode(), null, "it waits");
      assert.equal(isAnswered, false, "and so does the write");
      kcp.signal(second);
      assert.equal(await kcp.exited(), 130);
      write.destroy();
    }
  });

  it("shuts down gracefully after one signal, when the requests in flight have ended", async (t) => {
    const kcp = await startKcp(await temporaryFolder(t));
    const write = await unfinishedWrite(kcp);
    kcp.signal("SIGTERM");
    await kcp.output("stopping; a second signal stops at once");
    const body = JSON.stringify({ metadata: { name: "late" } });
    write.end(body.padEnd(1000));
    const [answer] = await once(write, "response");
    answer.resume();
    assert.equal(answer.statusCode, 201);
    assert.equal(await kcp.exited(), 0);
  });
});
