import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, connect as netConnect, type Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import { gzipSync } from "node:zlib";
import { awakeGraceMs, type Clock } from "@kcp-ts/machinery/base";
import { FakeClock, flushEventLoop, freePorts } from "@kcp-ts/testkit";
import { isTransportError, type TransportRequest } from "../client/index.ts";
import {
  type Certificates,
  type Handler,
  makeCertificates,
  rawRelay,
  startHttp1Server,
  startHttp2Server,
  type TestServer,
} from "../fake-server/index.ts";
import { NodeTransport, type NodeTransportOptions } from "./node-transport.ts";
import { bodyBufferedBytesMax } from "./stream-body.ts";

let certificates: Certificates;
before(() => {
  certificates = makeCertificates();
});

const get: TransportRequest = { method: "GET", path: "/hello?x=1", headers: {} };

const echo: Handler = (request, response) => {
  const chunks: Uint8Array[] = [];
  request.on("data", (chunk: Uint8Array) => chunks.push(chunk));
  request.on("end", () => {
    const peer = (request.socket as TLSSocket).getPeerCertificate?.();
    const body = {
      version: request.httpVersion,
      method: request.method,
      url: request.url,
      user: peer?.subject?.CN,
      authorization: request.headers.authorization,
      groups: request.rawHeaders.filter(
        (_, i, all) => i % 2 === 1 && all[i - 1]?.toLowerCase() === "impersonate-group",
      ),
      body: Buffer.concat(chunks).toString(),
    };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  });
};

const resources: { close(): Promise<void> }[] = [];
after(async () => {
  for (const resource of resources.reverse()) await resource.close();
});

function transportTo(url: URL, options: Partial<NodeTransportOptions> = {}): NodeTransport {
  const transport = new NodeTransport({ url, tls: () => ({ ca: certificates.ca }), ...options });
  resources.push(transport);
  return transport;
}

async function serve(
  start: (certificates: Certificates, handler: Handler) => Promise<TestServer>,
  handler: Handler,
): Promise<TestServer> {
  const server = await start(certificates, handler);
  resources.push(server);
  return server;
}

async function ask(transport: NodeTransport, request: TransportRequest = get) {
  const response = await transport.send(request);
  return JSON.parse(await response.body.text()) as Record<string, unknown>;
}

