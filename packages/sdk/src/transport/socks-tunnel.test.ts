import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { after, before, describe, it } from "node:test";
import { makeCertificates, startHttp2Server, type TestServer } from "../fake-server/index.ts";
import { NodeTransport } from "./node-transport.ts";
import { socksTunnel } from "./socks-tunnel.ts";

/** A proxy of few words: each of its answers, behind so many bytes from the client. */
interface Script {
  readonly expect: number;
  readonly answer: readonly number[];
}

const servers: Server[] = [];
let target: TestServer;
const certificates = makeCertificates();

before(async () => {
  target = await startHttp2Server(certificates, (_, response) => {
    response.writeHead(200);
    response.end('"hello"');
  });
});
after(async () => {
  for (const server of servers) server.close();
  await target.close();
});

async function startProxy(script: readonly Script[], heard: number[][] = []): Promise<number> {
  const server = createServer((socket) => {
    let received: number[] = [];
    const steps = [...script];
    const onData = (chunk: Buffer) => {
      received.push(...chunk);
      const step = steps[0];
      if (step === undefined || received.length < step.expect) return;
      steps.shift();
      heard.push(received);
      received = [];
      socket.write(Buffer.from(step.answer));
      if (steps.length > 0) return;
      socket.off("data", onData);
      const upstream = connect(target.port, "127.0.0.1");
      for (const one of [socket, upstream]) {
        one.on("error", () => socket.destroy());
        one.on("close", () => upstream.destroy());
      }
      socket.pipe(upstream).pipe(socket);
    };
    socket.on("data", onData);
    socket.on("error", () => socket.destroy());
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

async function ask(proxy: string): Promise<string> {
  const { ca } = certificates;
  const transport = new NodeTransport({
    url: new URL(`https://localhost:${target.port}`),
    proxy: new URL(proxy),
    tls: () => ({ ca }),
  });
  try {
    return await (await transport.send({ method: "GET", path: "/", headers: {} })).body.text();
  } finally {
    await transport.close();
  }
}

const name = [...Buffer.from("localhost")];
const granted = [5, 0, 0, 1, 127, 0, 0, 1, 0, 1];

describe("a SOCKS5 proxy", () => {
  const port = () => [target.port >> 8, target.port & 0xff];

  it("connects without authentication, and resolves names itself", async () => {
    const heard: number[][] = [];
    const proxy = await startProxy(
      [
        { expect: 3, answer: [5, 0] },
        { expect: 7 + name.length, answer: granted },
      ],
      heard,
    );
    assert.equal(await ask(`socks5://127.0.0.1:${proxy}`), '"hello"');
    assert.deepEqual(heard, [
      [5, 1, 0],
      [5, 1, 0, 3, name.length, ...name, ...port()],
    ]);
  });

  it("gets the user and password of its URL, and may respond with a name", async () => {
    const heard: number[][] = [];
    const proxy = await startProxy(
      [
        { expect: 4, answer: [5, 2] },
        { expect: 9, answer: [1, 0] },
        { expect: 7 + name.length, answer: [5, 0, 0, 3, 2, 97, 98, 0, 1] },
      ],
      heard,
    );
    assert.equal(await ask(`socks5h://me:s%20ct@127.0.0.1:${proxy}`), '"hello"');
    assert.deepEqual(heard.slice(0, 2), [
      [5, 2, 0, 2],
      [1, 2, 109, 101, 4, 115, 32, 99, 116],
    ]);
  });

  for (const [why, script, message] of [
    ["speaks something else", [{ expect: 3, answer: [72, 84] }], /does not speak SOCKS5/],
    ["wants another authentication", [{ expect: 3, answer: [5, 255] }], /another authentication/],
    [
      "refuses the target",
      [
        { expect: 3, answer: [5, 0] },
        { expect: 7 + name.length, answer: [5, 2, 0, 1, 0, 0, 0, 0, 0, 0] },
      ],
      /not allowed by its rules/,
    ],
  ] as const) {
    it(`that ${why} is reported`, async () => {
      const proxy = await startProxy(script);
      await assert.rejects(ask(`socks5://127.0.0.1:${proxy}`), message);
    });
  }

  it("gets no user and no password beyond their maximum length", async () => {
    const proxy = await startProxy([]);
    const long = `socks5://${"u".repeat(256)}:p@127.0.0.1:${proxy}`;
    await assert.rejects(ask(long), /at most 255 bytes/);
  });

  it("must have a permitted address", async () => {
    const proxy = new URL(`socks5://127.0.0.1:${await startProxy([])}`);
    const url = new URL("https://example.io");
    const transport = new NodeTransport({ url, proxy, permits: () => false });
    const asking = transport.send({ method: "GET", path: "/", headers: {} });
    await assert.rejects(asking, /not allowed here/);
    await transport.close();
  });

  it("gets literal addresses as addresses", async () => {
    const heard: number[][] = [];
    const addresses: readonly (readonly [string, readonly number[]])[] = [
      ["10.1.2.3", [1, 10, 1, 2, 3]],
      ["fd00::1:2", [4, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2]],
      ["::", [4, ...Array.from({ length: 16 }, () => 0)]],
    ];
    for (const [host, bytes] of addresses) {
      const script = [
        { expect: 3, answer: [5, 0] },
        { expect: 5 + bytes.length, answer: granted },
      ];
      const proxy = new URL(`socks5://127.0.0.1:${await startProxy(script, heard)}`);
      const socket = connect(Number(proxy.port), "127.0.0.1");
      await once(socket, "connect");
      await socksTunnel(socket, proxy, { host, port: 443 });
      socket.destroy();
      assert.deepEqual(heard.at(-1), [5, 1, 0, ...bytes, 1, 187]);
    }
  });
});
