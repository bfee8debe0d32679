import assert from "node:assert/strict";
import { once } from "node:events";
import { get, type IncomingMessage, request } from "node:http";
import { type Duplex, PassThrough } from "node:stream";
import { afterEach, describe, it } from "node:test";
import { Client, InProcessTransport, type TransportRequest } from "@kcp-ts/sdk";
import { type ConsoleProxy, startConsoleProxy } from "./console-proxy.ts";

const running: ConsoleProxy[] = [];
afterEach(async () => {
  for (const proxy of running.splice(0)) await proxy.close();
});

interface Ask {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

async function setUp(body: string | AsyncIterable<Uint8Array> = "{}") {
  const seen: TransportRequest[] = [];
  const transport = new InProcessTransport((sent) => {
    seen.push(sent);
    return { status: 200, headers: { "content-type": "application/json" }, body };
  });
  const client = new Client({ transport, basePath: "/prefix/clusters/root:org" });
  const proxy = await startConsoleProxy({ client, port: 0 });
  running.push(proxy);
  const { port, pathname, search } = new URL(proxy.url);
  const ask = async ({ path = "/", method = "GET", headers = {}, body: sent }: Ask) => {
    const asking = request({ host: "127.0.0.1", port, path, method, headers });
    // The rest of a body that was refused is not read.
    asking.on("error", () => undefined);
    asking.end(sent);
    const [response] = (await once(asking, "response")) as [IncomingMessage];
    let text = "";
    for await (const chunk of response) text += String(chunk);
    return { status: response.statusCode, headers: response.headers, text };
  };
  const login = await ask({ path: pathname + search });
  const cookie = String(login.headers["set-cookie"]).split(";")[0] as string;
  return { seen, ask, login, cookie, port, origin: `http://127.0.0.1:${port}` };
}

const webSocketHeaders = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
  "sec-websocket-version": "13",
  "sec-websocket-protocol": "v5.channel.k8s.io",
};

/** A server that agrees to every WebSocket, and echoes. */
async function setUpWebSocket() {
  const seen: TransportRequest[] = [];
  const transport = {
    send: async () => {
      throw new Error("a WebSocket is no request");
    },
    upgrade: async (sent: TransportRequest) => {
      seen.push(sent);
      const headers = { upgrade: "websocket", "sec-websocket-protocol": "v5.channel.k8s.io" };
      return { status: 101, headers, connection: new PassThrough() } as const;
    },
    close: async () => undefined,
  };
  const client = new Client({ transport, basePath: "/prefix/clusters/root" });
  const proxy = await startConsoleProxy({ client, port: 0 });
  running.push(proxy);
  const { port, searchParams } = new URL(proxy.url);
  const cookie = `kcp-console-${port}=${searchParams.get("secret")}`;
  const ask = (path: string, headers: Readonly<Record<string, string>>) => {
    const asking = request({
      host: "127.0.0.1",
      port,
      path,
      headers: { ...webSocketHeaders, ...headers },
    });
    asking.end();
    return asking;
  };
  const open = async (path: string, headers: Readonly<Record<string, string>>) =>
    (await once(ask(path, headers), "upgrade")) as [IncomingMessage, Duplex];
  const refused = async (headers: Readonly<Record<string, string>>) => {
    const [response] = (await once(ask("/clusters/root/api", headers), "response")) as [
      IncomingMessage,
    ];
    response.resume();
    return response.statusCode;
  };
  return { seen, cookie, origin: `http://127.0.0.1:${port}`, open, refused };
}

