/**
 * Goal: sessions (exec, attach, port-forward) work through a mounted workspace as anywhere else,
 * and carry no header by which a tenant could become another user, or reach another server.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { after, before, describe, it, type TestContext } from "node:test";
import { connect as dial, type TLSSocket } from "node:tls";
import type { UserInfo } from "@kcp-ts/apiserver";
import { type Client, connect, isUpgraded, parseKubeconfig } from "@kcp-ts/sdk";
import { clientHandshake } from "@kcp-ts/sdk/websocket";
import { mountWorkspace } from "@kcp-ts/testing/internal";
import { eventually } from "@kcp-ts/testkit";
import { RemoteServer } from "./remote-server.ts";
import { alice, bob, master, WorkspaceFixture } from "./workspace-fixture.ts";

const execPath = "/api/v1/namespaces/default/pods/p/exec?command=ls&stdout=true";
const websocket = () =>
  ({ ...clientHandshake(["v5.channel.k8s.io"]).headers }) as Record<string, string>;
const spdy: Record<string, string> = {
  connection: "Upgrade",
  upgrade: "SPDY/3.1",
  "x-stream-protocol-version": "v4.channel.k8s.io",
};

/** Everything that comes until the text is there, or the other side has ended. */
async function readUntil(stream: Duplex, wanted: RegExp): Promise<string> {
  let text = "";
  for await (const part of stream.iterator({ destroyOnReturn: false })) {
    text += String(part);
    if (wanted.test(text)) break;
  }
  return text;
}