for (const [name, start, version] of [
  ["HTTP/2", startHttp2Server, "2.0"],
  ["HTTP/1.1", startHttp1Server, "1.1"],
] as const) {
  describe(`NodeTransport over ${name}`, () => {
    it("sends method, path, headers and body, over the protocol that the server offers", async () => {
      const server = await serve(start, echo);
      const headers = { authorization: "Bearer t", "impersonate-group": ["a", "b"] };
      const answer = await ask(transportTo(server.url), {
        method: "POST",
        path: "/p?q=1",
        headers,
        body: '{"ä":1}',
      });
      assert.equal(answer["version"], version);
      assert.equal(answer["method"], "POST");
      assert.equal(answer["url"], "/p?q=1");
      assert.equal(answer["authorization"], "Bearer t");
      assert.deepEqual(answer["groups"], ["a", "b"]);
      assert.equal(answer["body"], '{"ä":1}');
    });

    it("serves many concurrent requests", async () => {
      const server = await serve(start, echo);
      const transport = transportTo(server.url);
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, i) => ask(transport, { ...get, path: `/${i}` })),
      );
      assert.deepEqual(
        answers.map(({ url }) => url),
        Array.from({ length: 50 }, (_, i) => `/${i}`),
      );
    });

    it("streams a body chunk by chunk and cancels it when the reader leaves", async () => {
      let gone: Promise<unknown> | undefined;
      const server = await serve(start, (_, response) => {
        response.writeHead(200);
        response.write("one\n");
        gone = once(response, "close");
      });
      const { body } = await transportTo(server.url).send(get);
      for await (const chunk of body) {
        assert.equal(Buffer.from(chunk).toString(), "one\n");
        break;
      }
      await gone;
    });

    it("aborts before and after the head with the signal's reason", async () => {
      const server = await serve(start, (request, response) => {
        if (request.url === "/silent") return;
        response.writeHead(200);
        response.write("x");
      });
      const transport = transportTo(server.url);
      const first = new AbortController();
      const silent = transport.send({ ...get, path: "/silent", signal: first.signal });
      await flushEventLoop(20);
      first.abort(new Error("enough"));
      await assert.rejects(silent, /enough/);

      const second = new AbortController();
      const { body } = await transport.send({ ...get, signal: second.signal });
      const iterator = body[Symbol.asyncIterator]();
      await iterator.next();
      second.abort(new Error("stop"));
      await assert.rejects(iterator.next(), /stop/);

      const aborted = AbortSignal.abort(new Error("never sent"));
      await assert.rejects(transport.send({ ...get, signal: aborted }), /never sent/);
    });

    it("reports a truncated body as an error", async () => {
      const server = await serve(start, (request, response) => {
        response.writeHead(200);
        response.write("half", () => {
          if ("stream" in request) (request.stream as { close(code: number): void }).close(2);
          else (request as { socket: Socket }).socket.destroy();
        });
      });
      const transport = transportTo(server.url);
      const { body } = await transport.send(get);
      await assert.rejects(body.text(), (error) => isTransportError(error, "connection-lost"));
      const again = await transport.send(get);
      await assert.rejects(
        async () => {
          for await (const _ of again.body) {
            // Read on.
          }
        },
        (error) => isTransportError(error, "connection-lost"),
      );
    });

    it("decompresses a body, and reports a truncated or corrupt one", async () => {
      const text = JSON.stringify(Array.from({ length: 20_000 }, (_, i) => `item-ä-${i}`));
      const packed = gzipSync(text);
      const server = await serve(start, (request, response) => {
        if (request.headers["accept-encoding"] !== "gzip") {
          response.writeHead(200);
          response.end(text);
          return;
        }
        response.writeHead(200, { "content-encoding": "gzip" });
        if (request.url === "/whole") response.end(packed);
        else if (request.url === "/broken") response.end(Buffer.alloc(100, 7));
        else if (request.url === "/short") response.end(packed.subarray(0, packed.length / 2));
        else response.write(packed.subarray(0, packed.length / 2), () => response.destroy());
      });
      const transport = transportTo(server.url);
      const read = async (path: string, from = transport) =>
        (await from.send({ ...get, path, mayBeLong: true })).body.text();
      assert.equal(await read("/whole"), text);
      assert.equal(await read("/plain", transportTo(server.url, { compression: false })), text);
      for (const path of ["/broken", "/short", "/cut"]) {
        await assert.rejects(read(path), (error) => isTransportError(error, "connection-lost"));
      }
      assert.equal(await read("/whole"), text, "the connection is still good");
    });

    it("cancels a compressed body in the middle, by its reader or by the signal", async () => {
      const packed = gzipSync("x".repeat(1000), { level: 0 });
      const closed: Promise<unknown>[] = [];
      const server = await serve(start, (_, response) => {
        response.writeHead(200, { "content-encoding": "gzip" });
        response.write(packed.subarray(0, 900));
        closed.push(once(response, "close"));
      });
      const transport = transportTo(server.url);
      for await (const chunk of (await transport.send(get)).body) {
        assert.equal(chunk[0], 0x78);
        break;
      }
      const stop = new AbortController();
      const { body } = await transport.send({ ...get, signal: stop.signal });
      const reading = assert.rejects(body.text(), /enough/);
      stop.abort(new Error("enough"));
      await reading;
      await Promise.all(closed);
    });

    it("reconnects when the server comes back", async () => {
      const first = await start(certificates, echo);
      const transport = transportTo(first.url);
      await ask(transport);
      await first.close();
      await flushEventLoop(20);
      await assert.rejects(ask(transport), (error) => isTransportError(error));
      const second = await start(certificates, echo, first.port);
      resources.push(second);
      await ask(transport);
    });

    it("applies back-pressure to a server that sends faster than the reader reads", async () => {
      const total = bodyBufferedBytesMax * 24;
      let written = 0;
      const server = await serve(start, (_, response) => {
        response.writeHead(200);
        const block = Buffer.alloc(1 << 16, "x");
        const pump = () => {
          while (written < total) {
            written += block.length;
            if (!response.write(block)) return void response.once("drain", pump);
          }
          response.end();
        };
        pump();
      });
      const { body } = await transportTo(server.url).send(get);
      const iterator = body[Symbol.asyncIterator]();
      let read = (await iterator.next()).value?.length ?? 0;
      await flushEventLoop(200);
      assert.ok(written < total, "the server was able to send everything to a reader that sleeps");
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
        read += next.value.length;
      }
      assert.equal(read, total);
    });

    it("rejects a certificate for another name unless serverName or insecureSkipVerify is set", async () => {
      const server = await serve(start, echo);
      const byAddress = new URL(`https://127.0.0.1:${server.port}`);
      const { ca } = certificates;
      await assert.rejects(ask(transportTo(byAddress)), { code: "connect" });
      await assert.rejects(ask(transportTo(server.url, { tls: () => ({}) })), { code: "connect" });
      await ask(transportTo(byAddress, { tls: () => ({ ca, serverName: "kubernetes" }) }));
      await ask(transportTo(byAddress, { tls: () => ({ insecureSkipVerify: true }) }));
    });

    it("fails requests after close with the code closed", async () => {
      const server = await serve(start, echo);
      const transport = transportTo(server.url);
      await ask(transport);
      await transport.close();
      await assert.rejects(transport.send(get), (error) => isTransportError(error, "closed"));
    });
  });
}

