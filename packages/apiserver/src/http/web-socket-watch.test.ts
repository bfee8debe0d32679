/** Watches over WebSockets: one event per message, and the same end as any other watch. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import type { TLSSocket } from "node:tls";
import { ListeningServer, untilWatches } from "../testing/index.ts";

const configmaps = "/clusters/a/api/v1/namespaces/default/configmaps";
const key = "dGhlIHNhbXBsZSBub25jZQ==";
let server: ListeningServer;

before(async () => {
  server = await ListeningServer.start();
  for (const name of ["one", "two"])
    await server.test.requestOk("POST", configmaps, { body: { metadata: { name } } });
});
after(() => server.close());

interface Message {
  readonly code: number;
  readonly text: string;
}

/** A client that reads frames one by one. */
class Socket {
  readonly #socket: TLSSocket;
  #held = Buffer.alloc(0);
  #onMore = () => {};
  head = "";

  constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.on("data", (part: Buffer) => {
      this.#held = Buffer.concat([this.#held, part]);
      this.#onMore();
    });
    socket.on("close", () => this.#onMore());
  }

  static async open(
    path: string,
    more = "",
    authorization = "authorization: Bearer token-of-admin\r\n",
  ): Promise<Socket> {
    const socket = new Socket(await server.raw());
    socket.#socket.write(
      `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${authorization}connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${key}\r\n${more}\r\n`,
    );
    while (!socket.#held.includes("\r\n\r\n")) await socket.#more();
    const end = socket.#held.indexOf("\r\n\r\n") + 4;
    socket.head = socket.#held.subarray(0, end).toString();
    socket.#held = socket.#held.subarray(end);
    return socket;
  }

