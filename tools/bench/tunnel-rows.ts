/**
 * What goes through an agent's tunnel: a log as fast as it comes, and what many open sessions hold
 * in memory.
 *
 * The control plane is `kcp start`, the cluster and its agent are another process, and the reader
 * is this one. Bytes are counted here.
 */
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { join } from "node:path";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { Child, programPath } from "./child.ts";
import type { Bench } from "./contest.ts";
import { cpuMicrosOf, residentMegabytesOf } from "./process-figures.ts";
import { benchToken, ServerProcess } from "./server-process.ts";

const megabyte = 1e6;
const retryMs = 200;

export async function tunnelRows(bench: Bench): Promise<void> {
  const { sizes, rounds } = bench.options;
  const plane = await ServerProcess.start(join(bench.directory, "tunnel"));
  const args = [programPath("tunnel-cluster"), plane.url, benchToken, String(sizes.tunnelLogBytes)];
  const cluster = new Child(process.execPath, args);
  try {
    const { pod } = JSON.parse(await cluster.line('{"pod"')) as { pod: string };
    const path = `/clusters/root/api/v1/namespaces/default/pods/${pod}`;
    // Sessions first: what a log leaves behind would hide what they cost.
    await sessionRow(bench, { plane, cluster, path });
    await logRow(bench, { plane, cluster, path }, rounds);
  } finally {
    await cluster.end();
    await plane.stop();
  }
}

/**
 * The best of the rounds: what else the machine does only takes away. Processor time is that of
 * control plane, agent and cluster for a megabyte.
 */
async function logRow(
  bench: Bench,
  { plane, cluster, path }: Scene,
  rounds: number,
): Promise<void> {
  const session = connectHttp2(plane.url, {
    rejectUnauthorized: false,
    settings: { initialWindowSize: 16 << 20 },
  });
  await new Promise((resolve, reject) => {
    session.once("connect", resolve);
    session.once("error", reject);
  });
  session.setLocalWindowSize(64 << 20);
  try {
    let best = 0;
    let cpuMicros = Number.POSITIVE_INFINITY;
    const cpu = () => cpuMicrosOf(plane.pid) + cpuMicrosOf(cluster.pid);
    for (let round = 0; round < rounds; round++) {
      const startedAt = systemClock.monotonic();
      const cpuBefore = cpu();
      const bytes = await readLog(session, `${path}/log`);
      cpuMicros = Math.min(cpuMicros, (cpu() - cpuBefore) / (bytes / megabyte));
      const seconds = (systemClock.monotonic() - startedAt) / 1000;
      best = Math.max(best, bytes / megabyte / seconds);
    }
    bench.report.add({
      work: `log of ${Math.round(bench.options.sizes.tunnelLogBytes / megabyte)} MB through a tunnel`,
      server: "kcp",
      figure: best,
      unit: "MB/s",
      cpuMicros,
      wanted: { what: "figure", atLeast: 50 },
    });
  } finally {
    session.close();
  }
}

function readLog(session: ClientHttp2Session, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":path": path, authorization: `Bearer ${benchToken}` });
    let bytes = 0;
    stream.on("response", ({ ":status": status }) => {
      if (status !== 200) reject(new Error(`a log is answered by ${status}`));
    });
    stream.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    stream.on("end", () => resolve(bytes));
    stream.on("error", reject);
  });
}

interface Scene {
  readonly plane: ServerProcess;
  readonly cluster: Child;
  readonly path: string;
}

/**
 * What both processes hold more than before, when all sessions are open and each has said
 * something.
 */
async function sessionRow(bench: Bench, { plane, cluster, path }: Scene): Promise<void> {
  const { tunnelSessions: count, settleMs } = bench.options.sizes;
  const held = () => residentMegabytesOf(plane.pid) + residentMegabytesOf(cluster.pid);
  const query = "command=cat&stdin=true&stdout=true";
  const first = await firstSession(plane.url, `${path}/exec?${query}`);
  await sleep(systemClock, settleMs);
  const before = held();
  const sockets: TLSSocket[] = [first];
  for (let session = 0; session < count; session++)
    sockets.push(await openSession(plane.url, `${path}/exec?${query}`));
  await sleep(systemClock, settleMs);
  const after = held();
  for (const socket of sockets) socket.destroy();
  bench.report.add({
    work: `memory of ${count} open sessions, control plane and agent`,
    server: "kcp",
    figure: Math.max(0, after - before),
    unit: "MB",
    wanted: { what: "figure", atMost: 100 },
  });
}

/** Again until the tunnel stands. */
async function firstSession(url: string, target: string): Promise<TLSSocket> {
  for (;;) {
    try {
      return await openSession(url, target);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith("HTTP/1.1 503"))) throw error;
      await sleep(systemClock, retryMs);
    }
  }
}

/** `cat`, which has repeated a word by the time this resolves. */
async function openSession(url: string, target: string): Promise<TLSSocket> {
  const { hostname, port } = new URL(url);
  const socket = connectTls({
    host: hostname,
    port: Number(port),
    rejectUnauthorized: false,
    ALPNProtocols: ["http/1.1"],
  });
  await new Promise((resolve, reject) => {
    socket.once("secureConnect", resolve);
    socket.once("error", reject);
  });
  const lines = [
    `GET ${target} HTTP/1.1`,
    "Host: kcp",
    `Authorization: Bearer ${benchToken}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Protocol: v5.channel.k8s.io",
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  // stdin is channel 0; with a key of zeros, what is masked is as it was.
  const word = Buffer.from("\0hello");
  socket.write(Buffer.concat([Buffer.from([0x82, 0x80 | word.length, 0, 0, 0, 0]), word]));
  await new Promise<void>((resolve, reject) => {
    let text = "";
    const onData = (bytes: Buffer) => {
      text += bytes.toString("latin1");
      if (!text.startsWith("HTTP/1.1 101")) reject(new Error(text.slice(0, 200)));
      if (!text.includes("hello")) return;
      socket.off("data", onData);
      resolve();
    };
    socket.on("data", onData);
    socket.once("close", () => reject(new Error("a session ended")));
  });
  return socket;
}
