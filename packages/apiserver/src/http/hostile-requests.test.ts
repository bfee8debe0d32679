/**
 * Invalid input over real sockets gets the Status of Kubernetes or a closed connection, costs
 * little, and the server still responds afterwards.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { constants } from "node:http2";
import { after, afterEach, before, describe, it } from "node:test";
import { bodyBytesMax } from "../handlers/index.ts";
import { ListeningServer, readToEnd } from "../testing/index.ts";

const configmaps = "/clusters/a/api/v1/namespaces/default/configmaps";
const authorization = "Bearer token-of-admin";

let server: ListeningServer;
before(async () => {
  server = await ListeningServer.start();
});
afterEach(async () => {
  for (const answer of [await server.http1("/readyz"), await server.http2("/readyz")]) {
    assert.equal(answer.body.toString(), "ok");
  }
  const errors = server.test.logged.splice(0).filter(({ level }) => level === "error");
  assert.deepEqual(
    errors.map(({ message, fields }) => `${message}: ${JSON.stringify(fields)}`),
    [],
  );
});
after(() => server.close());

function sized(bytes: number): string {
  const head = '{"metadata":{"name":"sized"},"ignored":"';
  return `${head}${"x".repeat(bytes - head.length - 2)}"}`;
}

for (const protocol of ["http1", "http2"] as const) {
  describe(`${protocol}: bad requests`, () => {
    const ask: ListeningServer["http1"] = (path, options) => server[protocol](path, options);
    const statusOf = async (path: string, options: Parameters<typeof ask>[1]) => {
      const answer = await ask(path, options);
      const object = JSON.parse(answer.body.toString()) as { kind: string; code: number };
      assert.equal(object.kind, "Status");
      assert.equal(object.code, answer.status);
      return object as { kind: string; code: number; reason: string; message: string };
    };

    it("a body of 3 MiB is read, a body of one byte more is a 413", async () => {
      const fits = await ask(`${configmaps}?dryRun=All&fieldValidation=Ignore`, {
        method: "POST",
        body: sized(bodyBytesMax),
      });
      assert.equal(fits.status, 201, fits.body.toString());
      const over = await statusOf(configmaps, { method: "POST", body: sized(bodyBytesMax + 1) });
      assert.equal(over.code, 413);
      assert.equal(over.reason, "RequestEntityTooLarge");
      assert.equal(over.message, "Request entity too large: limit is 3145728");
    });

    it("wrong methods are a 405 or a 404", async () => {
      assert.equal((await statusOf(configmaps, { method: "OPTIONS" })).code, 405);
      assert.equal((await statusOf(`${configmaps}/x`, { method: "POST" })).code, 405);
      assert.equal((await statusOf("/version", { method: "DELETE" })).code, 404);
    });

    it("a body that is not JSON, not YAML or not UTF-8 is a 400", async () => {
      const bodies: [type: string, body: string | Buffer][] = [
        ["application/json", "{"],
        ["application/json", Buffer.from([0xff, 0xfe, 0x00])],
        ["application/json", "[".repeat(1_000_000)],
        ["application/yaml", "a: [b"],
        ["application/yaml", Buffer.from([0x61, 0x3a, 0x20, 0xc3, 0x28])],
        ["application/vnd.kubernetes.protobuf", "nonsense"],
      ];
      for (const [type, body] of bodies) {
        const headers = { "content-type": type };
        assert.equal(
          (await statusOf(configmaps, { method: "POST", headers, body })).code,
          400,
          type,
        );
      }
    });

    it("malformed paths are a 400 or a 404", async () => {
      for (const path of [
        "/api/v1/namespaces/%2e%2e/secrets",
        "/clusters/%00/api",
        "/api/v1/%ff",
      ]) {
        assert.equal((await statusOf(path, {})).code, 400, path);
      }
      assert.equal((await statusOf(`/${"x/".repeat(3000)}`, {})).code, 404);
    });

    it("absurd queries get a response", async () => {
      for (const query of [
        `labelSelector=${"a,".repeat(2000)}`,
        `fieldSelector=${"metadata.name=x,".repeat(400)}`,
        `continue=${"A".repeat(8000)}`,
        "limit=-9223372036854775808",
        "timeoutSeconds=9223372036854775807",
        `timeout=${"1h".repeat(3000)}`,
      ]) {
        const answer = await ask(`${configmaps}?${query}`);
        assert.ok(answer.status < 500, `${query.slice(0, 30)}: ${answer.status}`);
      }
    });
  });
}

describe("bodies over HTTP/1.1", () => {
  const head = `POST ${configmaps} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n`;

  it("a body whose announced length is too large is rejected before it is sent, and the connection closed", async () => {
    const socket = await server.raw();
    const reading = readToEnd(socket);
    socket.write(`${head}content-length: ${bodyBytesMax + 1}\r\n\r\n`);
    const text = await reading;
    assert.match(text, /^HTTP\/1.1 413 /);
    assert.match(text, /connection: close/i);
  });

  it("a chunked body that exceeds the limit is rejected at the limit, and the connection closed", async () => {
    const socket = await server.raw();
    const reading = readToEnd(socket);
    socket.write(`${head}transfer-encoding: chunked\r\n\r\n`);
    const piece = "x".repeat(64 << 10);
    for (let sent = 0; sent <= bodyBytesMax; sent += piece.length) {
      socket.write(`${piece.length.toString(16)}\r\n${piece}\r\n`);
    }
    const text = await reading;
    assert.match(text, /^HTTP\/1.1 413 /);
  });

  it("a body that stops in the middle is released with its connection", async () => {
    const socket = await server.raw();
    socket.write(`${head}content-length: 1000\r\n\r\n{"metadata":`);
    await inFlight(1);
    socket.destroy();
    await inFlight(0);
  });

  it("a client that half-closes its connection still gets its response", async () => {
    const socket = await server.raw();
    const reading = readToEnd(socket);
    socket.end("GET /version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    assert.match(await reading, /"gitVersion"/);
  });

  const garbage: [title: string, bytes: string][] = [
    ["no HTTP", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 garbage \r\n\r\n"],
    ["a bad request line", "GET /\r\n\r\n"],
    ["an unknown version", "GET / HTTP/9.9\r\n\r\n"],
    ["two lengths", `${head}content-length: 5\r\ncontent-length: 6\r\n\r\n{}`],
    [
      "length and chunks",
      `${head}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ["a bad chunk", `${head}transfer-encoding: chunked\r\n\r\nzz\r\n`],
    ["a header with a line break", "GET / HTTP/1.1\r\nhost: x\r\na\nb: c\r\n\r\n"],
    ["headers without end", `GET / HTTP/1.1\r\n${"x: y\r\n".repeat(20_000)}`],
    ["a header of 1 MiB", `GET / HTTP/1.1\r\nhost: x\r\nx: ${"y".repeat(1 << 20)}\r\n\r\n`],
    ["CONNECT", "CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n"],
    ["HTTP/2 where HTTP/1.1 was agreed", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  ];
  for (const [title, bytes] of garbage) {
    it(`${title}: the connection is closed, with a 4xx or without a word`, async () => {
      const socket = await server.raw();
      const reading = readToEnd(socket);
      socket.write(bytes);
      assert.match(await reading, /^(HTTP\/1.1 (4\d\d|505) |$)/);
    });
  }

  it("pipelined requests are answered in their order", async () => {
    const socket = await server.raw();
    const reading = readToEnd(socket);
    const get = (path: string, more = "") => `GET ${path} HTTP/1.1\r\nhost: x\r\n${more}\r\n`;
    socket.write(get("/livez") + get("/version") + get("/nothing", "connection: close\r\n"));
    const codes = [...(await reading).matchAll(/HTTP\/1.1 (\d+)/g)].map(([, code]) => code);
    assert.deepEqual(codes, ["200", "200", "403"]);
  });

  it("a body behind a rejected request is not read as the next request", async () => {
    const socket = await server.raw();
    const reading = readToEnd(socket);
    const smuggled =
      "DELETE /clusters/a/api/v1/namespaces/default/configmaps HTTP/1.1\r\nhost: x\r\n";
    const body = `${smuggled}authorization: ${authorization}\r\n\r\n`;
    const target = "POST /clusters/a/api/v1/namespaces/default/pods HTTP/1.1\r\nhost: x\r\n";
    socket.write(`${target}content-length: ${body.length + 10}\r\n\r\n${body}`);
    assert.deepEqual((await reading).match(/HTTP\/1.1 \d+/g), ["HTTP/1.1 403"]);
  });
});

describe("bodies over HTTP/2", () => {
  const headers = { ":method": "POST", ":path": configmaps, authorization };

  it("an endless body is rejected at the limit, and its stream reset", async () => {
    const session = server.session();
    const stream = session.request(headers);
    stream.on("error", () => {});
    let sent = 0;
    const piece = Buffer.alloc(64 << 10, "x");
    const pump = () => {
      while (!stream.closed && !stream.destroyed && stream.writable && sent < 64 << 20) {
        sent += piece.length;
        if (!stream.write(piece)) return void stream.once("drain", pump);
      }
    };
    pump();
    const [answered] = await once(stream, "response");
    assert.equal(answered[":status"], 413);
    stream.resume();
    await once(stream, "close");
    assert.equal(stream.rstCode, constants.NGHTTP2_NO_ERROR);
    assert.ok(sent < 8 << 20, `${sent} bytes were taken`);
    session.destroy();
  });

  it("a body whose announced length is too large is rejected before it is sent", async () => {
    const session = server.session();
    const stream = session.request({ ...headers, "content-length": String(bodyBytesMax + 1) });
    stream.on("error", () => {});
    const [answered] = await once(stream, "response");
    assert.equal(answered[":status"], 413);
    session.destroy();
  });

  it("a body that is cancelled in the middle is released", async () => {
    const session = server.session();
    const stream = session.request(headers);
    stream.on("error", () => {});
    stream.write('{"metadata":');
    await inFlight(1);
    stream.close(constants.NGHTTP2_CANCEL);
    await inFlight(0);
    session.destroy();
  });

  it("hundreds of unfinished bodies are released with their connection", async () => {
    const session = server.session();
    for (let i = 0; i < 500; i++) {
      const stream = session.request(headers);
      stream.on("error", () => {});
      stream.write("{");
    }
    await inFlight(500);
    session.destroy();
    await inFlight(0);
  });

  it("a body that never ends is rejected when its timeout passes", async () => {
    const session = server.session();
    const stream = session.request({ ...headers, ":path": `${configmaps}?timeout=5s` });
    stream.on("error", () => {});
    stream.write('{"metadata":');
    await inFlight(1);
    server.test.clock.advance(5000);
    const [answered] = await once(stream, "response");
    assert.equal(answered[":status"], 504);
    let text = "";
    for await (const part of stream) text += String(part);
    assert.match(text, /"reason":"Timeout"/);
    await inFlight(0);
    session.destroy();
  });
});

/** Waits until this many writes are in flight. */
async function inFlight(count: number): Promise<void> {
  const pattern = /^apiserver_current_inflight_requests\{request_kind="mutating"\} (\d+)$/m;
  for (;;) {
    const { text } = await server.test.get("/metrics");
    if (Number(pattern.exec(text)?.[1]) === count) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
