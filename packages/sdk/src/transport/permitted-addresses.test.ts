import assert from "node:assert/strict";
import { once } from "node:events";
import {
  type AddressInfo,
  createServer,
  type LookupFunction,
  connect as netConnect,
} from "node:net";
import { describe, it, type TestContext } from "node:test";
import { connect, KubeconfigError, parseKubeconfig } from "../kubeconfig/index.ts";
import { NodeTransport } from "./node-transport.ts";
import { type PermitsAddress, permittedOnly } from "./permitted-addresses.ts";

/** A port of this machine's that counts who connects. */
async function listening(t: TestContext) {
  const seen = { connections: 0 };
  const server = createServer((socket) => {
    seen.connections += 1;
    socket.destroy();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return { seen, port: (server.address() as AddressInfo).port };
}

const notLoopback: PermitsAddress = (address) => !address.startsWith("127.") && address !== "::1";
const get = { method: "GET", path: "/", headers: {} } as const;
const refusal = /leads to an address that is not allowed here/;

describe("a transport that permits some addresses only", () => {
  for (const host of ["localhost", "127.0.0.1", "[::1]", "2130706433", "0x7f.1"]) {
    for (const scheme of ["http", "https"]) {
      it(`does not connect to ${scheme}://${host}`, async (t) => {
        const { seen, port } = await listening(t);
        const url = new URL(`${scheme}://${host}:${port}`);
        const transport = new NodeTransport({ url, permits: notLoopback });
        t.after(() => transport.close());
        await assert.rejects(transport.send(get), refusal);
        assert.equal(seen.connections, 0);
      });
    }
  }

  it("connects to permitted addresses", async (t) => {
    const { seen, port } = await listening(t);
    const asked: string[] = [];
    const transport = new NodeTransport({
      url: new URL(`http://127.0.0.1:${port}`),
      permits: (address) => asked.push(address) > 0,
    });
    t.after(() => transport.close());
    await assert.rejects(transport.send(get));
    assert.equal(seen.connections, 1);
    assert.deepEqual(asked, ["127.0.0.1"]);
  });
});

describe("a name whose resolution changes", () => {
  const answering = (...answers: readonly string[][]): LookupFunction => {
    let asked = 0;
    return (_name, _options, callback) => {
      const addresses = answers[Math.min(asked++, answers.length - 1)] ?? [];
      callback(
        null,
        addresses.map((address) => ({ address, family: 4 })),
      );
    };
  };
  const dialled = async (t: TestContext, port: number, lookup: LookupFunction | undefined) => {
    const socket = netConnect({ host: "rebound.example", port, ...(lookup && { lookup }) });
    t.after(() => socket.destroy());
    await once(socket, "connect");
    return socket.remoteAddress;
  };

  it("is checked by each connection: the second resolution is rejected, too", async (t) => {
    const { seen, port } = await listening(t);
    const permits: PermitsAddress = (address) => address === "127.0.0.1";
    const resolve = answering(["127.0.0.1"], ["127.0.0.2"]);
    const { lookup } = permittedOnly("rebound.example", permits, resolve);
    assert.equal(await dialled(t, port, lookup), "127.0.0.1");
    await assert.rejects(dialled(t, port, lookup), refusal);
    assert.equal(seen.connections, 1);
  });

  it("is used with its permitted addresses, and with no others", async (t) => {
    const { port } = await listening(t);
    const permits: PermitsAddress = (address) => address === "127.0.0.1";
    const resolve = answering(["127.0.0.2", "127.0.0.1", "127.0.0.3"]);
    const { lookup } = permittedOnly("rebound.example", permits, resolve);
    assert.equal(await dialled(t, port, lookup), "127.0.0.1");
  });
});

describe("a kubeconfig from an untrusted source", () => {
  const kubeconfigTo = (server: string, proxy?: string) =>
    parseKubeconfig(
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        clusters: [{ name: "c", cluster: { server, ...(proxy && { "proxy-url": proxy }) } }],
        users: [],
        contexts: [{ name: "c", context: { cluster: "c" } }],
        "current-context": "c",
      }),
      { trust: "inline" },
    );

  it("is not connected to through a proxy that it names", async (t) => {
    const { seen, port } = await listening(t);
    for (const host of ["127.0.0.1", "localhost"]) {
      const kubeconfig = kubeconfigTo("https://cluster.example", `http://${host}:${port}`);
      const connection = connect(kubeconfig, { permits: notLoopback, env: {} });
      t.after(() => connection.close());
      await assert.rejects(connection.transport.send(get), refusal);
    }
    assert.equal(seen.connections, 0);
  });

  it("does not lead the proxy of the environment to a literal address", () => {
    const env = { HTTPS_PROXY: "http://127.0.0.1:3128" };
    const permits: PermitsAddress = (address) => address !== "169.254.169.254";
    assert.throws(
      () => connect(kubeconfigTo("https://169.254.169.254"), { permits, env }),
      (error) => error instanceof KubeconfigError && /is not allowed here/.test(error.message),
    );
  });

  it("does not follow redirects", async (t) => {
    const { seen, port } = await listening(t);
    const redirecting = createServer((socket) =>
      socket.end(
        `HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:${port}/\r\ncontent-length: 0\r\n\r\n`,
      ),
    ).listen(0, "127.0.0.1");
    await once(redirecting, "listening");
    t.after(() => redirecting.close());
    const { port: entry } = redirecting.address() as AddressInfo;
    const { transport, close } = connect(kubeconfigTo(`http://127.0.0.1:${entry}`), { env: {} });
    t.after(close);
    const answer = await transport.send(get);
    assert.equal(answer.status, 302);
    await answer.body.text();
    assert.equal(seen.connections, 0);
  });
});