describe("a session through a mount of another server", () => {
  let fixture: WorkspaceFixture;
  let far: RemoteServer;
  const closing: (() => Promise<void>)[] = [];

  before(async () => {
    const started = await RemoteServer.start();
    far = started.far;
    fixture = await WorkspaceFixture.start({
      mounts: { caPem: started.caPem, allowedHosts: [far.host] },
    });
    await fixture.workspace("root", "org", { user: master });
    await fixture.grant("root:org", alice, ["cluster-admin"]);
    const org = fixture.at("root:org", alice);
    await mountWorkspace(org, "far", far.url);
  });
  after(async () => {
    for (const close of closing) await close();
    await fixture.close();
    await far.close();
  });

  /** Over the network. */
  async function clientOf(user: UserInfo, cluster = "root:org:far", of = fixture): Promise<Client> {
    const kubeconfig = await of.plane.kubeconfig({ cluster, user });
    const connection = connect(parseKubeconfig(kubeconfig, { trust: "inline" }));
    closing.push(() => connection.close());
    return connection.client;
  }

  async function opened(client: Client, path: string, headers: Record<string, string>) {
    const response = await client.upgrade({ method: "POST", path, headers });
    assert.ok(isUpgraded(response), `status ${response.status}`);
    return { headers: response.headers, connection: response.connection as Duplex };
  }

  for (const [name, headers] of [
    ["WebSocket", websocket()],
    ["SPDY", spdy],
  ] as const) {
    it(`speaks ${name} both ways, from the first byte on`, async () => {
      const client = await clientOf(alice);
      const { connection, headers: said } = await opened(client, execPath, { ...headers });
      connection.write("ping");
      assert.equal(await readUntil(connection, /ping/), "hello ping");
      connection.destroy();
      assert.equal(String(said["upgrade"]).toLowerCase(), headers["upgrade"]?.toLowerCase());
      assert.equal(said["set-cookie"], undefined);
      assert.equal(said["location"], undefined);
      assert.equal(far.last.url, `/far${execPath}`);
      assert.equal(far.last.method, "POST");
      await eventually(async () => assert.equal(far.sessions.size, 0));
    });
  }

  it("tells who asks, and neither by what they proved it nor what they say of themselves", async () => {
    const client = await clientOf(alice);
    const { connection } = await opened(client, execPath, {
      ...websocket(),
      "sec-websocket-protocol":
        "base64url.bearer.authorization.k8s.io.c2VjcmV0, v5.channel.k8s.io, BASE64URL.bearer.authorization.k8s.io.eA",
      "sec-websocket-extensions": "permessage-deflate",
      "x-remote-user": "system:admin",
      "x-remote-group": "system:masters",
      "x-remote-extra-scopes": "cluster:root",
      "x-forwarded-for": "10.0.0.1",
      "x-stream-protocol-version": "v4.channel.k8s.io",
      cookie: "session=1",
    });
    connection.destroy();
    const { headers } = far.last;
    assert.equal(headers["x-remote-user"], "alice");
    assert.equal(headers["x-remote-group"], "system:authenticated");
    assert.equal(headers["sec-websocket-protocol"], "v5.channel.k8s.io");
    const known = [
      ...["accept", "connection", "content-length", "content-type", "host"],
      ...["sec-websocket-key", "sec-websocket-protocol", "sec-websocket-version"],
      ...["transfer-encoding", "upgrade", "user-agent", "x-remote-group", "x-remote-user"],
    ];
    assert.deepEqual(
      Object.keys(headers).filter((one) => !known.includes(one)),
      [],
    );
  });

  it("does not become another user's session by impersonation headers", async () => {
    const before = far.received.length;
    const client = await clientOf(alice);
    const headers = { ...websocket(), "impersonate-user": "bob" };
    const response = await client.upgrade({ method: "GET", path: execPath, headers });
    assert.equal(response.status, 403);
    assert.equal(far.received.length, before);
  });

  it("is closed to those who may not enter where it is mounted, and they do not learn of it", async () => {
    const before = far.received.length;
    const ask = async (cluster: string) => {
      const client = await clientOf(bob, cluster);
      const response = await client.upgrade({
        method: "GET",
        path: execPath,
        headers: websocket(),
      });
      assert.ok(!isUpgraded(response));
      return { status: response.status, text: await response.body.text() };
    };
    const [there, nowhere] = [await ask("root:org:far"), await ask("root:org:none")];
    assert.deepEqual(there, nowhere);
    assert.equal(there.status, 403);
    assert.equal(far.received.length, before);
  });

  it("that is refused there is refused here, in the words of the other server", async () => {
    const client = await clientOf(alice);
    const path = "/api/v1/namespaces/refused/pods/p/exec?command=ls";
    const response = await client.upgrade({ method: "GET", path, headers: websocket() });
    assert.ok(!isUpgraded(response));
    assert.equal(response.status, 403);
    assert.equal(await response.body.text(), "no, sir");
  });

  it("is not opened when the other server selects a protocol that the client did not offer", async () => {
    const client = await clientOf(alice);
    const path = "/api/v1/namespaces/other/pods/p/exec?command=ls";
    const response = await client.upgrade({ method: "GET", path, headers: websocket() });
    assert.equal(response.status, 503);
    await eventually(async () => assert.equal(far.sessions.size, 0));
  });

  it("ends on one side when the other one ends", async () => {
    const client = await clientOf(alice);
    const first = await opened(client, execPath, { ...spdy });
    assert.equal(await readUntil(first.connection, /hello /), "hello ");
    first.connection.destroy();
    await eventually(async () => assert.equal(far.sessions.size, 0));
    const second = await opened(client, execPath, { ...spdy });
    await eventually(async () => assert.equal(far.sessions.size, 1));
    for (const session of far.sessions) session.destroy();
    second.connection.resume();
    if (!second.connection.closed) await once(second.connection, "close");
  });

  describe("by raw bytes", () => {
    async function raw(t: TestContext, lines: readonly string[], rest = ""): Promise<TLSSocket> {
      const { host, port, caPem } = await fixture.plane.listen();
      const socket = dial({ host, port, ca: caPem, ALPNProtocols: ["http/1.1"] });
      t.after(() => socket.destroy());
      await once(socket, "secureConnect");
      const kubeconfig = await fixture.plane.kubeconfig({ user: alice });
      const token = /token"?: ?"?([^"\s]+)/.exec(kubeconfig)?.[1];
      assert.ok(token);
      const head = [...lines, "host: x", `authorization: Bearer ${token}`, "", ""];
      socket.write(head.join("\r\n") + rest);
      return socket;
    }

    const upgrade = ["connection: Upgrade", "upgrade: websocket", "sec-websocket-version: 13"];

    for (const path of [
      "/../secret",
      "/api/../../secret",
      "/..\\..\\secret",
      "/api/v1/..%2f..%2fsecret",
      "/%2e%2e/secret",
      "/.%2E/secret",
      "/a#/secret",
    ]) {
      for (const [how, headers] of [
        ["session", upgrade],
        ["request", []],
      ] as const) {
        it(`a ${how} does not leave the mount by ${path}`, async (t) => {
          const before = far.received.length;
          const line = `GET /clusters/root:org:far${path} HTTP/1.1`;
          const socket = await raw(t, [line, ...headers, "connection: close"]);
          const answer = await readUntil(socket, /\r\n\r\n/);
          assert.match(answer, /^HTTP\/1\.1 (400|404) /);
          assert.equal(far.received.length, before);
        });
      }
    }

    it("what follows a session that was refused is no request, here or there", async (t) => {
      const before = far.received.length;
      const line = "GET /clusters/root:org:far/api/v1/namespaces/refused/pods/p/exec HTTP/1.1";
      const smuggled = "GET /clusters/root:org:far/smuggled HTTP/1.1\r\nhost: x\r\n\r\n";
      const socket = await raw(t, [line, ...upgrade], smuggled);
      const answer = await readUntil(socket, /never/);
      assert.match(answer, /^HTTP\/1\.1 403 /);
      assert.equal(answer.match(/HTTP\/1\.1/g)?.length, 1);
      assert.equal(far.received.length, before + 1);
    });

    it("a request for a protocol that is no session's is a request like any other", async (t) => {
      const line = "GET /clusters/root:org:far/api HTTP/1.1";
      const h2c = [
        "connection: Upgrade, HTTP2-Settings",
        "upgrade: h2c",
        "http2-settings: AAMAAABk",
      ];
      const socket = await raw(t, [line, ...h2c]);
      assert.match(await readUntil(socket, /\r\n\r\n/), /^HTTP\/1\.1 200 /);
      assert.equal(far.last.isUpgrade, false);
      assert.equal(far.last.headers["http2-settings"], undefined);
    });

    it("a session with a body is refused", async (t) => {
      const before = far.received.length;
      const line = `POST /clusters/root:org:far${execPath} HTTP/1.1`;
      const socket = await raw(t, [line, ...upgrade, "content-length: 5"], "hello");
      assert.match(await readUntil(socket, /\r\n\r\n/), /^HTTP\/1\.1 400 /);
      assert.equal(far.received.length, before);
    });
  });

  it("ends with this server", async (t) => {
    const started = await RemoteServer.start();
    t.after(() => started.far.close());
    const other = await WorkspaceFixture.start({
      mounts: { caPem: started.caPem, allowedHosts: [started.far.host] },
    });
    t.after(() => other.close());
    await mountWorkspace(other.at("root"), "far", started.far.url);
    const client = await clientOf(master, "root:far", other);
    const { connection } = await opened(client, execPath, { ...spdy });
    connection.on("error", () => {});
    await other.close();
    await eventually(async () => assert.equal(started.far.sessions.size, 0));
  });
});
