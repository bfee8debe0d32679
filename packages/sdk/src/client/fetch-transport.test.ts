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