describe("the proxy of kcp console", () => {
  it("the printed address sets a cookie that scripts and other sites do not get", async () => {
    const { login } = await setUp();
    assert.equal(login.status, 303);
    assert.equal(login.headers.location, "/console/");
    assert.match(String(login.headers["set-cookie"]), /HttpOnly; SameSite=Strict/);
  });

  it("requests with the cookie are sent on below the prefix, without foreign headers", async () => {
    const { ask, cookie, seen, origin } = await setUp('{"kind":"Status"}');
    const headers = {
      cookie,
      origin,
      "sec-fetch-site": "same-origin",
      "content-type": "application/yaml",
      authorization: "Bearer stolen",
      "impersonate-user": "admin",
    };
    const path = "/clusters/root/api/v1/namespaces/default/configmaps?dryRun=All";
    const response = await ask({ path, method: "POST", headers, body: "a: b" });
    assert.deepEqual([response.status, response.text], [200, '{"kind":"Status"}']);
    // The answer of a mount may be a page: it runs nothing at this origin.
    assert.match(String(response.headers["content-security-policy"]), /^sandbox;/);
    assert.equal(seen[0]?.path, `/prefix${path}`);
    assert.deepEqual(seen[0]?.headers, { "content-type": "application/yaml" });
    assert.equal(Buffer.from(seen[0]?.body as Uint8Array).toString(), "a: b");
  });

  it("requests without the cookie, of other hosts and of other sites do not pass", async () => {
    const { ask, cookie, seen, port } = await setUp();
    const path = "/clusters/root/api/v1/secrets";
    for (const [status, headers] of [
      [401, {}],
      [401, { cookie: `kcp-console-${port}=guess` }],
      [421, { cookie, host: `evil.example:${port}` }],
      [421, { cookie, host: "127.0.0.1" }],
      [403, { cookie, origin: "http://evil.example" }],
      [403, { cookie, origin: `http://127.0.0.1:${port + 1}` }],
      [403, { cookie, origin: "null" }],
      [403, { cookie, "sec-fetch-site": "cross-site" }],
      [403, { cookie, "sec-fetch-site": "same-site" }],
    ] as const)
      assert.equal((await ask({ path, headers })).status, status, JSON.stringify(headers));
    assert.equal((await ask({ path: "/login?secret=guess" })).status, 401);
    assert.deepEqual(seen, []);
  });

  it("the page itself needs the cookie, and learns that it needs no login", async () => {
    const { ask, cookie } = await setUp();
    assert.equal((await ask({ path: "/console/config.json" })).status, 401);
    const { text, headers } = await ask({ path: "/console/config.json", headers: { cookie } });
    assert.deepEqual(JSON.parse(text), { authentication: "proxy", workspace: "root:org" });
    assert.match(String(headers["content-security-policy"]), /default-src 'none'/);
  });

  it("a watch is passed on as it comes, and ends when the page leaves", async () => {
    async function* events() {
      yield Buffer.from("first\n");
      await new Promise(() => undefined);
    }
    const stream = events();
    const { cookie, port, seen } = await setUp(stream);
    const asking = get({ host: "127.0.0.1", port, path: "/api?watch=true", headers: { cookie } });
    const [response] = (await once(asking, "response")) as [IncomingMessage];
    const [chunk] = await once(response, "data");
    assert.equal(String(chunk), "first\n");
    asking.destroy();
    await once(seen[0]?.signal as AbortSignal, "abort");
  });

  it("a WebSocket of the page is passed on, with no header of the page but its own", async () => {
    const { cookie, origin, open, seen } = await setUpWebSocket();
    const headers = { cookie, origin, authorization: "Bearer stolen", "impersonate-user": "admin" };
    const [response, connection] = await open("/clusters/root/api?command=sh", headers);
    assert.equal(response.statusCode, 101);
    assert.equal(response.headers["sec-websocket-protocol"], "v5.channel.k8s.io");
    connection.write("ping");
    assert.equal(String((await once(connection, "data"))[0]), "ping");
    assert.equal(seen[0]?.path, "/prefix/clusters/root/api?command=sh");
    assert.deepEqual(Object.keys(seen[0]?.headers ?? {}).sort(), [
      "connection",
      "sec-websocket-key",
      "sec-websocket-protocol",
      "sec-websocket-version",
      "upgrade",
    ]);
    connection.destroy();
  });

  it("a WebSocket of another site, or of no page, or without the cookie, does not pass", async () => {
    const { cookie, origin, refused, seen } = await setUpWebSocket();
    for (const [status, headers] of [
      [401, { origin }],
      [403, { cookie }],
      [403, { cookie, origin: "http://evil.example" }],
      [403, { cookie, origin, "sec-fetch-site": "cross-site" }],
      [421, { cookie, origin, host: "evil.example" }],
    ] as const)
      assert.equal(await refused(headers), status, JSON.stringify(headers));
    assert.deepEqual(seen, []);
  });

  it("a body that no server would take is refused", async () => {
    const { ask, cookie, seen } = await setUp();
    const body = "x".repeat(4 << 20);
    const response = await ask({ path: "/api", method: "POST", headers: { cookie }, body });
    assert.equal(response.status, 413);
    assert.deepEqual(seen, []);
  });
});
