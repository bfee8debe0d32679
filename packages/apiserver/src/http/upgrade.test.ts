/**
 * Goal: a connection is handed over only when a handler accepts the upgrade; the bytes after an
 * upgrade request are never parsed as another request.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { after, describe, it, type TestContext } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { createTestAuthority } from "@kcp-ts/testkit";
import type { ApiRequest, ApiResponse } from "../request/api-request.ts";
import { Listener } from "./listener.ts";

const folder = mkdtempSync(join(tmpdir(), "kcp-upgrade-"));
after(() => rmSync(folder, { recursive: true }));
const authority = createTestAuthority(folder);
const { cert, key } = authority.issue("server", ["IP:127.0.0.1"]);
const tls = { certificatePem: cert, privateKeyPem: key };

const switched = { status: 101, headers: { connection: "Upgrade", upgrade: "echo" } } as const;

/**
 * Responds to `/echo` with the connection, and to everything else with the method, the target and
 * the length of the body.
 */
async function answer(
  request: ApiRequest,
  taken: (connection: Duplex) => void,
): Promise<ApiResponse> {
  if (request.target === "/echo") return { ...switched, body: undefined, onUpgrade: taken };
  const body = await request.readBody(1000);
  return {
    status: 200,
    headers: {},
    body: Buffer.from(`${request.method} ${request.target} ${body.length}`),
  };
}

async function started(t: TestContext, taken: (connection: Duplex) => void = echo) {
  const asked: string[] = [];
  const listener = new Listener({
    host: "127.0.0.1",
    port: 0,
    tls,
    handle: (request) => {
      asked.push(`${request.method} ${request.target}`);
      return answer(request, taken).catch((error: { status?: { code?: number } }) => ({
        status: error.status?.code ?? 500,
        headers: {},
        body: undefined,
      }));
    },
    onDebug: () => {},
  });
  const { port } = await listener.listen();
  t.after(() => listener.drain(AbortSignal.abort()));
  return { listener, port, asked };
}

function echo(connection: Duplex): void {
  connection.pipe(connection);
}

async function dialled(
  t: TestContext,
  port: number,
  client: { readonly cert?: string; readonly key?: string } = {},
): Promise<TLSSocket> {
  const socket = connect({
    ...client,
    host: "127.0.0.1",
    port,
    rejectUnauthorized: false,
    ALPNProtocols: ["http/1.1"],
  });
  t.after(() => socket.destroy());
  await new Promise((resolve) => socket.once("secureConnect", resolve));
  return socket;
}

/** Waits until the text has arrived, or the other side has ended. */
async function until(socket: TLSSocket, wanted: RegExp): Promise<string> {
  let text = "";
  for await (const part of socket.iterator({ destroyOnReturn: false })) {
    text += String(part);
    if (wanted.test(text)) break;
  }
  return text;
}

const ask = (target: string, more = "") =>
  `POST ${target} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n${more}\r\n`;

describe("a request for an upgrade", () => {
  it("gets the connection, and the bytes sent behind the request are the first to be read", async (t) => {
    const { port } = await started(t);
    const socket = await dialled(t, port);
    socket.write(`${ask("/echo", "Content-Length: 0\r\n")}early, `);
    const head = await until(socket, /early, $/);
    assert.match(head, /^HTTP\/1\.1 101 /);
    assert.match(head, /upgrade: echo/i);
    socket.write("late");
    assert.equal(await until(socket, /late$/), "late");
  });

  it("by a page of another site is refused with the browser's certificate, and reaches no handler", async (t) => {
    const { port, asked } = await started(t);
    const certificate = authority.issue("client", []);
    const statusOf = async (origin: string, client = certificate as object) => {
      const socket = await dialled(t, port, client);
      socket.write(ask("/echo", `Origin: ${origin}\r\n`));
      return (await until(socket, /\r\n\r\n/)).slice(9, 12);
    };
    assert.equal(await statusOf("https://evil.example"), "403");
    assert.equal(await statusOf("null"), "403");
    assert.deepEqual(asked, []);
    assert.equal(await statusOf("https://a"), "101");
    assert.equal(await statusOf("https://evil.example", {}), "101");
  });

  it("is answered like any other request when no handler accepts the upgrade, and the connection closes afterwards", async (t) => {
    const { port, asked } = await started(t);
    const socket = await dialled(t, port);
    socket.write(`${ask("/plain")}GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n`);
    const text = await until(socket, /never/);
    assert.match(text, /^HTTP\/1\.1 200 /);
    assert.match(text, /connection: close/i);
    assert.match(text, /POST \/plain 0$/);
    assert.deepEqual(asked, ["POST /plain"]);
  });

  it("has no body: bytes sent as one are neither read nor parsed as another request", async (t) => {
    for (const more of ["Content-Length: 40\r\n", "Transfer-Encoding: chunked\r\n"]) {
      const { port, asked } = await started(t);
      const socket = await dialled(t, port);
      socket.write(`${ask("/plain", more)}GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n`);
      assert.match(await until(socket, /never/), /^HTTP\/1\.1 400 /);
      assert.deepEqual(asked, ["POST /plain"]);
    }
  });

  it("does not delay the shutdown of the server: upgraded connections are closed", async (t) => {
    const ended = new Promise<void>((resolve) => {
      void (async () => {
        const { listener, port } = await started(t, (connection) => {
          connection.once("close", resolve);
          connection.resume();
        });
        const socket = await dialled(t, port);
        socket.write(ask("/echo"));
        await until(socket, /101/);
        await listener.drain(new AbortController().signal);
      })();
    });
    await ended;
  });
});