  async next(): Promise<Message> {
    for (;;) {
      const [first, short] = [this.#held[0] ?? 0, this.#held[1] ?? 0];
      const start = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (this.#held.length >= start) {
        const length =
          short < 126
            ? short
            : short === 126
              ? this.#held.readUInt16BE(2)
              : Number(this.#held.readBigUInt64BE(2));
        if (this.#held.length >= start + length) {
          const text = this.#held.subarray(start, start + length).toString("latin1");
          this.#held = this.#held.subarray(start + length);
          // Long messages come in fragments, all but the first of which are continuation frames.
          if (first < 0x80) return { code: first & 15, text: text + (await this.#rest()) };
          return { code: first & 15, text };
        }
      }
      await this.#more();
    }
  }

  async #rest(): Promise<string> {
    const { code, text } = await this.next();
    assert.equal(code, 0, "a fragment continues a message");
    return text;
  }

  async event(): Promise<string> {
    const { code, text } = await this.next();
    assert.equal(code, 1, "events are text");
    const { type, object } = JSON.parse(text) as {
      type: string;
      object: { metadata: { name?: string } };
    };
    return `${type} ${object.metadata.name ?? ""}`;
  }

  /** Masked, as clients send. */
  send(code: number, text: string): void {
    const mask = [1, 2, 3, 4];
    const payload = Buffer.from(text).map((byte, at) => byte ^ (mask[at % 4] as number));
    this.raw(Buffer.from([0x80 | code, 0x80 | payload.length, ...mask, ...payload]));
  }

  raw(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  async closed(): Promise<void> {
    if (!this.#socket.destroyed) await once(this.#socket, "close");
  }

  leave(): void {
    this.#socket.destroy();
  }

  async #more(): Promise<void> {
    if (this.#socket.destroyed) throw new Error(`it is closed: ${this.#held.toString()}`);
    await new Promise<void>((resolve) => {
      this.#onMore = resolve;
    });
  }
}

describe("a watch over a WebSocket", () => {
  it("has one event in each message, large events too", async () => {
    const socket = await Socket.open(`${configmaps}?watch=1`);
    assert.match(socket.head, /^HTTP\/1\.1 101 /);
    assert.match(socket.head, /\r\nsec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\n/i);
    assert.deepEqual([await socket.event(), await socket.event()], ["ADDED one", "ADDED two"]);
    for (const name of ["three", "four"])
      await server.test.requestOk("POST", configmaps, { body: { metadata: { name } } });
    const body = { metadata: { name: "large" }, data: { a: "x".repeat(200_000) } };
    await server.test.requestOk("POST", configmaps, { body });
    const seen = [await socket.event(), await socket.event(), await socket.event()];
    assert.deepEqual(seen, ["ADDED three", "ADDED four", "ADDED large"]);
    socket.leave();
  });

  it("ends at its timeout, with a close frame", async () => {
    const socket = await Socket.open(`${configmaps}?watch=1&timeoutSeconds=5&resourceVersion=1`);
    server.test.clock.advance(6000);
    let message = await socket.next();
    while (message.code === 1) message = await socket.next();
    assert.deepEqual(message, { code: 8, text: "\x03\xe8" });
    await socket.closed();
  });

  it("ends when its client closes or disconnects, and leaves nothing behind", async () => {
    const path = `${configmaps}?watch=1`;
    const [polite, rude] = [await Socket.open(path), await Socket.open(path)];
    await untilWatches(server.test, 2);
    polite.send(8, "");
    await polite.closed();
    rude.leave();
    await untilWatches(server.test, 0);
  });

  it("answers pings, and ignores other frames", async () => {
    const socket = await Socket.open(`${configmaps}?watch=1&fieldSelector=metadata.name=one`);
    assert.equal(await socket.event(), "ADDED one");
    socket.send(1, "hello");
    socket.send(9, "are you there");
    assert.deepEqual(await socket.next(), { code: 10, text: "are you there" });
    socket.leave();
  });

  it("is ended by frames that no client may send", async () => {
    for (const [bytes, status] of [
      [[0x81, 0x01, 0x61], "\x03\xea"],
      [[0x82, 0xff, 0, 0, 0, 0, 1, 0, 0, 0], "\x03\xf1"],
    ] as const) {
      const socket = await Socket.open(`${configmaps}?watch=1&fieldSelector=metadata.name=none`);
      socket.raw(Buffer.from(bytes));
      assert.deepEqual(await socket.next(), { code: 8, text: status });
      await socket.closed();
    }
  });

  it("reports the agreed subprotocol, and rejects several subprotocols", async () => {
    const path = `${configmaps}?watch=1`;
    const token = "base64url.bearer.authorization.k8s.io.abc";
    const one = await Socket.open(
      path,
      `sec-websocket-protocol: ${token}, base64.binary.k8s.io\r\n`,
    );
    assert.match(one.head, /\r\nsec-websocket-protocol: base64\.binary\.k8s\.io\r\n/i);
    one.leave();
    const two = await Socket.open(path, "sec-websocket-protocol: a, b\r\n");
    assert.match(two.head, /^HTTP\/1\.1 400 /);
    two.leave();
  });

  it("is authenticated by the token in its subprotocols, which browsers can send", async () => {
    const path = `${configmaps}?watch=1&fieldSelector=metadata.name=one`;
    const offer = (protocols: string) => `sec-websocket-protocol: ${protocols}\r\n`;
    const token = (text: string) =>
      `base64url.bearer.authorization.k8s.io.${Buffer.from(text).toString("base64url")}`;
    const admin = token("token-of-admin");
    const socket = await Socket.open(path, offer(`${admin}, base64.binary.k8s.io`), "");
    assert.equal(await socket.event(), "ADDED one");
    socket.leave();
    for (const [protocols, status] of [
      [`${token("token-of-nobody-known")}, base64.binary.k8s.io`, 401],
      ["base64.binary.k8s.io", 403],
      // The server would have no subprotocol to select.
      [admin, 401],
      [`${admin}, ${admin}, base64.binary.k8s.io`, 401],
      [`${admin}=, base64.binary.k8s.io`, 401],
      [`${token("a b")}, base64.binary.k8s.io`, 401],
    ] as const) {
      const refused = await Socket.open(path, offer(protocols), "");
      assert.match(refused.head, new RegExp(`^HTTP/1\\.1 ${status} `), protocols);
      refused.leave();
    }
  });

  it("has no token from the subprotocols of a request that is no WebSocket", async () => {
    const encoded = Buffer.from("token-of-admin").toString("base64url");
    const headers = {
      "sec-websocket-protocol": `base64url.bearer.authorization.k8s.io.${encoded}, a`,
    };
    const response = await server.test.request("GET", configmaps, { headers, user: "anonymous" });
    assert.equal(response.status, 403, "the user is anonymous");
  });

  it("is rejected like other watches", async () => {
    const socket = await Socket.open(`${configmaps}?watch=1&resourceVersion=nonsense`);
    assert.match(socket.head, /^HTTP\/1\.1 (400|422) /);
    socket.leave();
    const list = await Socket.open(configmaps);
    assert.match(list.head, /^HTTP\/1\.1 200 /);
    list.leave();
  });
});