describe("NodeTransport", () => {
  it("presents a client certificate, and a new one on connections made after it changed", async () => {
    const server = await serve(startHttp2Server, echo);
    const { ca, clientCert: cert, clientKey: key } = certificates;
    let withCertificate = false;
    const transport = transportTo(server.url, {
      tls: () => (withCertificate ? { ca, cert, key } : { ca }),
    });
    assert.equal((await ask(transport))["user"], undefined);
    withCertificate = true;
    assert.equal((await ask(transport))["user"], undefined);
    transport.retire();
    assert.equal((await ask(transport))["user"], "alice");
  });

  it("ends the streams of a connection that does not respond to pings", async () => {
    const server = await serve(startHttp2Server, (_, response) =>
      response.writeHead(200).write("x"),
    );
    let frozen = false;
    const raw = await rawRelay(server.port, () => frozen);
    const clock = new FakeClock();
    const transport = transportTo(new URL(`https://localhost:${raw.port}`), { clock });
    const { body } = await transport.send(get);
    const iterator = body[Symbol.asyncIterator]();
    await iterator.next();
    const pending = iterator.next();
    clock.advance(30_000);
    await flushEventLoop(50);
    frozen = true;
    clock.advance(30_000);
    await flushEventLoop(20);
    clock.advance(15_000 + awakeGraceMs);
    await assert.rejects(pending, (error) => isTransportError(error, "connection-lost"));
    await raw.close();
  });

  it("does not treat its own suspension as that of the server", async () => {
    const answers: { write(text: string): unknown }[] = [];
    const server = await serve(startHttp2Server, (_, response) => {
      response.writeHead(200).write("x");
      answers.push(response);
    });
    const clock = new FakeClock();
    const transport = transportTo(server.url, { clock });
    const { body } = await transport.send(get);
    const iterator = body[Symbol.asyncIterator]();
    await iterator.next();
    for (let turn = 0; turn < 3; turn++) {
      const pending = iterator.next();
      // A suspended process: timers are due, and received bytes are not read yet.
      clock.advance(30_000 + 15_000);
      const other = await transport.send(get);
      answers[0]?.write("y");
      const { value } = await pending;
      assert.equal(Buffer.from(value ?? []).toString(), "y");
      await other.body[Symbol.asyncIterator]().return?.();
    }
    await iterator.return?.();
  });

  it("counts only the time in which the process ran", async () => {
    const server = await serve(startHttp2Server, (_, response) =>
      response.writeHead(200).write("x"),
    );
    let frozen = false;
    const raw = await rawRelay(server.port, () => frozen);
    const starved = new FakeClock();
    let lagMs = 0;
    const schedule: Clock["schedule"] = (delayMs, callback) =>
      starved.schedule(delayMs + lagMs, callback);
    const clock = { now: () => 0, monotonic: () => starved.monotonic(), schedule };
    const transport = transportTo(new URL(`https://localhost:${raw.port}`), { clock });
    const { body } = await transport.send(get);
    const iterator = body[Symbol.asyncIterator]();
    await iterator.next();
    const pending = iterator.next();
    const refused = assert.rejects(pending, (error) => isTransportError(error, "connection-lost"));
    frozen = true;
    lagMs = 5000;
    starved.advance(30_000 + 40_000);
    await flushEventLoop(50);
    assert.equal(await Promise.race([refused, "not over"]), "not over");
    lagMs = 0;
    starved.advance(60_000);
    await refused;
    await raw.close();
  });

  it("detects a dead connection although every request times out before the next ping", async () => {
    const server = await serve(startHttp2Server, echo);
    let frozen = false;
    const raw = await rawRelay(server.port, () => frozen);
    const clock = new FakeClock();
    const transport = transportTo(new URL(`https://localhost:${raw.port}`), { clock });
    await ask(transport);
    frozen = true;
    for (let i = 0; i < 3; i++) {
      const gracePeriods = new AbortController();
      const pending = transport.send({ ...get, signal: gracePeriods.signal });
      const refused = assert.rejects(pending);
      clock.advance(10_000);
      gracePeriods.abort(new Error("no answer"));
      await refused;
      await flushEventLoop(20);
    }
    frozen = false;
    assert.equal((await ask(transport))["version"], "2.0");
    await raw.close();
  });

  it("destroys a connection on which the server never begins the session, and opens another", async () => {
    let isMute = true;
    const { cert, key } = certificates;
    const server = await serve(startHttp2Server, echo);
    const sockets: Socket[] = [];
    // The server negotiates HTTP/2 and sends nothing: like a connection that dies right after the
    // handshake.
    const mute = createTlsServer({ cert, key, ALPNProtocols: ["h2"] }, (socket) => {
      sockets.push(socket);
      socket.on("error", () => socket.destroy());
    });
    await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
    const front = createServer((socket) => {
      const port = isMute ? (mute.address() as AddressInfo).port : server.port;
      const far = netConnect(port, "127.0.0.1");
      for (const one of [socket, far]) one.on("error", () => one.destroy());
      socket.pipe(far).pipe(socket);
    });
    await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
    const clock = new FakeClock();
    const { port } = front.address() as AddressInfo;
    const transport = transportTo(new URL(`https://localhost:${port}`), { clock });
    const pending = transport.send(get);
    const refused = assert.rejects(pending, (error) => isTransportError(error, "connect"));
    while (sockets.length === 0) await flushEventLoop();
    await flushEventLoop(20);
    clock.advance(30_000);
    await refused;
    isMute = false;
    assert.equal((await ask(transport))["version"], "2.0");
    for (const socket of sockets) socket.destroy();
    mute.close();
    front.close();
  });

  it("negotiates again when a server no longer speaks HTTP/2", async () => {
    const [port = 0] = await freePorts(1);
    const first = await startHttp2Server(certificates, echo, port);
    const transport = transportTo(first.url);
    assert.equal((await ask(transport))["version"], "2.0");
    await first.close();
    resources.push(await startHttp1Server(certificates, echo, port));
    await flushEventLoop(20);
    await assert.rejects(ask(transport), (error) => isTransportError(error, "refused"));
    assert.equal((await ask(transport))["version"], "1.1");
  });

  it("opens another session when the server's limit of streams is reached", async () => {
    let sessions = 0;
    const server = await startHttp2Server(
      certificates,
      (_, response) => {
        response.writeHead(200);
        response.write("x");
      },
      0,
      (http2) => {
        http2.updateSettings({ maxConcurrentStreams: 2 });
        http2.on("session", () => sessions++);
      },
    );
    resources.push(server);
    const transport = transportTo(server.url);
    const open = [];
    for (let i = 0; i < 5; i++) open.push(await transport.send(get));
    assert.equal(open.length, 5);
    assert.equal(sessions, 3);
    await transport.close();
  });

  it("connects through an HTTP proxy with the password of its URL", async () => {
    const server = await serve(startHttp2Server, echo);
    const asked: string[] = [];
    const proxy = createHttpServer();
    proxy.on("connect", (request, socket: Socket) => {
      asked.push(`${request.url} ${request.headers["proxy-authorization"]}`);
      if (request.headers["proxy-authorization"] === undefined) {
        socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
        return;
      }
      const upstream = netConnect(server.port, "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
        socket.pipe(upstream).pipe(socket);
      });
      for (const one of [socket, upstream]) one.on("error", () => socket.destroy());
    });
    proxy.listen(0, "127.0.0.1");
    await once(proxy, "listening");
    const { port } = proxy.address() as AddressInfo;
    const through = new URL(`http://me:s%20cret@127.0.0.1:${port}`);
    const transport = transportTo(server.url, { proxy: through });
    assert.equal((await ask(transport))["version"], "2.0");
    const basic = Buffer.from("me:s cret").toString("base64");
    assert.deepEqual(asked, [`localhost:${server.port} Basic ${basic}`]);

    const refused = transportTo(server.url, { proxy: new URL(`http://127.0.0.1:${port}`) });
    await assert.rejects(ask(refused), /answered 407 to CONNECT/);
    await transport.close();
    proxy.close();
  });

  it("speaks plain HTTP/1.1 to an http URL", async () => {
    const plain = createHttpServer((_, response) => response.end('{"plain":true}'));
    plain.listen(0, "127.0.0.1");
    await once(plain, "listening");
    const { port } = plain.address() as AddressInfo;
    const transport = transportTo(new URL(`http://127.0.0.1:${port}`));
    assert.deepEqual(await ask(transport), { plain: true });
    await transport.close();
    plain.close();
  });
});
