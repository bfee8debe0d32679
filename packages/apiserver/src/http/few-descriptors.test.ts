/**
 * A server with few file descriptors, and unauthenticated clients that try to use all of them: its
 * store opens its files, and other clients are served.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:https";
import { connect as connectTcp, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { connect as connectTls } from "node:tls";

/** Enough to load the program. */
const descriptors = 512;
/** The server, on a store of its own in a directory; it prints its port. */
const program = `
  const { ListeningServer } = await import(${JSON.stringify(new URL("../testing/index.js", import.meta.url).href)});
  const { EmbeddedStorage } = await import(${JSON.stringify(new URL("../storage/embedded/index.js", import.meta.url).href)});
  const { systemClock } = await import("@kcp-ts/machinery/base");
  const storage = await EmbeddedStorage.open({ directory: process.argv[1], clock: systemClock });
  const server = await ListeningServer.start({ storage });
  console.log(server.port);
`;
const configmaps = "/clusters/a/api/v1/namespaces/default/configmaps";

let directory: string;
let child: ChildProcess;
let port: number;
const sockets: Socket[] = [];

before(async () => {
  directory = mkdtempSync(join(tmpdir(), "few-descriptors-"));
  const limited = `ulimit -n ${descriptors}; exec "$0" --input-type=module -e "$1" "$2"`;
  child = spawn("sh", ["-c", limited, process.execPath, program, join(directory, "store")], {
    stdio: ["ignore", "pipe", "inherit"],
    cwd: new URL(".", import.meta.url).pathname,
  });
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  port = Number((await once(lines, "line"))[0]);
});
after(async () => {
  for (const socket of sockets) socket.destroy();
  child.kill();
  await once(child, "exit");
  rmSync(directory, { recursive: true });
});

async function ask(method: string, path: string, body?: object): Promise<number> {
  const headers = { authorization: "Bearer token-of-admin", "content-type": "application/json" };
  const asked = request({
    host: "127.0.0.1",
    port,
    method,
    path,
    headers,
    rejectUnauthorized: false,
    agent: false,
  });
  asked.end(body === undefined ? undefined : JSON.stringify(body));
  const [answer] = await once(asked, "response");
  answer.resume();
  await once(answer, "end");
  return answer.statusCode;
}

/** Unauthenticated clients that stay silent at each stage of a connection. */
const strangers: Readonly<Record<string, () => Socket>> = {
  "that never shake hands": () => connectTcp(port, "127.0.0.1"),
  "that shake hands and say nothing over HTTP/1.1": () =>
    connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] }),
  "that shake hands and say nothing over HTTP/2": () =>
    connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols: ["h2"] }),
};

describe("unauthenticated clients with more connections than there are file descriptors", () => {
  for (const [at, [who, open]] of Object.entries(strangers).entries())
    it(`other clients write beside connections ${who}`, async () => {
      for (let n = 0; n < 2 * descriptors; n++) {
        const socket = open();
        socket.on("error", () => {});
        sockets.push(socket);
        await Promise.race([once(socket, "connect"), once(socket, "close")]);
        if (n % 128 !== 0) continue;
        const name = `of-${at}-${n}`;
        const data = { large: "x".repeat(400_000) };
        assert.equal(await ask("POST", configmaps, { metadata: { name }, data }), 201);
        assert.equal(await ask("GET", `${configmaps}/${name}`), 200);
      }
      assert.equal(child.exitCode, null);
    });
});
