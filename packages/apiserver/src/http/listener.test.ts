/** Both protocols give the same responses, over real TLS. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { gunzipSync } from "node:zlib";
import { ListeningServer, untilWatches } from "../testing/index.ts";
import { compressBytesMin } from "./index.ts";

const configmaps = "/clusters/a/api/v1/namespaces/default/configmaps";

let server: ListeningServer;
before(async () => {
  server = await ListeningServer.start();
});
after(() => server.close());

for (const protocol of ["http1", "http2"] as const) {
  describe(protocol, () => {
    const ask: ListeningServer["http1"] = (path, options) => server[protocol](path, options);

    it("creates, reads, changes and deletes objects", async () => {
      const body = JSON.stringify({ metadata: { name: protocol }, data: { k: "v" } });
      const created = await ask(configmaps, { method: "POST", body });
      assert.equal(created.status, 201, created.body.toString());
      assert.equal(created.headers["content-length"], String(created.body.length));
      const read = await ask(`${configmaps}/${protocol}`);
      assert.equal(read.body.toString(), created.body.toString());
      const patched = await ask(`${configmaps}/${protocol}`, {
        method: "PATCH",
        headers: { "content-type": "application/merge-patch+json" },
        body: '{"data":{"k":"é"}}',
      });
      assert.match(patched.body.toString(), /"k":"é"/);
      const deleted = await ask(`${configmaps}/${protocol}`, { method: "DELETE" });
      assert.equal(deleted.status, 200);
    });

    it("HEAD has the headers of GET and no body", async () => {
      for (const path of [
        "/version",
        configmaps,
        `${configmaps}/missing`,
        `${configmaps}?watch=1`,
      ]) {
        const head = await ask(path, { method: "HEAD" });
        assert.equal(head.body.length, 0, path);
        assert.equal(head.status, path.endsWith("missing") ? 404 : 200, path);
        assert.equal(head.headers["content-type"], "application/json", path);
      }
    });

    it("warnings are one header each, with any characters", async () => {
      const answer = await ask(`${configmaps}?dryRun=All`, {
        method: "POST",
        body: '{"metadata":{"name":"x"},"füü":1,"bar":2}',
      });
      assert.equal(answer.status, 201);
      const warning = Buffer.from(String(answer.headers["warning"]), "latin1").toString("utf8");
      assert.equal(warning, '299 - "unknown field \\"füü\\"", 299 - "unknown field \\"bar\\""');
    });

    it("a response of more than 128 KiB is compressed for clients that accept it", async () => {
      const base = "/clusters/gzip/api/v1/namespaces/default/configmaps";
      const name = `big-${protocol}`;
      const body = JSON.stringify({
        metadata: { name },
        data: { k: "x".repeat(compressBytesMin) },
      });
      await ask(base, { method: "POST", body });
      const headers = { "accept-encoding": "deflate, gzip;q=0.5" };
      const plain = await ask(`${base}/${name}`);
      assert.equal(plain.headers["content-encoding"], undefined);
      for (const path of [`${base}/${name}`, base]) {
        const packed = await ask(path, { headers });
        assert.equal(packed.headers["content-encoding"], "gzip");
        assert.equal(packed.headers["vary"], "Accept-Encoding");
        assert.ok(packed.body.length < 10_000);
        assert.match(gunzipSync(packed.body).toString(), new RegExp(`"name":"${name}"`));
      }
      const small = await ask("/version", { headers });
      assert.equal(small.headers["content-encoding"], undefined);
      const declined = await ask(`${base}/${name}`, { headers: { "accept-encoding": "gzip;q=0" } });
      assert.equal(declined.headers["content-encoding"], undefined);
    });

    it("a list of many megabytes arrives complete, compressed or not", async () => {
      const base = `/clusters/large-${protocol}/api/v1/namespaces/default/configmaps`;
      for (let i = 0; i < 30; i++) {
        await server.test.requestOk("POST", base, {
          body: { metadata: { name: `x${i}` }, data: { k: String(i).repeat(100_000) } },
        });
      }
      const plain = await ask(base);
      const { items } = JSON.parse(plain.body.toString()) as { items: unknown[] };
      assert.equal(items.length, 30);
      const packed = await ask(base, { headers: { "accept-encoding": "gzip" } });
      assert.equal(gunzipSync(packed.body).toString(), plain.body.toString());
      const head = await ask(base, { method: "HEAD", headers: { "accept-encoding": "gzip" } });
      assert.equal(head.status, 200);
    });

    it("a token identifies its user, and an invalid one is a 401", async () => {
      assert.equal((await ask(configmaps, { user: "nobody" })).status, 403);
      assert.equal((await ask(configmaps, { user: "a" })).status, 200);
      const headers = { authorization: "Bearer wrong" };
      assert.equal((await ask("/version", { user: "anonymous", headers })).status, 401);
    });
  });
}

describe("watches over the wire", () => {
  it("HTTP/2 sends headers at once, events as they happen, never compressed", async () => {
    const session = server.session();
    const stream = session.request({
      ":path": "/clusters/w/api/v1/configmaps?watch=1",
      authorization: "Bearer token-of-admin",
      "accept-encoding": "gzip",
    });
    const [headers] = await once(stream, "response");
    assert.equal(headers["content-encoding"], undefined);
    const path = "/clusters/w/api/v1/namespaces/default/configmaps";
    for (const name of ["x", "y"]) {
      await server.http2(path, { method: "POST", body: `{"metadata":{"name":"${name}"}}` });
      const [part] = await once(stream, "data");
      assert.match(
        String(part),
        new RegExp(`^\\{"type":"ADDED","object":.*"name":"${name}".*\\}\n$`),
      );
    }
    stream.close();
    session.close();
  });

  it("HTTP/1.1 sends headers at once, events as they happen, never compressed", async () => {
    const socket = await server.raw();
    socket.write(
      "GET /clusters/v/api/v1/configmaps?watch=1 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer token-of-admin\r\naccept-encoding: gzip\r\n\r\n",
    );
    const [head] = await once(socket, "data");
    assert.match(String(head), /^HTTP\/1.1 200 OK\r\n/);
    assert.match(String(head), /transfer-encoding: chunked/i);
    assert.ok(!/content-encoding/i.test(String(head)));
    const path = "/clusters/v/api/v1/namespaces/default/configmaps";
    await server.http1(path, { method: "POST", body: '{"metadata":{"name":"x"}}' });
    const [part] = await once(socket, "data");
    assert.match(String(part), /"type":"ADDED"/);
    socket.destroy();
  });

  it("a thousand watches share one connection, and each gets the event", async () => {
    const session = server.session();
    const streams = Array.from({ length: 1000 }, (_, i) =>
      session.request({
        ":path": `/clusters/many/api/v1/configmaps?watch=1&labelSelector=l%3D${i % 2}`,
        authorization: "Bearer token-of-admin",
      }),
    );
    await Promise.all(streams.map((stream) => once(stream, "response")));
    const heard = streams.filter((_, i) => i % 2 === 1).map((stream) => once(stream, "data"));
    await server.test.requestOk("POST", "/clusters/many/api/v1/namespaces/default/configmaps", {
      body: { metadata: { name: "x", labels: { l: "1" } } },
    });
    await Promise.all(heard);
    session.destroy();
    await untilWatches(server.test, 0);
  });
});
