import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FetchTransport } from "./fetch-transport.ts";
import { isTransportError } from "./transport.ts";

describe("FetchTransport", () => {
  it("passes a request to fetch and returns its response", async () => {
    const calls: { url: string; method: string | undefined; group: string | null }[] = [];
    const transport = new FetchTransport({
      origin: "https://host",
      fetch: async (url, init) => {
        const group = new Headers(init?.headers).get("impersonate-group");
        calls.push({ url: String(url), method: init?.method, group });
        return new Response("text", { status: 201, headers: { "X-Some": "thing" } });
      },
    });
    const headers = { "impersonate-group": ["a", "b"] };
    const response = await transport.send({ method: "POST", path: "/p", headers, body: "{}" });
    assert.deepEqual(calls, [{ url: "https://host/p", method: "POST", group: "a, b" }]);
    assert.equal(response.status, 201);
    assert.equal(response.headers["x-some"], "thing");
    assert.equal(await response.body.text(), "text");
  });

  it("adds the headers of the moment to every request", async () => {
    let token = "a";
    const seen: (string | null)[] = [];
    const transport = new FetchTransport({
      headers: () => ({ authorization: `Bearer ${token}` }),
      fetch: async (_, init) => {
        seen.push(new Headers(init?.headers).get("authorization"));
        return new Response("");
      },
    });
    const request = { method: "GET", path: "/", headers: {} } as const;
    await transport.send(request);
    token = "b";
    await transport.send(request);
    assert.deepEqual(seen, ["Bearer a", "Bearer b"]);
  });

  it("calls a body that breaks off a lost connection, and cancels one that is not read", async () => {
    let isCancelled = false;
    const bodies = [
      new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode('{"ty')),
        pull: (controller) => controller.error(new TypeError("network error")),
      }),
      new ReadableStream({
        start: (controller) => controller.enqueue(new Uint8Array(3)),
        cancel: () => {
          isCancelled = true;
        },
      }),
    ];
    const transport = new FetchTransport({ fetch: async () => new Response(bodies.shift()) });
    const request = { method: "GET", path: "/", headers: {} } as const;
    const broken = await transport.send(request);
    await assert.rejects(broken.body.text(), (e) => isTransportError(e, "connection-lost"));
    for await (const chunk of (await transport.send(request)).body) {
      assert.equal(chunk.length, 3);
      break;
    }
    assert.equal(isCancelled, true);
  });

  it("distinguishes an abort from a broken connection", async () => {
    const failing = async () => {
      throw new TypeError("fetch failed");
    };
    const transport = new FetchTransport({ fetch: failing });
    const request = { method: "GET", path: "/", headers: {} } as const;
    await assert.rejects(transport.send(request), (e) => isTransportError(e, "connection-lost"));
    const signal = AbortSignal.abort(new Error("enough"));
    await assert.rejects(transport.send({ ...request, signal }), /enough/);
  });
});
